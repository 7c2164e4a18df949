"""Reports: pages with figures and charts about tokenizers or embeddings."""

from merganser.reporting.tokenizers.report import report

__all__ = ["report"]
