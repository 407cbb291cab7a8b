"""Arrow streams and their arrays: when memory is given back, fork(), exit, Ctrl-C."""

import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import recordpipe as rp
import records
from arrow_c import ArrowArray, Stream, StreamError
from support import FilesTest


class Lifetime(FilesTest):
    def dataset(self, count=1000):
        return (
            rp.tfrecords(self.examples(count))
            .parse(
                {
                    "id": rp.FixedLenFeature([], "int64"),
                    "tokens": rp.RaggedFeature("int64"),
                    "name": rp.FixedLenFeature([], "string"),
                }
            )
            .batch(10)
        )

    @staticmethod
    def ids(array):
        data = array.children[0].contents.buffers[1]
        return np.ctypeslib.as_array((ctypes.c_int64 * array.length).from_address(data))

    def test_batches_are_the_memory_of_numpys_columns_and_given_back(self):
        with Stream(self.dataset().repeat(10)) as stream:
            addresses = set()
            while (array := stream.next()) is not None:
                addresses.add(array.children[0].contents.buffers[1])
                self.assertEqual(array.children[0].contents.buffers[1] % 64, 0)
                array.release(array)
        self.assertLess(len(addresses), 100)  # of 1,000 batches
        with Stream(self.dataset()) as stream:
            held = []
            while (array := stream.next()) is not None:
                held.append(array)
        self.assertEqual(len({a.children[0].contents.buffers[1] for a in held}), 100)
        for i, array in enumerate(held):  # after the release of the stream
            self.assertEqual(self.ids(array).tolist(), list(range(10 * i, 10 * i + 10)))
            array.release(array)

    def test_a_child_outlives_its_parent(self):
        stream = Stream(self.dataset())
        array = stream.next()
        child = type(array)()
        ctypes.memmove(ctypes.byref(child), array.children[0], ctypes.sizeof(child))
        array.children[0].contents.release = type(child.release)()  # moved
        array.release(array)
        rest = stream.rows()
        self.assertEqual(len(rest["id"]), 990)
        stream.__exit__()
        gc.collect()
        values = (ctypes.c_int64 * 10).from_address(child.buffers[1])
        self.assertEqual(list(values), list(range(10)))
        child.release(child)

    def test_release_on_other_threads(self):
        with Stream(self.dataset()) as stream:
            arrays = []
            while (array := stream.next()) is not None:
                arrays.append(array)

        def release(some):
            for array in some:
                array.release(array)

        threads = [threading.Thread(target=release, args=(arrays[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other = Stream(self.dataset())
        other.next()
        worker = threading.Thread(target=other.__exit__)
        worker.start()
        worker.join()

    def test_a_capsule_that_nobody_used_releases_its_stream(self):
        dataset = self.dataset()
        for _ in range(100):
            dataset.__arrow_c_stream__()
            dataset.__arrow_c_schema__()

    def test_exported_batches_keep_little_more_than_their_values(self):
        path = self.folder / "wide.tfrecord"
        path.write_bytes(records.frame(records.example({f"f{i}": [i] for i in range(30)})) * 20_000)
        program = """
import sys, recordpipe as rp
from arrow_c import Stream

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

features = {f"f{i}": rp.FixedLenFeature([], "int64") for i in range(30)}
before = resident()
with Stream(rp.tfrecords(sys.argv[1]).parse(features).with_options(threads=1)) as stream:
    held = []
    while (array := stream.next()) is not None:
        held.append(array)
print(resident() - before)
"""
        run = subprocess.run(
            [sys.executable, "-B", "-c", program, path],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        values = 20_000 * 30 * 8 // 1024
        self.assertLess(int(run.stdout), 5 * values)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork()")
    def test_fork(self):
        stream = Stream(self.dataset())
        array = stream.next()
        child = os.fork()
        if child == 0:
            try:
                try:
                    stream.next()
                except StreamError as error:
                    ok = "fork" in str(error)
                array.release(array)
                stream.release()
                os._exit(0 if ok else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        array.release(array)
        self.assertEqual(len(stream.rows()["id"]), 990)

    def test_streams_and_arrays_may_outlive_the_interpreter(self):
        program = """
import ctypes, sys, recordpipe as rp
from arrow_c import Stream
features = {"id": rp.FixedLenFeature([], "int64")}
stream = Stream(rp.tfrecords(sys.argv[1]).parse(features).repeat().batch(5).prefetch(4))
array = stream.next()
kept = Stream(rp.tfrecords(sys.argv[1]).parse(features))  # without a pass
for forever in (stream, array, kept):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(forever))
print(array.length)
"""
        for _ in range(5):
            run = subprocess.run(
                [sys.executable, "-B", "-c", program, self.examples(100)],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "5\n", ""))


class Interrupts(FilesTest):
    def endless(self):
        feature = {"id": rp.FixedLenFeature([], "int64")}
        return rp.tfrecords(self.examples(500)).parse(feature).repeat()

    @staticmethod
    def interrupt_soon():
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    @staticmethod
    def drain(stream):
        while (array := stream.next()) is not None:
            array.release(array)

    def test_ctrl_c_ends_a_long_read(self):
        with Stream(self.endless()) as stream:
            timer = self.interrupt_soon()
            with self.assertRaises((KeyboardInterrupt, StreamError)):
                self.drain(stream)
            timer.join()

    def test_a_wait_ends_at_once(self):
        # Nothing ever comes out of skip(): the whole time is spent in one get_next().
        dataset = self.endless().skip(10**15)
        with Stream(dataset) as stream:
            timer = self.interrupt_soon()
            begin = time.monotonic()
            seen = []
            try:
                try:
                    stream.next()
                except StreamError as error:
                    seen.append((error.code, str(error)))
                    for _ in range(1000):
                        time.sleep(0.001)
            except KeyboardInterrupt:
                seen.append("KeyboardInterrupt")
            self.assertLess(time.monotonic() - begin, 10)
            timer.join()
        self.assertEqual(seen[-1], "KeyboardInterrupt")

    def test_an_exception_of_a_signal_handler_is_named_and_then_raised_itself(self):
        class Deadline(Exception):
            def __init__(self, seconds, reason):  # can't be made without arguments
                super().__init__(f"{seconds} s: {reason}")
                self.seconds = seconds

        def handler(*_):
            raise Deadline(10, "too slow")

        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        messages = []
        with self.assertRaises(Deadline) as raised, Stream(self.endless()) as stream:
            try:
                self.drain(stream)
            except StreamError as error:
                messages.append(str(error))
                self.drain(stream)  # a handler of errors that goes on
        self.assertEqual(raised.exception.seconds, 10)
        for message in messages:
            self.assertIn("Deadline: 10 s: too slow", message)

    def test_ctrl_c_while_a_table_is_written(self):
        dataset = self.endless()

        class Table:
            def __arrow_c_stream__(self, requested_schema=None):
                return dataset.__arrow_c_stream__()

        timer = self.interrupt_soon()
        with self.assertRaises(KeyboardInterrupt):
            rp.write_tfrecords(self.folder / "out.tfrecord", Table(), index=True)
        timer.join()
        gc.collect()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["examples.tfrecord"])

    def test_a_handler_that_does_not_raise_interrupts_nothing(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with Stream(self.endless().take(2_000_000)) as stream:
            timer = self.interrupt_soon()
            rows = 0
            while (array := stream.next()) is not None:
                rows += array.length
                array.release(array)
            timer.join()
        self.assertEqual((rows, calls), (2_000_000, [1]))

    def test_a_handler_that_raises_late_loses_no_batch(self):
        class Stop(Exception):
            pass

        seconds = [0, 1, 1]  # the first signal only moves the work to the background

        def handler(*_):
            if delay := seconds.pop(0):
                time.sleep(delay)  # meanwhile the batch is ready
                raise Stop

        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with Stream(self.endless().batch(100_000).take(12)) as stream:
            arrays = []
            ended = False
            while not ended:
                arrays.append(ArrowArray())  # kept, also if Stop comes when get_next() has returned
                with contextlib.suppress(Stop):
                    if seconds:
                        signal.setitimer(signal.ITIMER_REAL, 0.002)
                    code = stream._struct.get_next(stream._struct, arrays[-1])
                    ended = code == 0 and not arrays[-1].release
                    # No signal comes elsewhere, if the batch was ready before it.
                    signal.setitimer(signal.ITIMER_REAL, 0)
            arrays = [array for array in arrays if array.release]
            self.assertEqual([array.length for array in arrays], [100_000] * 12)
            for array in arrays:
                array.release(array)
        self.assertEqual(seconds, [])

    def test_signals_that_come_faster_than_batches_hold_nothing_up(self):
        calls = []
        before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        dataset = self.endless().skip(10**9).batch(100).take(3)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        with Stream(dataset) as stream:
            lengths = []
            while (array := stream.next()) is not None:
                lengths.append(array.length)
                array.release(array)
        self.assertEqual(lengths, [100] * 3)
        self.assertGreater(len(calls), 5)


if __name__ == "__main__":
    unittest.main()
