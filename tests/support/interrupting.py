"""Ctrl-C in the middle of some work, for the scripts that `processes.interrupted` runs.

The signal comes from a thread of the same process, so that it comes while the work runs, however busy the
machine is. How soon the work ends is measured in processor time, which a busy machine does not stretch.
"""

import os
import signal
import threading
import time
from collections.abc import Callable

#: In seconds of processor time: the work has begun.
BEGUN = 0.1
#: 0.2 s are promised, in which all cores may be busy; twice as much is allowed.
AT_ONCE = 0.4 * (os.cpu_count() or 1)

_sent: list[float] = []


def send(number: int = signal.SIGINT, after: float = 0) -> None:
    """Sends a signal to this process, from another thread, when it took `after` seconds more."""
    begun = time.process_time()

    def wait_and_send() -> None:
        while time.process_time() < begun + after:
            time.sleep(0.001)
        _sent.append(time.process_time())
        os.kill(os.getpid(), number)

    threading.Thread(target=wait_and_send, daemon=True).start()


def stopped() -> None:
    """Prints "stopped" if the signal was obeyed at once, else how late that was."""
    took = time.process_time() - _sent[0]
    print("stopped" if took < AT_ONCE else f"stopped {took:.2f} s of processor time later", flush=True)


def interrupted(work: Callable[[], object]) -> None:
    """Calls `work`, sends SIGINT when it has begun, and prints how it ended."""
    send(after=BEGUN)
    try:
        work()
        print("done before it could be stopped", flush=True)
        os._exit(0)  # else the signal would come later
    except KeyboardInterrupt:
        stopped()
