"""Reading and writing URLs of stores whose servers fail: the right bytes, or an error that says
what to do; never other bytes, and never without end."""

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

from recordpipe import store_requests
from store_cases import StoreTest, in_each_store
from store_server import Fault

RECORDS = [bytes([i + 1]) * 999_999 for i in range(9)]  # four ranges or more
BUSY = Fault(status=503, body="<Error><Code>SlowDown</Code><Message>s3cr3t</Message></Error>")
# Seconds. obstore itself gives up after about two.
OUTAGE = 4


def is_read(request):
    return request.is_read


def is_block(request):
    """Of those that a pass reads one after another; fingerprints of files are shorter."""
    first, last = (request.is_read and request.range()) or (0, 0)
    return first > 0 and last - first > 100_000


def for_a_while(wanted, fault, seconds=OUTAGE):
    end = time.monotonic() + seconds
    return lambda request: fault if wanted(request) and time.monotonic() < end else None


def always(wanted, fault):
    return lambda request: fault if wanted(request) else None


class Faults:
    def setUp(self):
        super().setUp()
        self.path = f"{self.url}/a"
        rp.write_tfrecords(self.path, RECORDS)

    def patience(self, seconds):
        changed = unittest.mock.patch.object(store_requests, "_PATIENCE", seconds)
        changed.start()
        self.addCleanup(changed.stop)

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


class FaultsOfReads(Faults):
    def test_bodies_that_are_cut(self):
        for size in (0, 1, 100_000, 600_000):
            with self.subTest(size=size):
                self.server.fail_next(is_read, *[Fault(cut=size)] * 4)
                self.assertEqual(self.read(), RECORDS)

    def test_bodies_that_are_always_cut(self):
        self.patience(1)
        self.server.fault_of = always(is_block, Fault(cut=0))
        error = self.failure()
        self.assertRegex(error.reason, "transfer failed")
        self.assertGreater(error.offset, 0)

    def test_slow_bodies(self):
        self.server.fail_next(is_read, *[Fault(slow=1.0)] * 4)
        self.assertEqual(self.read(), RECORDS)

    def test_a_service_that_is_busy_for_a_while(self):
        for wanted in (lambda request: True, is_read, is_block):
            self.server.requests.clear()
            self.server.fault_of = for_a_while(wanted, BUSY)
            self.assertEqual(self.read(), RECORDS)
        self.server.fault_of = for_a_while(lambda request: request.is_listing, BUSY)
        self.assertEqual(rp.info(f"{self.url}/*").records, 9)
        dataset = rp.tfrecords(self.path)
        self.server.fault_of = for_a_while(is_read, BUSY)
        self.assertEqual(dataset[7], RECORDS[7])

    def test_a_service_that_stays_busy(self):
        self.patience(2)
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
            # obstore's own repetitions of a block.
            blocks = [one.range() for one in self.server.requests if is_block(one)]
            self.assertLessEqual(max(map(blocks.count, blocks)), 11)

    def test_no_connection(self):
        self.patience(1)
        self.server.stop()
        self.assertIn("no connection", self.failure().reason)

    def test_a_server_that_was_never_there(self):
        self.server.stop()
        begin = time.monotonic()
        with self.assertRaisesRegex(rp.FileSystemError, "://none/a: no connection.*environment"):
            list(rp.tfrecords(f"{self.scheme}://none/a"))
        self.assertLess(time.monotonic() - begin, 40)

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
        self.patience(2)
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


class Silence(Faults, StoreTest):
    """With one kind of store: these take long."""

    scheme = "gs"
    settings = types.MappingProxyType({"GOOGLE_READ_TIMEOUT": "3s"})  # by default, 30

    def test_silence(self):
        self.server.fail_next(is_block, *[Fault(wait=7)] * 2)
        self.assertEqual(self.read(), RECORDS)
        self.server.fail_next(is_block, *[Fault(slow=7)] * 2)
        self.assertEqual(self.read(), RECORDS)

    def test_endless_silence(self):
        self.patience(1)
        self.server.fault_of = always(is_block, Fault(wait=8))
        # Half a minute of repetitions by obstore, for the block and for what comes after it.
        error = self.failure(seconds=120)
        self.assertRegex(error.reason, "did not answer in time")


class FaultsOfWrites:
    def test_a_service_that_is_busy_for_a_while(self):
        def is_write(request):
            return request.method in ("PUT", "POST")

        for name, records in (("small", [b"abc"]), ("large", RECORDS)):
            with self.subTest(name):
                writer = rp.Writer(f"{self.url}/{name}")
                self.server.fault_of = for_a_while(is_write, BUSY)
                for record in records:
                    writer.write(record)
                writer.close()
                self.assertEqual(list(rp.tfrecords(f"{self.url}/{name}")), records)
        self.assertEqual(self.server.unfinished(), [])

    def test_an_answer_that_is_lost(self):
        for before in (None, b"old"):
            if before:
                self.server.put("a", before)
            self.server.fail_next(
                lambda request: request.method == "PUT", Fault(is_carried_out=True)
            )
            rp.write_tfrecords(f"{self.url}/a", [b"abc"])
            self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), [b"abc"])

    def test_a_service_that_stays_busy(self):
        with unittest.mock.patch.object(store_requests, "_PATIENCE", 2):
            self.server.fault_of = always(lambda request: request.method == "PUT", BUSY)
            with self.assertRaisesRegex(
                rp.FileSystemError, f"{self.url}/a: .*503.*SlowDown.*later"
            ):
                rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        self.assertEqual(self.server.keys(), [])


globals().update(in_each_store(FaultsOfReads))
globals().update(in_each_store(FaultsOfWrites))

if __name__ == "__main__":
    unittest.main()
