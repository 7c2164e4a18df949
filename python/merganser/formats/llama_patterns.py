r"""llama.cpp's pre-tokenizers by their names in GGUF files: patterns that split text one after the other.

Each pattern splits every part of the text that the patterns before it left: matches become parts, and so does
the text between them. llama.cpp builds on engines with fewer features than those of the models, so its
patterns differ from the models' in rare cases. They differ from the patterns here in two: its character
classes predate Unicode 16, and with presets that ignore case it does not treat ſ as an s. Its classes of
upper and lower case only know A to Z (`_UPPER`, `_LOWER`).
"""

from dataclasses import dataclass

from merganser.formats.oniguruma import preset_patterns


@dataclass(frozen=True)
class PreTokenizer:
    """Patterns in order, and the settings that llama.cpp derives from the name."""

    patterns: tuple[str, ...]
    #: A part that is a token stays whole.
    ignore_merges: bool = False
    #: Whether bos is added by default.
    add_bos: bool = False
    #: Whether eos, as a separator, is added by default.
    add_sep: bool = False


_GPT2, _LLAMA3, _QWEN2 = (preset_patterns()[name] for name in ("gpt2", "llama3", "qwen2"))
_ENDING = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_UPPER, _LOWER = r"[\p{L}&&[^a-z]]", r"[\p{L}&&[^A-Z]]"


def _cased(
    upper: str, lower: str, ending: str, digits: str, signs: str = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
) -> str:
    """Return a pattern like GPT-4o's, which splits words where a capital follows a small letter."""
    start = r"[^\r\n\p{L}\p{N}]?"
    words = f"{start}{upper}*{lower}+{ending}|{start}{upper}+{lower}*{ending}"
    return f"{words}|{digits}|{signs}|{_SPACES}"


_GPT4O = _cased(_UPPER, _LOWER, f"{_ENDING}?", r"\p{N}{1,3}")
#: The names below do not distinguish upper and lower case in llama.cpp, although their models do.
_YOUTU_LETTER, _KIMI_LETTER = r"[\p{L}\p{M}]", r"[\p{L}&&[^\p{Han}]]"
_KIMI = _cased(_KIMI_LETTER, _KIMI_LETTER, f"{_ENDING}?", r"\p{N}{1,3}", _SIGNS)
_CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
_DEEPSEEK_SIGN = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
_DEEPSEEK_WORD = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_DEEPSEEK3 = rf"{_DEEPSEEK_SIGN}|{_DEEPSEEK_WORD}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}"
#: U+0800 to U+4E00 and Hangul without white space, which llama.cpp replaces before it matches.
_EAST = (
    "[一-龥\u0800-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-一가-\ud7ff]+"
)
#: Letters of scripts with upper and lower case.
_CASED_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbe"
    "ῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
    "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
_DIGITS_GPT2 = (r"\p{N}", _GPT2)


def _same(names: str, pre_tokenizer: PreTokenizer) -> dict[str, PreTokenizer]:
    return dict.fromkeys(names.split(), pre_tokenizer)


#: Every name that llama.cpp knows and that merganser reproduces.
PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    **_same("default", PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))),
    **_same(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True),
    ),
    **_same("dbrx smaug-bpe glm4 chatglm-bpe", PreTokenizer((_LLAMA3,))),
    **_same(
        "deepseek-llm",
        PreTokenizer(
            (
                r"[\r\n]",
                rf"\s?[{_CASED_LETTERS}]+",
                r"\s?[!-/:-~！-／：-～‘-‟、。]+",
                r"\s+$",
                _EAST,
                r"\p{N}+",
            )
        ),
    ),
    **_same("deepseek-coder", PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _EAST, r"\p{N}"))),
    **_same("deepseek-v3 hunyuan-dense joyai-llm", PreTokenizer((r"\p{N}{1,3}", _CJK, _DEEPSEEK3))),
    **_same("falcon", PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"))),
    **_same(
        "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", PreTokenizer(_DIGITS_GPT2)
    ),
    **_same(
        "gpt-2 phi-2 mpt olmo jais trillion granite-docling jina-es jina-de gigachat jina-v2-es jina-v2-de "
        "a.x-4.0 mellum modern-bert exaone4",
        PreTokenizer((_GPT2,)),
    ),
    **_same("jina-v1-en jina-v2-code roberta-bpe", PreTokenizer((_GPT2,), add_sep=True)),
    **_same(
        "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
        PreTokenizer((_QWEN2,)),
    ),
    **_same(
        "qwen35",
        PreTokenizer(
            (_ENDING + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + _SPACES,)
        ),
    ),
    **_same("poro-chat bloom gpt3-finnish", PreTokenizer((_BLOOM,))),
    **_same("viking", PreTokenizer((_BLOOM, r"\p{N}"))),
    **_same(
        "tekken", PreTokenizer((_cased(_UPPER, _LOWER, "", r"\p{N}"),), ignore_merges=True, add_bos=True)
    ),
    **_same("gpt-4o llama4 kanana2 talkie minimax-m2", PreTokenizer((_GPT4O,))),
    **_same(
        "granite-embed-multi-97m",
        PreTokenizer(
            (_cased(r"[\p{L}\p{M}&&[^a-z]]", r"[\p{L}\p{M}&&[^A-Z]]", f"{_ENDING}?", r"\p{N}{1,3}"),),
            ignore_merges=True,
        ),
    ),
    **_same(
        "youtu",
        PreTokenizer(
            (
                "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + _CJK,
                _cased(_YOUTU_LETTER, _YOUTU_LETTER, f"{_ENDING}?", r"\p{N}"),
            ),
            ignore_merges=True,
        ),
    ),
    **_same(
        "bailingmoe bailingmoe2 llada-moe",
        PreTokenizer(
            (
                r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
                + _SIGNS
                + r"|\s*[\r\n]|\s+(?!\S)|\s+",
            )
        ),
    ),
    **_same(
        "seed-coder",
        PreTokenizer((_ENDING + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|" + _SPACES,)),
    ),
    **_same("kimi-k2", PreTokenizer((rf"\p{{Han}}+|{_KIMI}",))),
    **_same(
        "exaone-moe",
        PreTokenizer(
            (
                _ENDING
                + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
                + r"\s*[\r\n]|\s+(?!\S)|\s+",
            )
        ),
    ),
    **_same(
        "jais-2",
        PreTokenizer(
            (
                _ENDING
                + rf"|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_SIGNS}|\s*[\r\n]+|"
                + "|".join(rf"\s{{{length}}}(?!\S)" for length in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
                + r"|\s",
            )
        ),
    ),
    **_same("laguna", PreTokenizer((r"[^\n]+|\n+", _QWEN2))),
    **_same(
        "minicpm5",
        PreTokenizer(
            (r"\p{N}{1,3}", _ENDING + rf"|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}+|{_SIGNS}|{_SPACES}"),
            ignore_merges=True,
        ),
    ),
    **_same(
        "chameleon",
        PreTokenizer(
            (
                "<sentinel:[0-9]+>",
                "IMGIMG[A-I]{1,4}Z",
                r"[\t\n]|    |  ",
                r"\p{N}",
                r"[\p{P}!-/:-@\[-`{-~]",
                _GPT2,
            ),
            add_bos=True,
        ),
    ),
    **_same("ufakzeka", PreTokenizer((rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_SIGNS}|{_SPACES}",))),
}
