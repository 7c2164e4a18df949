"""Ctrl-C during long-running work, for scripts run by `processes.interrupted`.

The signal is sent by a thread of the same process, so that it arrives during the work even on a busy machine.
The delay until the work stops is measured in CPU time, which does not depend on the load of the machine.
"""

import os
import signal
import threading
import time
from collections.abc import Callable

#: CPU time in seconds after which the work has certainly started.
BEGUN = 0.1
#: The documentation promises 0.2 s, during which all cores may be busy; allow twice as much.
AT_ONCE = 0.4 * (os.cpu_count() or 1)

_sent: list[float] = []


def send(number: int = signal.SIGINT, after: float = 0) -> None:
    """Send a signal to this process from another thread, after `after` more seconds of CPU time."""
    begun = time.process_time()

    def wait_and_send() -> None:
        while time.process_time() < begun + after:
            time.sleep(0.001)
        _sent.append(time.process_time())
        os.kill(os.getpid(), number)

    threading.Thread(target=wait_and_send, daemon=True).start()


def stopped() -> None:
    """Print "stopped" if the work stopped soon after the signal, or else how late it was."""
    took = time.process_time() - _sent[0]
    print("stopped" if took < AT_ONCE else f"stopped {took:.2f} s of processor time later", flush=True)


def interrupted(work: Callable[[], object]) -> None:
    """Call `work`, send SIGINT once it has started, and print how it ended."""
    send(after=BEGUN)
    try:
        work()
        print("done before it could be stopped", flush=True)
        os._exit(0)  # or the signal would still arrive
    except KeyboardInterrupt:
        stopped()
