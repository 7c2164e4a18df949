"""Settings that the caller omits; apart from `split_settings`, which takes longer to import."""

PATTERN = "gpt4"
SEPARATOR = "<|endoftext|>"
