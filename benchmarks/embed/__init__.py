"""Embeddings: speed and quality against gensim and a NumPy loop."""
