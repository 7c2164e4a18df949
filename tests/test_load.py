"""A few seconds of load from 16 threads; `make load MINUTES=60` runs longer, and checks the memory too."""

import json
import sys

import processes
import pytest
from examples import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and forks")
def test_results_under_load_are_right_also_in_forked_children() -> None:
    done = processes.run([sys.executable, ROOT / "tests/support/load.py", "--minutes", "0.05"])
    figures = json.loads(done.stdout)
    assert figures["failed"] == 0, figures["errors"]
    assert sum(figures["operations"].values()) >= figures["threads"] == 16
    assert figures["memory_at_end"] > 0
