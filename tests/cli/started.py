"""Starts a program that is killed if the test fails while the program runs."""
import subprocess


class Started(subprocess.Popen):
    """In a with statement, a plain Popen waits for the program's end, even after a failure."""

    def __exit__(self, kind, *rest):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)
