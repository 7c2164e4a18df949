"""The report on embeddings."""
