"""Read sentences to show in a report from a file."""

from pathlib import Path
from typing import TypedDict

from merganser.errors import CorpusError, SettingsError


class SentenceArguments(TypedDict, total=False):
    """Arguments of `report`."""

    sentences: tuple[str, ...]
    parallel: dict[str, tuple[str, ...]]


def read_sentences(path: Path) -> SentenceArguments:
    """Read one sentence per line, or a language, a tab and a sentence per line.

    Sentences with a language are also compared between languages; every language must have the same sentences
    in the same order. Empty lines are skipped.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 at byte {error.start}; convert it to UTF-8") from None
    parallel: dict[str, list[str]] = {}
    sentences: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        language, tab, sentence = line.partition("\t")
        if bool(tab) != bool(parallel) and (sentences or parallel):
            raise SettingsError(
                f"{path}, line {number}: either every line must start with a language and a tab, or none"
            )
        if tab:
            parallel.setdefault(language, []).append(sentence)
        sentences.append(sentence if tab else line)
    if not sentences:
        raise SettingsError(f"{path} contains no sentences; write one per line")
    if not parallel:
        return {"sentences": tuple(sentences)}
    first = next(iter(parallel))
    for language, texts in parallel.items():
        if len(texts) != len(parallel[first]):
            raise SettingsError(
                f"{path} has {len(texts)} sentences in {language} but {len(parallel[first])} in {first}; "
                "write the same sentences in every language"
            )
    return {
        "sentences": tuple(texts[0] for texts in parallel.values()),
        "parallel": {language: tuple(texts) for language, texts in parallel.items()},
    }
