"""Subwords: every occurrence is counted at its place, and equals what encoding the words yields."""

import merganser
from corpora import corpus_text
from merganser.analyse.subwords import FUNCTION_WORDS, subwords


def test_places_add_up_to_the_tokens_of_the_words() -> None:
    text = corpus_text("frankenstein.txt")[:60_000]
    tokenizer = merganser.train([text], 700)
    expected: dict[tuple[int, str], int] = {}
    for word in merganser.split(text, tokenizer.pattern):
        if not word.removeprefix(" ").isalpha():
            continue
        ids = tokenizer.encode(word)
        for nth, id in enumerate(ids):
            place = "word" if len(ids) == 1 else "prefix" if nth == 0 else "suffix"
            place = "inside" if 0 < nth < len(ids) - 1 else place
            if len(tokenizer.token_bytes(id).decode("utf-8", "replace").strip()) > 1:
                expected[id, place] = expected.get((id, place), 0) + 1
    found = subwords(tokenizer, merganser.count([text], pattern=tokenizer.pattern))
    assert {(part.id, part.place): part.occurrences for part in found} == expected
    counts = [part.occurrences for part in found]
    assert counts == sorted(counts, reverse=True)


def test_function_words_are_words() -> None:
    assert {"the", "and", "of", "which"} <= FUNCTION_WORDS
    assert all(word.isalpha() and word == word.lower() for word in FUNCTION_WORDS)


def test_a_text_without_words_has_no_subwords() -> None:
    tokenizer = merganser.train(["1 + 1 = 2"] * 9, 258)
    assert subwords(tokenizer, merganser.count(["1 + 1 = 2"])) == []
