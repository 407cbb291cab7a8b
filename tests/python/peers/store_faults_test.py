"""Reading URLs of stores whose servers fail: the right bytes, or an error that says what to do;
never other bytes, and never without end."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import pathlib
import random
import sys
import time
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from peers import require

require("obstore")

from obstore import exceptions
from recordpipe import store_requests
from store_cases import StoreTest, in_each_store
from store_faults import (
    BUSY,
    LARGE,
    OUTAGE,
    Patched,
    always,
    for_a_while,
    is_block,
    is_read,
    is_write,
)
from store_server import Fault

RECORDS = [bytes([i + 1]) * 999_999 for i in range(9)]  # four ranges or more


class Reads:
    """The passes over an object whose server fails."""

    def setUp(self):
        super().setUp()
        self.path = f"{self.url}/a"
        rp.write_tfrecords(self.path, RECORDS)

    def read(self):
        return [*iter(rp.tfrecords(self.path))]

    def failure(self, kind=rp.FileSystemError, seconds=60):
        """The error of a pass, which must name the file and not repeat what the server said."""
        begin = time.monotonic()
        with self.assertRaises(kind) as raised:
            self.read()
        self.assertLess(time.monotonic() - begin, seconds)
        error = raised.exception
        self.assertEqual(error.path, self.path)
        self.assertIn(self.path, str(error))
        self.assertTrue(error.hint)
        self.assertLess(len(str(error)), 300)
        self.assertNotIn("s3cr3t", str(error))
        return error


class FaultsOfReads(Reads, Patched):
    def test_bodies_that_are_cut(self):
        for size in (0, 1, 100_000, 600_000):
            with self.subTest(size=size):
                self.server.fail_next(is_read, *[Fault(cut=size)] * 4)
                self.assertEqual(self.read(), RECORDS)

    def test_bodies_that_are_always_cut(self):
        self.patience(0.5)
        self.server.fault_of = always(is_block, Fault(cut=0))
        error = self.failure()
        self.assertRegex(error.reason, "transfer failed")
        self.assertGreater(error.offset, 0)

    def test_slow_bodies(self):
        self.server.fail_next(is_read, *[Fault(slow=0.5)] * 4)
        self.assertEqual(self.read(), RECORDS)

    def test_a_service_that_is_busy_for_a_while(self):
        for wanted in (lambda request: True, is_read, is_block):
            left = self.server.fail_next(wanted, *[BUSY] * 3)
            self.assertEqual(self.read(), RECORDS)
            self.assertEqual(left, [])
        left = self.server.fail_next(lambda request: request.is_listing, *[BUSY] * 3)
        self.assertEqual(rp.info(f"{self.url}/*").records, 9)
        self.assertEqual(left, [])
        dataset = rp.tfrecords(self.path)
        left = self.server.fail_next(is_read, *[BUSY] * 3)
        self.assertEqual(dataset[7], RECORDS[7])
        self.assertEqual(left, [])

    def test_a_service_that_stays_busy(self):
        self.patience(0.5)
        self.server.fault_of = always(is_block, BUSY)
        error = self.failure()
        self.assertEqual(error.reason, "the server answered 503 Service Unavailable, SlowDown")
        self.assertGreater(error.offset, 0)
        self.assertIn("later", error.hint)

    def test_answers_that_do_not_change_end_soon(self):
        for status, kind in ((501, rp.UnsupportedError), (400, rp.FileSystemError)):
            self.server.requests.clear()
            self.server.fault_of = always(is_block, Fault(status=status))
            self.assertIn(str(status), self.failure(kind).reason)
            blocks = [one.range() for one in self.server.requests if is_block(one)]
            self.assertEqual(max(map(blocks.count, blocks)), 1)

    def test_another_range(self):
        self.server.fail_next(is_block, *[Fault(shift=7)] * 9)
        self.assertIn("another range", self.failure().reason)
        self.server.fail_next(is_block, *[Fault(is_whole=True)] * 9)
        self.assertIn("whole files", self.failure(rp.UnsupportedError).reason)
        # CRCs find it.
        for wanted in (is_read, is_block):
            self.server.fail_next(wanted, *[Fault(shift=7, lies=True)] * 9)
            with self.assertRaisesRegex(rp.DataLossError, self.path):
                self.read()

    def test_an_object_that_changes_between_ranges(self):
        first = self.data("a")
        second = first[:1_000_015] + first[7_000_105:] + first[1_000_015:7_000_105]
        for has_conditions in (True, False):
            for cut in (-1, 1000):
                with self.subTest(has_conditions=has_conditions, cut=cut):
                    etag = self.server.put("a", first).etag
                    self.server.has_conditions = has_conditions
                    change = Fault(before=lambda: self.server.put("a", second))
                    cuts = [Fault(cut=cut)] if cut >= 0 else []
                    # Not requests that the pass before has left behind.
                    self.server.fail_next(
                        lambda request, etag=etag: (
                            is_block(request) and request.headers["If-Match"] == etag
                        ),
                        *cuts,
                        change,
                    )
                    error = self.failure()
                    self.assertIn("replaced", error.reason)
                    self.assertGreater(error.offset, 0)

    def test_an_object_that_is_deleted_between_ranges(self):
        gone = Fault(before=lambda: self.server.objects.pop("a", None))
        self.server.fail_next(is_block, gone)
        self.assertIn("replaced", self.failure().reason)

    def test_many_faults(self):
        """Whatever comes: all records, or an error. The seed is in the message of a failure."""
        self.patience(0.3)
        faults = [
            *[None] * 6,
            BUSY,
            Fault(status=500),
            Fault(cut=0),
            Fault(cut=70_000),
            Fault(cut=1_500_000),
            Fault(slow=0.1),
            Fault(wait=0.2),
            Fault(shift=1),
            Fault(shift=1, lies=True),
            Fault(is_whole=True),
        ]
        for seed in range(8):
            with self.subTest(seed=seed):
                generator = random.Random(seed)
                self.server.fault_of = lambda request, chosen=generator: (
                    chosen.choice(faults) if is_read(request) else None
                )
                try:
                    found = self.read()
                except rp.Error as error:
                    self.assertIn(self.path, str(error))
                else:
                    self.assertEqual(found, RECORDS)


class Outage(Reads, StoreTest):
    """With one kind of store, and the pauses as they are: these take seconds."""

    def test_reading(self):
        self.server.fault_of = for_a_while(is_block, BUSY)
        self.assertEqual(self.read(), RECORDS)

    def test_writing(self):
        # obstore itself repeats parts, and pauses for up to 16 seconds.
        for name, records, seconds in (("small", [b"abc"], OUTAGE), ("large", LARGE, 1)):
            with self.subTest(name):
                self.server.fault_of = for_a_while(is_write, BUSY, seconds)
                rp.write_tfrecords(f"{self.url}/{name}", records)
                self.assertEqual(list(rp.tfrecords(f"{self.url}/{name}")), records)

    def test_a_server_that_was_never_there(self):
        self.server.stop()
        begin = time.monotonic()
        with self.assertRaisesRegex(rp.FileSystemError, "://none/a: no connection.*environment"):
            list(rp.tfrecords(f"{self.scheme}://none/a"))
        self.assertLess(time.monotonic() - begin, 90)


class Silence(Reads, Patched, StoreTest):
    scheme = "gs"
    settings = types.MappingProxyType({"GOOGLE_READ_TIMEOUT": "1s"})  # by default, 30

    def test_silence(self):
        self.server.fail_next(is_block, *[Fault(wait=3)] * 2)
        self.assertEqual(self.read(), RECORDS)
        self.server.fail_next(is_block, *[Fault(slow=3)] * 2)
        self.assertEqual(self.read(), RECORDS)

    def test_endless_silence(self):
        self.patience(1)
        self.server.fault_of = always(is_block, Fault(wait=3))
        error = self.failure(seconds=30)
        self.assertRegex(error.reason, "did not answer in time")

    def test_no_connection(self):
        self.patience(1)
        self.server.stop()
        self.assertIn("no connection", self.failure().reason)


class GivenUp(unittest.TestCase):
    def test_requests_after_one_that_was_given_up(self):
        busy = exceptions.GenericError("Server returned non-2xx status code: 503 Busy: x")
        requests = store_requests.Requests()
        with (
            unittest.mock.patch.object(store_requests, "_PATIENCE", 0.4),
            unittest.mock.patch.object(store_requests, "_FIRST_PAUSE", 0.05),
        ):
            with self.assertRaisesRegex(rp.Error, "503"):
                requests.send(unittest.mock.Mock(side_effect=busy), "k")
            second = unittest.mock.Mock(side_effect=[busy, 7])
            with self.assertRaisesRegex(rp.Error, "503"):
                requests.send(second, "k")
            self.assertEqual(second.call_count, 1)
            time.sleep(0.5)
            self.assertEqual(requests.send(unittest.mock.Mock(side_effect=[busy, 7]), "k"), 7)


globals().update(in_each_store(FaultsOfReads))

if __name__ == "__main__":
    unittest.main()
