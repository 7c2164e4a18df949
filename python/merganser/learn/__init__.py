"""For those who want to understand: trainers and tokenizers in plain Python. The package never imports this."""
