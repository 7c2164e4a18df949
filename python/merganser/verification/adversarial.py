"""Short texts on which tokenizers are known to differ.

Patterns differ on whitespace, digits, contractions, case, marks and scripts, and on characters that Unicode
versions classify differently; merges differ on repeated text; engines differ on long text. Every export is
verified on these texts (`merganser.verification.exports`). They are small: encoding all of them takes a few
milliseconds.
"""

from collections.abc import Iterator
from itertools import product

from merganser.tokenizer import Tokenizer


def _listed(texts: str) -> list[str]:
    return texts.split("¦")


_RUNS = [run * n for run in _listed("a¦ ¦\n¦\t¦0¦!¦é¦中¦👍¦\u0301¦aA¦ab ") for n in (2, 3, 4, 7, 8, 17, 1000)]
_SPACES = _listed(
    " ¦  ¦\t¦\n¦\r¦\r\n¦\n\n¦\x0b¦\x0c¦\x1c¦\x85¦\xa0¦\u2003¦\u2028¦\u200b¦\u3000¦\ufeff¦\u180e¦\u2060"
)
#: Whitespace of every kind before, after and between letters, digits and punctuation.
_WHITESPACE = map("".join, product(("", "a", "1", "!"), _SPACES, ("", "b", " b", "2", "?")))
_ENDINGS = _listed("s¦t¦re¦ve¦m¦ll¦d¦S¦T¦RE¦Re¦rE¦VE¦M¦LL¦lL¦D¦ſ¦st¦")
_CONTRACTIONS = map("".join, product(("I", "don", "", "É", " x", "1"), ("'", "’", "''"), _ENDINGS))
_DIGITS = _listed(
    "1¦12¦123¦1234¦12345¦123456¦1234567¦12345678901¦3.14¦1,000,000¦0x1F¦1e-9¦²³½¦٣٤٥٦¦०१२३¦Ⅷ①㊿¦x1y22z333¦"
    "12:34:56¦007 0 00¦1 2  3   4¦𝟘𝟙𝟚𝟛"
)
_CASES = _listed(
    "camelCaseWord¦HTTPServer¦XMLHttpRequest¦snake_case_word¦SCREAMING¦McDonald¦ǅungla¦ßẞſK¦ŒUVRE¦"
    "İstanbul ıssız¦ʰªº¦ΑΒΓ αβγ ς¦ΌΣΟΣ¦Ⓐⓐ¦ᏣᎳᎩ ꮳꮃꭹ¦Ა ა"
)
_SCRIPTS = _listed(
    "中文字日本語ひらがなカタカナ한국어¦mixed中文and日本語text한국¦العربية والأردية¦עברית ויידיש¦"
    "हिन्दी में लिखा¦ภาษาไทยไม่มีช่องว่าง¦தமிழ்¦ქართული¦አማርኛ¦ខ្មែរ¦မြန်မာ¦Tiếng Việt¦e\u0301e\u0300 é è¦"
    "a\u0301\u0302\u0303b¦\u0301leading mark¦ﬁ ﬂ ﬃ¦Ａｂｃ１２３¦한\u1112\u1161\u11ab¦"
    "𐍈𐌰 𒀀𒀁 𓀀¦\U000e0001\U000e0041"
)
_EMOJI = _listed("👍🏽¦👩‍💻👨‍👩‍👧‍👦¦🇩🇪🇫🇷🇯¦🏳️‍🌈¦1️⃣#️⃣¦☎️☎︎¦😀😀😀¦a👍b 👍 c¦🫠🪿¦\u200d\u200d¦❤\ufe0f")
_CODE = _listed(
    "if (x == y) {\n    return z[0];\n}\n¦def f(self):\n\treturn {'a': 1}\n\n\n¦a->b::c<d>&&!e||f??g¦"
    "<!-- -->¦http://example.com/a?b=c&d=%20#e¦C:\\dir\\new¦/*\n * x\n */¦x=1;;y  =  2 ;¦$\\frac{a}{b}$¦"
    "a\r\nb\r\n\r\nc¦  \r\n  \r\n¦\n \n  \n   x¦x \n¦\t\t\tx\t¦...---...¦!?!?\n¦\"'`\"'`¦_a_ __b__¦@me #tag"
)
_ODD = _listed(
    "\x00¦a\x00b¦\x01\x02\x7f¦\x80\x9f¦\ufffd¦\ufffe\uffff¦\ue000¦\U0010ffff¦\u202eabc\u202c¦\\ud83d¦\\xff¦"
    "Ã©¦â€™¦ï»¿¦\u2019\u2018\u201c\u201d¦\u00ad¦\u034f¦Z\u0361\u0334\u0317a"
)

TEXTS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (*_RUNS, *_WHITESPACE, *_CONTRACTIONS, *_DIGITS, *_CASES, *_SCRIPTS, *_EMOJI, *_CODE, *_ODD)
    )
)


def texts_for(tokenizer: Tokenizer, tokens: int) -> Iterator[str]:
    """Yield the texts, the special tokens in many positions, and at most `tokens` tokens that are text.

    >>> import merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 261, special_tokens=["<|end|>"])
    >>> {"a<|end|>b", "<|end|", " low"} <= set(texts_for(tokenizer, 1000))
    True
    """
    yield from TEXTS
    for name in tokenizer.special_tokens:
        yield from (
            name,
            f"a{name}b",
            f" {name} ",
            f"{name}{name}",
            f"\n{name}\n",
            name[:-1],
            name[1:],
            name.upper(),
        )
    every = max(1, -(-len(tokenizer.mergeable_ranks) // max(tokens, 1)))
    for token in list(tokenizer.mergeable_ranks)[::every]:
        try:
            yield token.decode()
        except UnicodeDecodeError:  # part of a character
            continue
