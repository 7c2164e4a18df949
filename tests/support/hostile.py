"""A report on hostile text, made once for all tests that look at it."""

from collections.abc import Mapping

import merganser

#: Everything that could act on a page, in a terminal or in an editor. It sets `window.owned` if it can.
HOSTILE = (
    "<script>window.owned=1</script>",
    "</script><script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "<svg/onload=window.owned=1>",
    "javascript:window.owned=1",
    '"><b id=owned>',
    "<!--",
    "]]>",
    "{{data}}",
    "${window.owned=1}",
    "\u202egnp.exe\u202c\u2066\u200b\ufeff",
    "\x1b[31m\x07\x00\x9b",
    "\u2028\u2029",
    "| a | b |",
    "datum.owned",
)

#: As documents to train on: whole tokens become hostile.
CORPUS = [f"{text} {text} {text}. the cat sat on the mat {n}" for n in range(30) for text in HOSTILE]


def tokenizers() -> Mapping[str, merganser.Tokenizer]:
    """Under hostile names."""
    return {"</script><b id=owned>|\x1b\u202e": merganser.train(CORPUS, 300, pattern="gpt2")}
