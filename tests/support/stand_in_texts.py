"""Stand-ins for the shared corpora: generated texts of the same kinds, for a clone without `../shared`.

Each text depends only on its name: words are drawn with a seed from lists written here and in the package.
`code.txt` alone also depends on the Python version, because it consists of sources of the standard library
and of this repository. A text takes a tenth of a second or two to generate.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from merganser.analyse.examples import DOMAINS, HARD, PARALLEL
from merganser.corpus.named_datasets import python_stdlib
from merganser.embed import groups

ROOT = Path(__file__).parents[2]
END = "\n<|endoftext|>\n"
#: The longest prefix that a test reads is a million characters.
_SIZE = 1_050_000

# ── words ─────────────────────────────────────────────────────────────────────

#: In order of decreasing frequency.
_COMMON = (
    "the of and to a in that it was I he his with my for as on had but you not at be by which me from this "
    "her she they were all have is one so an their when who or him we if there been are would no what could "
    "them more some now into your than then its only our upon these any will did how very should might such "
    "before after over first where again most own old long little great every must other about out up down "
    "through never while under also new two three many same still another much yet between once both too "
    "because without against until though here himself myself nothing something always often perhaps "
    "light nature left"
)
_STEMS = (
    "walk talk turn open close learn teach count measure carry follow answer wonder listen gather wander "
    "travel return promise discover remember consider imagine describe explain arrive depart observe pass "
    "reach mark paint build cover collect connect direct act protect react select construct instruct invent "
    "prevent relate create translate educate situate hesitate indicate separate decorate move use change "
    "kind dark bright soft cold warm quick slow deep high wide strong weak calm quiet proud gentle simple "
    "bridge river garden window table letter door street village harbor market island winter summer autumn "
    "spring evening station train ship boat sail stone wood paper ink pen book page line word number clock "
    "lamp bread salt apple tree leaf bird fish horse dog cat duck teacher doctor sailor baker farmer child"
)
_ENDINGS = (*("", "s", "ed", "ing", "er", "ers", "tion", "ly", "ness", "ment"), "ful", "less", "able", "ist")
_PREFIXES = ("", "re", "un", "out", "over", "under", "mis", "inter")
_ONSETS = "b br c ch cl d dr f fl g gr h j k l m n p pl qu r s sh sl st t th tr v w"
_VOWELS = "a e i o u ai ea oo ou"
_CODAS = "b ck d l ll m n nd ng r rd rn s st t th"


def _lexicon() -> tuple[list[str], list[float]]:
    """Return words in order of decreasing frequency, with Zipf weights: common, derived and invented ones."""
    chance = random.Random("lexicon")
    # Many derived words are in no dictionary, but the simpler ones come first.
    derived = sorted(
        (chance.random() * (1 + 5 * bool(prefix) + bool(ending)), prefix + stem + ending)
        for ending in _ENDINGS
        for prefix in _PREFIXES
        for stem in _STEMS.split()
    )
    syllable = (_ONSETS.split(), _VOWELS.split(), ["", *_CODAS.split()])
    names = []
    for _ in range(20_000):
        syllables = 2 + (chance.random() < 0.4)
        name = "".join(part[int(chance.random() * len(part))] for part in syllable * syllables)
        names.append(name.capitalize() if chance.random() < 0.2 else name)
    words = list(dict.fromkeys([*_COMMON.split(), *(word for _, word in derived), *names]))
    return words, list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))


_WORDS, _WEIGHTS = _lexicon()


class _Writer:
    """Draws everything else at random from a seed."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def one(self, choices: Sequence[str]) -> str:
        return choices[int(self._chance.random() * len(choices))]

    def maybe(self, probability: float) -> bool:
        return self._chance.random() < probability

    def number(self, low: int, high: int) -> int:
        return low + int(self._chance.random() * (high - low))

    def words(self, number: int) -> list[str]:
        return self._chance.choices(_WORDS, cum_weights=_WEIGHTS, k=number)

    def sentence(self, words: list[str] | None = None) -> str:
        words = words or self.words(self.number(4, 22))
        if len(words) > 8:
            words[len(words) // 2] += self.one((",", ",", ",", ";", " —", ":"))
        if self.maybe(0.15):
            words.insert(self.number(1, len(words)), self.one(_SHORTENED))
        text = " ".join(words)
        text = text[:1].upper() + text[1:] + self.one((".", ".", ".", ".", "!", "?", "…"))
        return f"“{text}”" if self.maybe(0.06) else text

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self.number(2, 7)))

    def figure(self) -> str:
        return self.one(
            (
                str(self.number(0, 10)),
                str(self.number(10, 100_000)),
                f"{self.number(1000, 10**7):,}",
                f"{self._chance.random() * 1000:.2f}",
                f"{self.number(1800, 2030)}-{self.number(1, 13):02}-{self.number(1, 29):02}",
                f"{self.number(1, 100)}%",
                hex(self.number(0, 1 << 32)),
            )
        )


