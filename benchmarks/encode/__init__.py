"""Text to ids and back, with merganser and its peers: `python3 benchmarks/encode/run.py`."""
