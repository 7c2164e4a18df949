"""Measures merganser beside its peers: equality first, then time and memory."""
