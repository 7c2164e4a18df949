"""Texts that break tokenizers, and patterns to split them with."""

from hypothesis import strategies as st

PRESETS = ("gpt2", "gpt4", "o200k", "nanochat", "qwen2", "llama3", "whitespace")

#: Patterns that are not presets: some have the white-space look-ahead, some leave text unmatched, some use
#: other look-around.
CUSTOM_PATTERNS = (
    r"\p{L}+|\p{N}{1,4}|[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,4}| ?[^\s\p{L}\p{N}]++[\r\n]*|"
    r"\s*[\r\n]|\s+(?!\S)|\s+",
    r"\w+|\W",
    r"\w+",
    r"[a-z]+",
    r"[A-Z]?[a-z]+|[A-Z]+|\d+|\s+|[^\w\s]+|_+",
    r"\S+|\s+",
    r" ?\S+|\s+",
    r".",
    r"(?s:.)",
    r"(?s).{1,7}",
    r"[^\n]*\n|[^\n]+",
    r"\n+|[^\n]+",
    r"(?i)the|\w+|\s|.",
    r"\p{Lu}\p{Ll}*|\p{Ll}+|\p{M}+|\s+(?!\S)|\s",
    r"(?:ab|a|b)+|[^ab]",
    r"a|ab|abc|[^a]",
    r"\p{Han}|\p{Hiragana}+|\p{Katakana}+|\p{Latin}+|\s+|.",
    r"(?<=\s)\w+|\w+|\s+|\S",
    r"\w+(?=\s)|\w|\W+",
    r"\b\w+\b|\W",
)

#: Characters that the patterns treat differently, of every length in UTF-8.
_SHARP = "'sStTrREeVvlLdDmM ſK  \t\n\r\f\v\x1c\x85\xa0\u2003\u2028\u3000aAbBzZéÉßñ019²½٣०_-—/.,!?()" + (
    "中文字日本語ひらカナ한국ابجעבरदुाé\u0301\u0300\u200d\u200b👍🏽👩‍💻🇩🇪ǅʰªº\ufeff\x00"
)
sharp_text = st.text(st.sampled_from(_SHARP), max_size=40)
white_space = st.lists(
    st.sampled_from([" ", "  ", "\n", "\n\n", "\r\n", "\t", "a", "1", "!", "'s", "\u3000", "é"]), max_size=30
).map("".join)
any_text = st.text(max_size=40)
#: Special tokens and parts of them. Hypothesis also draws strings from our sources, but so rarely that a test
#: that cannot deal with them would fail at random.
special_names = st.lists(
    st.sampled_from(["<s>", "</s>", "<|bos|>", "<|endoftext|>", "<|endoftext", "<", "|>", "a", " ", "\n"]),
    max_size=6,
).map("".join)
texts = sharp_text | white_space | special_names | any_text

#: The tie rules that need no more than counts.
ties = st.sampled_from(["ids", "huggingface", "bytes", "sentencepiece"])

#: Few letters, so that pairs repeat and counts tie.
tight_text = st.text(st.sampled_from("aab c\n1é"), max_size=30)
documents = st.lists(tight_text, min_size=1, max_size=6)

#: Strings with a meaning where a path is expected: standard input, datasets, URLs, folders and globs.
SPECIAL_NAMES = (
    "-",
    "frankenstein",
    "python-stdlib",
    "frankenstein=pg84.txt",
    "mine=-",
    "s3://bucket/a.txt",
    "file:///etc/hostname",
    "*",
    ".",
    "all.counts",
)
