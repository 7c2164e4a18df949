"""Benchmarks of merganser and its peers: equality first, then time and memory."""
