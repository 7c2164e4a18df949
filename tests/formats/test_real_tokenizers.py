"""Every tokenizer in `../shared/tokenizers` has its owner's ids and text; tests/long compares more."""

from pathlib import Path

import merganser
import owners
import pytest

pytestmark = pytest.mark.skipif(not owners.TOKENIZERS.exists(), reason="../shared/tokenizers is missing")

_FILES = {f"{file.parent.name}/{file.name}": file for file in owners.files()}


@pytest.mark.parametrize("name", [name for name in _FILES if name not in owners.OTHER] or ["none"])
def test_ids_and_text_equal_the_owners(name: str) -> None:
    file = _FILES[name]
    theirs = owners.owner(file)
    if theirs is None:
        pytest.skip("llama.cpp's ids are compared below")
    loaded = merganser.load(file, **theirs.settings)
    texts = [*owners.AWKWARD, *owners.samples(5), *owners.code_points(40)]
    if theirs.finds_special:
        texts += owners.with_added(owners.samples(2, 200), list(loaded.special_tokens)[:50])
    for text in texts:
        expected = theirs.encode(text)
        ours = theirs.ours(loaded, text)
        assert ours == expected, f"{text[:80]!r}: {owners.first_difference(ours, expected)}"
    for text in [*owners.AWKWARD, *owners.samples(1)]:
        ids = theirs.encode(text)
        assert loaded.decode(ids, errors="replace") == theirs.decode(ids), text[:80]


@pytest.mark.parametrize("name", [name for name in _FILES if name in owners.OTHER] or ["none"])
def test_other_models_are_refused_with_the_library_to_use(name: str) -> None:
    with pytest.raises(merganser.FormatError, match=owners.OTHER[name]):
        merganser.load(_FILES[name])


@pytest.mark.parametrize(
    "file", sorted(owners.TOKENIZERS.glob("gguf-*/*.inp")) or [Path("none")], ids=lambda f: f.name
)
def test_gguf_gives_the_ids_that_llama_cpp_published(file: Path) -> None:
    gguf = file.with_suffix("")
    if f"{gguf.parent.name}/{gguf.name}" in owners.OTHER:
        pytest.skip("not BPE")
    texts = file.read_text("utf-8").split("\n__ggml_vocab_test__\n")
    lines = gguf.with_name(f"{gguf.name}.out").read_text("utf-8").split("\n")
    loaded = merganser.load(gguf)
    for text, line in zip(texts, lines, strict=True):
        assert loaded.encode_ordinary(text) == [int(id) for id in line.split()], text
