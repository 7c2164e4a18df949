"""Engines: where the work is done. Each can count a corpus; the result is the same with all of them."""