_SHORTENED = (
    "I'll",
    "don't",
    "it's",
    "they've",
    "we're",
    "I'd",
    "he's",
    "I'm",
    "WE'LL",
    "the sailor's",
    "can’t",
)


def _wrapped(text: str, width: int = 72) -> str:
    lines, length = [""], 0
    for word in text.split(" "):
        if length + len(word) > width:
            lines.append("")
            length = 0
        lines[-1] += f" {word}" if lines[-1] else word
        length += len(word) + 1
    return "\n".join(lines)


def _until(size: int, documents: Iterator[str]) -> str:
    """Join documents with separators until the text has a size in characters."""
    made: list[str] = []
    while size > 0:
        made.append(next(documents))
        size -= len(made[-1]) + len(END)
    return END.join(made)


# ── the texts ─────────────────────────────────────────────────────────────────


def _english() -> str:
    write = _Writer("english")

    def documents() -> Iterator[str]:
        yield DOMAINS["English prose"]
        yield "\n".join(PARALLEL["English"])
        yield DOMAINS["numbers"] + "\n" + DOMAINS["URLs"]
        while True:
            parts = [f"# {' '.join(write.words(3)).title()}"]
            for _ in range(write.number(3, 12)):
                parts.append(_wrapped(write.paragraph()) if write.maybe(0.5) else write.paragraph())
                if write.maybe(0.15):
                    parts.append(
                        "\n".join(f"  * {' '.join(write.words(4))}: {write.figure()}" for _ in "abc")
                    )
            text = "\n\n".join(parts)
            yield text.replace("\n", "\r\n") if write.maybe(0.1) else text

    return _until(_SIZE, documents())


#: Alphabets of languages for which the package has no sentences.
_ALPHABETS = {
    "Greek": "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώς",
    "Hebrew": "אבגדהוזחטיכלמנסעפצקרשתםןךף",
    "Korean": "".join(map(chr, range(0xAC00, 0xD7A4, 61))),
    "Thai": "กขคงจชซญดตถทนบปผพฟมยรลวสหอะาิีึืุูเแโไ่้",
    "Vietnamese": "aăâbcdđeêghiklmnoôơpqrstuưvxyàáảãạằắặầấậèéẹềếệìíịòóọồốộờớợùúụừứựỳý",
    "Czech": "aábcčdďeéěfghiíjklmnňoópqrřsštťuúůvwxyýzž",
}
_EMOJI = (
    *(
        "👍",
        "👍🏽",
        "👋🏿",
        "🎉",
        "😀😀😀",
        "❤️",
        "👩\u200d💻",
        "👨\u200d👩\u200d👧",
        "🇩🇪🇯🇵",
        "🏴\u200d☠️",
        "1️⃣",
        "☕",
        "🚀",
    ),
)


def _pseudo_words(write: _Writer, language: str, number: int) -> list[str]:
    """Return random words in the letters of a language, each letter drawn by its predecessor."""
    if language in _ALPHABETS:
        letters = _ALPHABETS[language]
        return ["".join(write.one(letters) for _ in range(write.number(1, 8))) for _ in range(number)]
    text = " ".join(PARALLEL[language]) + " "
    next_of: dict[str, list[str]] = {}
    for here, following in itertools.pairwise(text):
        next_of.setdefault(here, []).append(following)
    words, word = [], ""
    here = " "
    while len(words) < number:
        here = write.one(next_of[here])
        if here == " " or len(word) > 14:
            words.append(word)
            word = ""
        else:
            word += here
    return words


