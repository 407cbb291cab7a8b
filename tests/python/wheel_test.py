"""A wheel, installed: the `tfrecord` command, metadata, and the engine's own threads."""

import bz2
import importlib.metadata
import lzma
import os
import pathlib
import subprocess
import sys
import time
import unittest
import unittest.mock

import numpy
import recordpipe as rp
import records
from store_xml import AmazonServer
from support import FilesTest

TFRECORD = pathlib.Path(sys.executable).with_name("tfrecord")


def is_installed():
    try:
        return bool(importlib.metadata.version("recordpipe"))
    except importlib.metadata.PackageNotFoundError:
        return False


@unittest.skipUnless(is_installed(), "no wheel is installed")
class WheelTest(FilesTest):
    def tfrecord(self, *arguments):
        command = [TFRECORD, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder)

    def test_is_what_is_imported(self):
        package = importlib.metadata.distribution("recordpipe").locate_file("recordpipe")
        self.assertEqual(pathlib.Path(rp.__file__).parent, pathlib.Path(str(package)))

    def test_metadata(self):
        metadata = importlib.metadata.metadata("recordpipe")
        self.assertEqual(metadata["Requires-Python"], ">=3.11")
        self.assertLessEqual(
            {"arrow", "grain", "ray", "torch"}, set(metadata.get_all("Provides-Extra"))
        )
        needed = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
        self.assertEqual(needed, ["numpy>=1.26"])

    def test_tfrecord_has_the_version_of_the_package(self):
        version = importlib.metadata.version("recordpipe")
        self.assertEqual(self.tfrecord("--version").stdout, f"tfrecord {version}\n")

    def test_tfrecord_checks_files(self):
        self.examples(10, "good.tfrecord")
        self.assertEqual(self.tfrecord("verify", "good.tfrecord").returncode, 0)
        damaged = bytearray((self.folder / "good.tfrecord").read_bytes())
        damaged[100] ^= 1
        (self.folder / "bad.tfrecord").write_bytes(damaged)
        found = self.tfrecord("verify", "bad.tfrecord")
        self.assertEqual(found.returncode, 1)
        self.assertIn("bad.tfrecord", found.stdout + found.stderr)

    def test_tfrecord_reads_what_python_has_compressed(self):
        # gzip through the bundled ISA-L.
        records.write(self.folder / "plain.tfrecord", [b"record"] * 1000)
        self.assertEqual(
            self.tfrecord("convert", "plain.tfrecord", "-o", "packed.tfrecord.gz").returncode, 0
        )
        packed = str(self.folder / "packed.tfrecord.gz")
        self.assertEqual([bytes(record) for record in rp.tfrecords(packed)], [b"record"] * 1000)

    def test_tfrecord_reads_urls(self):
        server = AmazonServer("bucket")
        self.addCleanup(server.stop)
        settings = {**server.settings(), "no_proxy": "127.0.0.1"}
        with unittest.mock.patch.dict(os.environ, settings):
            rp.write_tfrecords("s3://bucket/a.tfrecord", [b"record"] * 10)
            counted = self.tfrecord("count", "s3://bucket/a.tfrecord")
        self.assertEqual((counted.stdout.split()[0], counted.stderr), ("10", ""))

    def test_tfrecord_reads_and_writes_npz(self):
        self.examples(3, "a.tfrecord")
        written = self.tfrecord("export", "a.tfrecord", "--select", "id", "-o", "a.npz")
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(numpy.load(self.folder / "a.npz")["id"].ravel().tolist(), [0, 1, 2])
        read = self.tfrecord("create", "a.npz", "-o", "b.tfrecord")
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertEqual(len(rp.tfrecords(self.folder / "b.tfrecord")), 3)

    def test_more_compressions(self):
        plain = self.examples(10, "a.tfrecord").read_bytes()
        for suffix, compress in ((".bz2", bz2.compress), (".xz", lzma.compress)):
            (self.folder / f"a.tfrecord{suffix}").write_bytes(compress(plain))
            counted = self.tfrecord("count", f"a.tfrecord{suffix}")
            self.assertEqual((counted.stdout.split()[0], counted.stderr), ("10", ""))

    def test_messages_that_the_user_describes_need_a_build_with_protobuf(self):
        refused = self.tfrecord("show", "a", "--proto", "frame.proto", "--message", "Frame")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, "built without Protocol Buffers.*libprotobuf-dev.*protoc")

    def test_threads_end_with_their_iterators(self):
        path = self.numbered(2000)
        # /proc may still list a thread that has just been joined: there may be fewer afterwards.
        threads = len(os.listdir("/proc/self/task"))
        for _ in range(50):
            iterator = iter(rp.tfrecords(str(path)).map(lambda record: len(record)).prefetch())
            next(iterator)
            del iterator
        deadline = time.monotonic() + 10
        while len(os.listdir("/proc/self/task")) > threads and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertLessEqual(len(os.listdir("/proc/self/task")), threads)


if __name__ == "__main__":
    unittest.main(verbosity=2)
