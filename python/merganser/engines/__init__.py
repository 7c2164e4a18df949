"""Engines run the work: on the threads of this machine or on a Ray cluster. All give the same result."""
