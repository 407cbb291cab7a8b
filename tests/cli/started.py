"""How tests start the programs."""
import os
import pathlib
import re
import signal
import subprocess
import time

# Without GOMP_SPINCOUNT, the trainer's programs set it and restart, which takes longer than most
# trainings here. Tests that restart have this environment. 0: threads that wait for the next layer
# don't spin. Those of oneDNN's kernels always do, for longer than such small layers take on busy
# cores: a test of several threads asks for them.
AS_STARTED_BY_USERS = {name: value for name, value in os.environ.items()
                       if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
os.environ.setdefault("GOMP_SPINCOUNT", "0")
os.environ.setdefault("OMP_NUM_THREADS", "1")


class Started(subprocess.Popen):
    """A program that is killed if the test fails while it runs: in a with statement, a plain Popen
    waits for the program's end, even after a failure."""

    def __exit__(self, kind, *rest):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


def wait_until_it_waits(process):
    """Returns once the process waits for signals (it has blocked SIGTERM) and none of its threads
    has anything to do: several times, because they are looked at one after the other."""
    asleep = 0
    deadline = time.monotonic() + 30
    while asleep < 3:
        if time.monotonic() > deadline:
            raise TimeoutError("the process doesn't wait for signals")
        time.sleep(0.01)
        try:
            threads = [path.read_text()
                       for path in pathlib.Path("/proc").glob(f"{process.pid}/task/*/status")]
        except OSError:  # a thread has ended
            asleep = 0
            continue
        blocked = [int(re.search("SigBlk:(.*)", text)[1], 16) for text in threads]
        waits = any(signals >> signal.SIGTERM - 1 & 1 for signals in blocked)
        asleep = asleep + 1 if waits and all("State:\tS" in text for text in threads) else 0