def _multilingual() -> str:
    write = _Writer("multilingual")
    languages = [language for language in PARALLEL if language != "English"] + list(_ALPHABETS)
    spaced = dict.fromkeys(languages, " ") | {"Chinese": "", "Japanese": "", "Thai": ""}
    known = {
        language: [word for word in _pseudo_words(write, language, 1500) if word] for language in languages
    }

    def documents() -> Iterator[str]:
        for language in PARALLEL:
            yield "\n".join(PARALLEL[language])
        yield "\n\n".join(HARD.values()).replace("\0", "")  # NUL would make the file binary
        while True:
            language = write.one(languages)
            lines = []
            for _ in range(write.number(3, 20)):
                words = [write.one(known[language]) for _ in range(write.number(3, 18))]
                if write.maybe(0.2):
                    words.append(write.one(_EMOJI))
                if write.maybe(0.2):
                    words.append(write.figure())
                if write.maybe(0.1):
                    words += write.words(3)
                if write.maybe(0.05):
                    words.append("e\u0301a\u0300 \u00a0\u3000")
                lines.append(spaced[language].join(words) + write.one((".", "。", "！", "؟", "?")))
            yield write.one(("\n", "\n", "\r\n", "\n\n")).join(lines)

    return _until(_SIZE, documents())


def _json(write: _Writer, depth: int = 3) -> object:
    if depth == 0 or write.maybe(0.2):
        return write.one(("null", "true", write.figure(), write.sentence(), write.one(_EMOJI)))
    if write.maybe(0.3):
        return [_json(write, depth - 1) for _ in range(write.number(0, 5))]
    return {"_".join(write.words(2)): _json(write, depth - 1) for _ in range(write.number(1, 6))}


def _code() -> str:
    write = _Writer("code")
    files = [*python_stdlib(), *sorted(ROOT.glob("crates/*/src/**/*.rs"))]
    files += sorted(file for kind in ("js", "css", "html") for file in ROOT.glob(f"python/**/*.{kind}"))
    names = [str(file) for file in files]

    def documents() -> Iterator[str]:
        yield DOMAINS["Python code"]
        yield "\n".join(character * 64 for character in "=-#*" for _ in range(30))
        while True:
            text = Path(write.one(names)).read_bytes().decode("utf-8", "replace")
            # Skip sources that contain special tokens, and minified files.
            if text and "<|" not in text and "|end|" not in text and len(text) < 100_000:
                yield text.replace("\n", "\r\n") if write.maybe(0.1) else text
            if write.maybe(0.3):
                yield json.dumps(_json(write), indent=2 if write.maybe(0.5) else None, ensure_ascii=False)
            if write.maybe(0.1):
                yield "\n".join(write.one("=-#* ") * write.number(1, 130) for _ in range(20))

    return _until(_SIZE, documents())


def _verse() -> str:
    """Generate a play: speakers, and lines that start with a capital letter."""
    write = _Writer("verse")
    speakers = [name.upper() for name in _WORDS if name.istitle() and len(name) > 3][:30]

    def speech() -> str:
        lines = [" ".join(write.words(write.number(5, 10))) for _ in range(write.number(1, 9))]
        lines = [line[:1].upper() + line[1:] + write.one((",", ",", ".", ":", ";", "!")) for line in lines]
        return f"{write.one(speakers)}:\n" + "\n".join(lines)

    return "\n\n".join(speech() for _ in range(3_000)) + "\n"


