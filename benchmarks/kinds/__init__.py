"""Benchmarks of every kind of BPE: tokenizers of other libraries, and training on characters."""
