"""For those who want to understand: trainers and tokenizers in plain Python. The core never
imports this."""
