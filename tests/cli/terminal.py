"""A pseudo-terminal for a program under test."""
import os
import pty
import threading


class Terminal:
    """Start the program with `end` as one or more of its standard streams, then call begin()."""

    def __init__(self):
        self._ours, self.end = pty.openpty()
        self._shown = []
        self._reader = threading.Thread(target=self._read)

    def _read(self):
        try:
            while part := os.read(self._ours, 1 << 16):
                self._shown.append(part)
        except OSError:  # the program has closed it
            pass

    def begin(self):
        """Reads from now on. The program must have its end already."""
        os.close(self.end)
        self._reader.start()

    def shown(self):
        """Waits until the program has ended; returns the bytes that appeared."""
        self._reader.join()
        os.close(self._ours)
        return b"".join(self._shown)
