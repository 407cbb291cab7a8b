"""Writing to URLs of stores whose servers fail: the object is whole or not there, or an error says
what to do; nothing goes on without end."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import contextlib
import datetime
import pathlib
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from peers import require

require("obstore")

from recordpipe import obstore_uploads, store_requests, store_settings
from recordpipe.obstore_files import store_of
from store_cases import StoreTest, in_each_store
from store_faults import BUSY, LARGE, LOST, Patched, always, is_completion, is_part, is_write
from store_server import Fault


class SilenceOfUploads(Patched, StoreTest):
    settings = types.MappingProxyType({"AWS_TIMEOUT": "1s"})  # by default, minutes

    def test_a_request_is_repeated_however_long_it_took(self):
        self.patience(0.5)
        left = self.server.fail_next(lambda request: request.method == "PUT", Fault(wait=2))
        rp.write_tfrecords(f"{self.url}/small", [b"abc"])
        self.assertEqual(left, [])
        self.assertEqual(list(rp.tfrecords(f"{self.url}/small")), [b"abc"])
        left = self.server.fail_next(is_part, Fault(wait=2))
        rp.write_tfrecords(f"{self.url}/large", LARGE)
        self.assertEqual(left, [])
        self.assertEqual(list(rp.tfrecords(f"{self.url}/large")), LARGE)


class Stopped(Patched, StoreTest):
    """Uploads that are stopped while the service doesn't answer them."""

    def closing(self, fault):
        """An upload that another thread is closing."""
        path = f"{self.url}/a"
        upload = store_of(path).open_writer(path)
        upload.write(b"abc")
        self.server.fault_of = always(is_write, fault)
        thread = threading.Thread(target=self.closed, args=(upload,))
        thread.start()
        self.addCleanup(thread.join)
        while not any(map(is_write, self.server.requests)):
            time.sleep(0.01)
        return upload

    def closed(self, upload):
        with contextlib.suppress(Exception):
            upload.close()

    def aborted(self, upload):
        begin = time.monotonic()
        upload.abort()
        return time.monotonic() - begin

    def test_a_pause_ends(self):
        with unittest.mock.patch.object(store_requests, "_FIRST_PAUSE", 20):
            self.assertLess(self.aborted(self.closing(BUSY)), 5)

    def test_a_request_is_left_alone(self):
        with unittest.mock.patch.object(obstore_uploads, "_END", 0.2):
            self.assertLess(self.aborted(self.closing(Fault(wait=3))), 2)

    def test_interrupts(self):
        """Of the writer's thread, and of one that Python has not started."""
        here = self.folder / "here"
        for size in (1, 40):
            records = [bytes(999_999)] * size
            rp.write_tfrecords(here, records)
            for write in (
                lambda records=records: rp.write_tfrecords(f"{self.url}/a", records),
                lambda: rp.convert(here, f"{self.url}/a"),
            ):
                self.server.fault_of = always(is_write, BUSY)
                main = threading.main_thread().ident
                timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
                timer.start()
                begin = time.monotonic()
                with (
                    unittest.mock.patch.object(store_requests, "_FIRST_PAUSE", 20),
                    unittest.mock.patch.object(obstore_uploads, "_END", 1),
                    unittest.mock.patch.dict(
                        store_settings._PARTS,
                        max_retries=100,
                        retry_timeout=datetime.timedelta(20),
                    ),
                    self.assertRaises(KeyboardInterrupt),
                ):
                    write()
                self.assertLess(time.monotonic() - begin, 8)
                timer.join()
        self.assertEqual(self.server.keys(), [])

    def test_parts_after_an_abort(self):
        path = f"{self.url}/a"
        upload = store_of(path).open_writer(path)
        for _ in range(3):
            upload.write(bytes(16 << 20))
        upload.abort()
        self.assertEqual(self.server.unfinished(), [])
        with self.assertRaises(Exception):  # noqa: B017
            upload.write(b"x")
        self.assertEqual(self.server.keys(), [])


class FaultsOfWrites(Patched):
    def test_a_service_that_is_busy_for_a_while(self):
        for name, records in (("small", [b"abc"]), ("large", LARGE)):
            with self.subTest(name):
                writer = rp.Writer(f"{self.url}/{name}")
                left = self.server.fail_next(is_write, *[BUSY] * 3)
                for record in records:
                    writer.write(record)
                writer.close()
                self.assertEqual(left, [])
                self.assertEqual(list(rp.tfrecords(f"{self.url}/{name}")), records)
        self.assertEqual(self.server.unfinished(), [])

    def test_connections_that_break(self):
        """A server that has answered "no such object" is there."""
        left = self.server.fail_next(is_write, *[LOST] * 3)
        rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        self.assertEqual(left, [])

    def test_no_such_bucket(self):
        body = "<Error><Code>NoSuchBucket</Code><Message>s3cr3t</Message></Error>"
        self.server.fault_of = always(lambda request: True, Fault(status=404, body=body))
        for records in ([b"abc"], LARGE):
            with self.assertRaisesRegex(rp.Error, f"^{self.url}/a: no such bucket") as raised:
                rp.write_tfrecords(f"{self.url}/a", records)
            self.assertEqual(raised.exception.kind, "not_found")
            self.assertNotIn("s3cr3t", str(raised.exception))
            self.assertLess(len(str(raised.exception)), 300)

    def test_an_object_that_is_deleted_meanwhile(self):
        self.server.put("a", b"old")
        writer = rp.Writer(f"{self.url}/a")
        writer.write(b"abc")
        del self.server.objects["a"]
        # As Cloud Storage answers a condition on an object that isn't there.
        self.server.fault_of = always(is_write, Fault(status=404))
        with self.assertRaisesRegex(rp.AlreadyExistsError, "another program"):
            writer.close()

    def test_an_answer_that_is_lost(self):
        for before in (None, b"old"):
            if before:
                self.server.put("a", before)
            self.server.fail_next(
                lambda request: request.method == "PUT", Fault(is_carried_out=True)
            )
            rp.write_tfrecords(f"{self.url}/a", [b"abc"])
            self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), [b"abc"])

    def test_an_answer_to_the_completion_that_is_lost(self):
        for _ in range(2):
            left = self.server.fail_next(is_completion, Fault(is_carried_out=True))
            rp.write_tfrecords(f"{self.url}/a", LARGE)
            self.assertEqual(left, [])
            self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), LARGE)

    def test_a_completion_that_failed_beside_another_programs_object(self):
        rp.write_tfrecords(f"{self.url}/mine", LARGE)
        mine = self.data("mine")
        for theirs in (mine[:-1] + b"x", mine[:-1], None):
            # An object that was there before is not taken for the new one either.
            self.server.put("a", mine)

            def replace(theirs=theirs):
                if theirs is not None:
                    self.server.put("a", theirs)

            self.server.fault_of = always(is_completion, Fault(status=404, before=replace))
            with self.assertRaisesRegex(rp.Error, f"{self.url}/a: "):
                rp.write_tfrecords(f"{self.url}/a", LARGE)

    def test_a_service_that_stays_busy(self):
        self.patience(0.5)
        self.server.fault_of = always(lambda request: request.method == "PUT", BUSY)
        with self.assertRaisesRegex(rp.FileSystemError, f"{self.url}/a: .*503.*SlowDown.*later"):
            rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        self.assertEqual(self.server.keys(), [])


globals().update(in_each_store(FaultsOfWrites))

if __name__ == "__main__":
    unittest.main()
