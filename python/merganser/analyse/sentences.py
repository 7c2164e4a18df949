"""Sentences: those of a reader's own, from a file."""

from pathlib import Path
from typing import TypedDict

from merganser.errors import CorpusError, SettingsError


class Texts(TypedDict, total=False):
    """As arguments of `report`."""

    sentences: tuple[str, ...]
    parallel: dict[str, tuple[str, ...]]


def read(path: Path) -> Texts:
    """Lines of sentences to be shown; or of a language, a tab and a sentence, which are compared as well.

    The sentences of a language stand in the same order as those of every other. Empty lines are skipped.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 at byte {error.start}; convert it first") from None
    parallel: dict[str, list[str]] = {}
    sentences: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        language, tab, sentence = line.partition("\t")
        if bool(tab) != bool(parallel) and (sentences or parallel):
            raise SettingsError(f"{path}, line {number}: either all lines have a language and a tab, or none")
        if tab:
            parallel.setdefault(language, []).append(sentence)
        sentences.append(sentence if tab else line)
    if not sentences:
        raise SettingsError(f"{path} holds no sentence; write one a line")
    if not parallel:
        return {"sentences": tuple(sentences)}
    first = next(iter(parallel))
    for language, texts in parallel.items():
        if len(texts) != len(parallel[first]):
            raise SettingsError(
                f"{path} has {len(texts)} sentences in {language} and {len(parallel[first])} in {first}; "
                "write the same ones in every language"
            )
    return {
        "sentences": tuple(texts[0] for texts in parallel.values()),
        "parallel": {language: tuple(texts) for language, texts in parallel.items()},
    }