def _wiki(name: str) -> str:
    """Generate text like WikiText-2: punctuation is separated from words, and rare words are replaced."""
    write = _Writer(name)
    common = set(_WORDS[:4000])

    def line() -> str:
        if write.maybe(0.3):
            level = "= " * write.number(1, 4)
            return f" {level}{' '.join(write.words(3)).title()} {level}"
        words = [word if word in common else "<unk>" for word in write.words(write.number(20, 150))]
        words.insert(len(words) // 2, write.one((",", '"', "@-@", "@,@", "( 24 in )", ";")))
        return f" {' '.join(words)} . "

    return "".join(f" \n{line()}\n" for _ in range(700))


# ── the novel ─────────────────────────────────────────────────────────────────

#: The context words of each group, so that embeddings of a group become similar.
_AROUND = {
    "emotion": "heart soul bosom tears agony remorse sorrow wept trembled anguish bitter pity misery grief",
    "characters": "family cousin home companion voice kindness beloved father mother brother friend monster",
    "nature": "cold summit shore waves rocks storm clouds forest glacier snow sea wind valley moon",
    "actions": "suddenly eyes silence moment speech answered gazed attention then saw heard listened",
}
_GLUE = "the the the of of and and to a in with my that I was his"
_LAST = "He was soon carried away by the waves, and lost in darkness and distance."


def _scene(write: _Writer) -> str:
    """Generate a sentence about one of the package's word groups for the novel."""
    lists = groups.lists("frankenstein")
    assert lists
    group = write.one(list(lists.groups))
    glue = _GLUE.split()
    words: list[str] = []
    for _ in range(write.number(3, 7)):
        # Words of other groups occur too, as in real text.
        about = group if write.maybe(0.75) else write.one(list(lists.groups))
        words += [write.one(glue), write.one(lists.groups[about])]
        words += [write.one(glue), write.one(_AROUND[group].split())]
    named = lists.groups["characters"]
    return write.sentence([word.title() if word in named and word != "creature" else word for word in words])


@cache
def _novel() -> str:
    """Generate four letters and twenty-four chapters, from the first heading to the last word."""
    write = _Writer("novel")
    lists = groups.lists("frankenstein")
    assert lists
    others = [*lists.more, *lists.shown, *lists.ambiguous, *itertools.chain(*lists.synonyms)]

    def paragraph() -> str:
        sentences = []
        for _ in range(write.number(3, 9)):
            if write.maybe(0.3):
                sentences.append(_scene(write))
            else:
                words = write.words(write.number(5, 20))
                words[write.number(0, len(words))] = write.one(others)
                sentences.append(write.sentence(words))
        return _wrapped("  ".join(sentences))

    def chapter(heading: str, size: int) -> str:
        text = heading
        while len(text) < size:
            text += "\n\n" + paragraph()
        return text

    parts = [chapter("Letter 1\n\n_To Mrs. Saville, England._", 6_000)]
    parts += [chapter(f"Letter {number}", 6_000) for number in range(2, 5)]
    parts += [chapter(f"Chapter {number}", 14_500) for number in range(1, 24)]
    parts.append(chapter("Chapter 24", 38_000))
    return "\n\n\n\n".join(parts) + f"\n\n{_LAST}\n\n\n\n\n"


def _cut_novel() -> str:
    """Return the text between the publisher's markers."""
    contents = [f"Letter {number}" for number in range(1, 5)]
    contents += [f"Chapter {number}" for number in range(1, 25)]
    front = "Frankenstein\n\n\n(a text drawn by chance)\n\n\nCONTENTS\n\n\n\n" + "\n\n".join(contents)
    return f"{front}\n\n\n\n\n{_novel()}End of the Project Gutenberg EBook of Frankenstein, by\nnobody\n"


def _raw_novel() -> str:
    """Return the file as published: a byte order mark, `\\r\\n`, and text before and after the novel."""
    text = "\ufeffThis is not Project Gutenberg's Frankenstein, but has its form.\n\n"
    text += f"*** START OF THIS PROJECT GUTENBERG EBOOK FRANKENSTEIN ***\n\n\n{_cut_novel()}\n"
    text += "*** END OF THIS PROJECT GUTENBERG EBOOK FRANKENSTEIN ***\n\nNo license: it is a test.\n"
    return text.replace("\n", "\r\n")


_GENERATORS: dict[str, Callable[[], str]] = {
    "code.txt": _code,
    "english.txt": _english,
    "frankenstein.txt": _cut_novel,
    "frankenstein_raw.txt": _raw_novel,
    "multilingual.txt": _multilingual,
    "tinyshakespeare.txt": _verse,
    "wikitext-2/test.txt": lambda: _wiki("test"),
    "wikitext-2/valid.txt": lambda: _wiki("valid"),
}
#: The names of the shared corpora.
NAMES = tuple(_GENERATORS)


@cache
def text(name: str) -> str:
    return _GENERATORS[name]()
