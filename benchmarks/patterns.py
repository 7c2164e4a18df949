"""The split patterns that the benchmarks name, written out where a peer or a trial needs it.

`gpt2`, `gpt4` and `o200k` are merganser's own presets; what stands here is the text that the
Python `regex` module and the peers are given, and the patterns that merganser has no name for.
"""

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Without the look-ahead alternative, a run of white space before a word is one pre-token and takes
# the space that belongs to the word: what a splitter without the fix-up would yield.
GPT2_WITHOUT_FIXUP = GPT2.replace(r"\s+(?!\S)|", "")

# The last alternative is never reached (every character is matched by an earlier one), but its
# look-behind sends the whole pattern to the engine that handles true look-around: the same
# pre-tokens by backtracking.
GPT2_BACKTRACKING = GPT2 + r"|(?<=\S)\S"

# A pattern nobody knows by heart: nanochat's, with numbers of up to four digits.
CUSTOM = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,4}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

SEPARATOR = "<|endoftext|>"
