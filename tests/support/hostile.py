"""Hostile texts, and tokenizers trained on them."""

from collections.abc import Mapping

import merganser

#: Text that could affect a page, a terminal or an editor. If it is executed, it sets `window.owned`.
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

#: Documents to train on, so that whole tokens are hostile.
CORPUS = [f"{text} {text} {text}. the cat sat on the mat {n}" for n in range(30) for text in HOSTILE]


def tokenizers() -> Mapping[str, merganser.Tokenizer]:
    """Return a tokenizer under a hostile name."""
    return {"</script><b id=owned>|\x1b\u202e": merganser.train(CORPUS, 300, pattern="gpt2")}
