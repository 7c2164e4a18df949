"""The encoding speed of a tokenizer on this machine, beside other libraries that hold the same tokenizer.

Equality comes first: every library encodes all texts, and only one that returns merganser's ids is timed.
Each measurement runs in a fresh process with a limited number of cores, so that no library warms up or slows
down another, and one that crashes or hangs costs only its own row. The libraries take turns, and the best
round counts.

| module      | contents                                                        |
|-------------|-----------------------------------------------------------------|
| `texts`     | two halves of a corpus: one to warm up on, one to measure on    |
| `libraries` | the fastest exact calls of each library                         |
| `worker`    | one proof or measurement, in a process of its own               |
| `running`   | starts the workers, compares the ids, and collects the speeds   |
"""

from merganser.benchmark.libraries import PEERS
from merganser.benchmark.running import Result, installed, measure
from merganser.benchmark.texts import Texts, read_texts

__all__ = ["PEERS", "Result", "Texts", "installed", "measure", "read_texts"]
