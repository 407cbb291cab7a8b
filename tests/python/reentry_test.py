"""Python code that runs within the library's own calls: finalizers, handlers, threads at exit."""

import subprocess
import sys
import unittest

from support import FilesTest


class Reentry(FilesTest):
    def script(self, script, *arguments):
        process = subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((process.returncode, process.stderr), (0, ""), process.stdout)
        return process.stdout

    def test_finalizers_of_elements_use_the_iterator_that_close_ends(self):
        # close() destroys the elements that were computed ahead.
        output = self.script(
            """
import sys
import recordpipe as rp
reasons = set()
class Element:
    def __init__(self, record):
        self.record = record
    def __del__(self):
        iterator.close()
        for use in (iterator.stats, iterator.state_dict, lambda: next(iterator)):
            try:
                use()
            except rp.InvalidArgumentError as error:
                reasons.add(error.reason)
iterator = iter(rp.tfrecords(sys.argv[1]).map(Element).with_options(threads=2).prefetch(8))
held = next(iterator)
iterator.close()
print(reasons, next(iterator, "ended"))
del Element.__del__
""",
            self.numbered(100),
        )
        self.assertEqual(output, "{'the iterator is closed'} ended\n")

    def test_the_interpreter_ends_while_daemon_threads_make_iterators(self):
        # The list of open iterators changed while the end read it: none was closed.
        script = """
import sys, threading
sys.setswitchinterval(1e-6)
import recordpipe as rp
dataset = rp.tfrecords(sys.argv[1]).map(len).with_options(threads=1)
are_open = threading.Semaphore(0)
def make():
    held = []
    while True:
        held.append(iter(dataset))
        if len(held) > 1000:
            are_open.release()
            del held[:700]
for _ in range(4):
    threading.Thread(target=make, daemon=True).start()
for _ in range(4):
    are_open.acquire()
"""
        path = self.numbered(10)
        for _ in range(6):
            self.assertEqual(self.script(script, path), "")

    def test_handlers_that_pass_signals_on_to_ours(self):
        # faulthandler chains to the handler that an iterator has left, and the next iterator puts
        # one in front of faulthandler's. They called each other until the stack was full.
        output = self.script(
            """
import faulthandler, os, signal, sys
import recordpipe as rp
dataset = rp.tfrecords(sys.argv[1]).prefetch()
caught = []
signal.signal(signal.SIGUSR1, lambda *_: caught.append(1))
traces = open(os.devnull, "w")
for _ in range(20):
    list(dataset)
    faulthandler.register(signal.SIGUSR1, file=traces, chain=True)
    list(dataset)
    os.kill(os.getpid(), signal.SIGUSR1)
    list(dataset)
    faulthandler.unregister(signal.SIGUSR1)
    list(dataset)
    os.kill(os.getpid(), signal.SIGUSR1)
print(len(caught))
""",
            self.numbered(10),
        )
        self.assertEqual(output, "40\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
