"""How tests start the programs."""
import os
import subprocess

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
