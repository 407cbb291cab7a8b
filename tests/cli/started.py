"""A started program that doesn't outlive the test which fails while it runs."""
import subprocess


class Started(subprocess.Popen):
    """In a with statement a plain Popen waits for its program's end, after a failure too."""

    def __exit__(self, kind, *rest):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)
