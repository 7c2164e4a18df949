"""Split patterns that the benchmarks use.

`gpt2`, `gpt4` and `o200k` are merganser's presets. This module has the pattern that Python's
`regex` module and the peers need as text, and patterns that are not presets.
"""

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Without the look-ahead alternative, a run of white space before a word is one pre-token that
# includes the space that belongs to the word, as a splitter without the fix-up would yield.
GPT2_WITHOUT_FIXUP = GPT2.replace(r"\s+(?!\S)|", "")

# The last alternative never matches (an earlier one matches every character). It only makes the
# pattern differ from the preset, whose scanner would otherwise split it: `\s` selects the DFA,
# which matches `\s+` and gives back the last character, and the look-behind the backtracking engine.
# The pre-tokens are those of the preset.
DFA = r"|\s"
BACKTRACKING = r"|(?<=\S)\S"
GPT2_DFA = GPT2 + DFA
GPT2_BACKTRACKING = GPT2 + BACKTRACKING
GPT2_DFA_WITHOUT_FIXUP = GPT2_WITHOUT_FIXUP + DFA
GPT2_BACKTRACKING_WITHOUT_FIXUP = GPT2_WITHOUT_FIXUP + BACKTRACKING

# A pattern without a preset: nanochat's, with numbers of up to four digits.
CUSTOM = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,4}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

SEPARATOR = "<|endoftext|>"
