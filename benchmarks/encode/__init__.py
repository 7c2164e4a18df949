"""Text to ids and back, by merganser and its peers: `python3 benchmarks/encode/run.py`."""
