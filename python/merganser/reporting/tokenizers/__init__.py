"""The report on tokenizers."""
