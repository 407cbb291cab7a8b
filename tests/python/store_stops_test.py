"""Object stores: Ctrl-C during a wait, fork(), the end of the interpreter, and new settings."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import unittest

import recordpipe as rp
from store_cases import StoreTest
from store_server import Fault
from store_xml import AmazonServer

LARGE = [bytes([i]) * 1_000_000 for i in range(40)]  # three parts


def records_of(dataset):
    return list(dataset)


class Stops(StoreTest):
    def setUp(self):
        super().setUp()
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def hang(self, wanted, interrupt=True):
        """Requests for which wanted(request) is true get no answer; Ctrl-C comes at each."""

        def wait():
            if interrupt:
                os.kill(os.getpid(), signal.SIGINT)
            self.released.wait()

        fault = Fault(before=wait, is_lost=True)
        self.server.fault_of = lambda request: fault if wanted(request) else None

    def test_reading(self):
        path = f"{self.url}/set/a"
        rp.write_tfrecords(path, [b"abc"] * 3)
        calls = {
            "a pass": lambda: next(iter(rp.tfrecords(path))),
            "len": lambda: len(rp.tfrecords(path)),
            "an element": lambda: rp.tfrecords(path)[1],
            "info": lambda: rp.info(path),
            "verify": lambda: rp.verify(path),
            "convert": lambda: rp.convert(path, self.folder / "x"),
            "a folder": lambda: rp.tfrecords(f"{self.url}/set/"),
            "a pattern": lambda: rp.tfrecords(f"{self.url}/s*/a"),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.hang(lambda request: request.method == "GET")
                with self.assertRaises(KeyboardInterrupt):
                    call()
                self.server.fault_of = lambda request: None
                self.assertEqual(len(rp.tfrecords(path)), 3)

    def test_a_pass_goes_on(self):
        path = f"{self.url}/a"
        rp.write_tfrecords(path, LARGE)
        iterator = iter(rp.tfrecords(path).with_options(threads=1, chunk_size=1))
        found = []
        self.hang(lambda request: request.is_read and request.range()[0] > 20_000_000)
        with self.assertRaises(KeyboardInterrupt):
            found.extend(iterator)
        self.server.fault_of = lambda request: None
        self.assertEqual([*found, *iterator], LARGE)

    def test_writing(self):
        for name, records in (("small", [b"abc"]), ("large", LARGE)):
            with self.subTest(name):
                self.hang(lambda request: request.method == "PUT")
                with self.assertRaises(KeyboardInterrupt):
                    rp.write_tfrecords(f"{self.url}/{name}", records)
        self.hang(lambda request: request.method == "PUT")
        rp.write_tfrecords(self.folder / "x", LARGE)
        with self.assertRaises(KeyboardInterrupt):
            rp.convert(self.folder / "x", f"{self.url}/converted")
        self.server.fault_of = lambda request: None
        self.assertEqual(self.server.keys(), [])
        self.assertEqual(self.server.unfinished(), [])

    def test_a_handler_that_raises_nothing(self):
        arrived = []
        before = signal.signal(signal.SIGINT, lambda *_: arrived.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)

        self.server.fault_of = lambda request: Fault(before=interrupt)
        rp.write_tfrecords(f"{self.url}/a", LARGE)
        self.assertEqual([*iter(rp.tfrecords(f"{self.url}/a"))], LARGE)
        self.assertGreater(len(arrived), 3)

    def test_fork(self):
        rp.write_tfrecords(f"{self.url}/a", LARGE)
        dataset = rp.tfrecords(f"{self.url}/a")
        iterator = iter(dataset)
        first = next(iterator)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for found in pool.map(records_of, [dataset, rp.tfrecords(f"{self.url}/a")]):
                self.assertEqual(found, LARGE)
        self.assertEqual([first, *iterator], LARGE)

    def test_the_end_of_the_interpreter(self):
        path = f"{self.url}/a"
        rp.write_tfrecords(path, LARGE)
        for call in ("list(rp.tfrecords(path))", "rp.verify(path)", "len(rp.tfrecords(path))"):
            for daemon in (True, None):
                with self.subTest(call=call, daemon=daemon):
                    self.check_end(call, path, daemon)

    def check_end(self, call, path, daemon):
        """Daemon: a thread waits for an answer; else, a pass has read a part."""
        arrived = threading.Event()

        def wait():
            arrived.set()
            self.released.wait()

        fault = Fault(before=wait, is_lost=True)
        self.server.fault_of = lambda request: fault if daemon and request.is_read else None
        program = f"import sys, threading, recordpipe as rp; path = {path!r}\n"
        if daemon:
            program += f"threading.Thread(target=lambda: {call}, daemon=True).start()\n"
            program += "sys.stdin.readline()\n"
        else:
            program += "iterator = iter(rp.tfrecords(path)); next(iterator)\n"
        program += "print('end', flush=True)"
        running = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if daemon:
            self.assertTrue(arrived.wait(60))
        out, errors = running.communicate("\n", timeout=60)
        self.assertEqual((running.returncode, out, errors), (0, "end\n", ""))

    def test_new_settings(self):
        rp.write_tfrecords(f"{self.url}/a", [b"first"])
        other = AmazonServer("bucket")
        self.addCleanup(other.stop)
        os.environ["AWS_ENDPOINT_URL"] = other.url
        rp.write_tfrecords(f"{self.url}/a", [b"other"])
        self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), [b"other"])
        del os.environ["AWS_SECRET_ACCESS_KEY"]
        os.environ["AWS_NO_SIGN_REQUEST"] = "true"
        with self.assertRaisesRegex(rp.PermissionDeniedError, "set AWS_ACCESS_KEY_ID"):
            rp.info(f"{self.url}/a")

    def test_a_service_that_is_busy(self):
        rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        left = self.server.fail_next(lambda request: request.is_read, Fault(status=503))
        self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), [b"abc"])
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
