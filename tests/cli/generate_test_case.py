"""Provides the tests of generate_cifar10_tfrecords with a test folder for the program, a small
archive, and a server that offers the archive.

Environment: RECORDPIPE_GENERATE, the program.
"""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import small_archives

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PROGRAM = os.environ["RECORDPIPE_GENERATE"]
# Shells start background commands, such as these tests, with SIGINT ignored, and the programs don't
# change that.
signal.signal(signal.SIGINT, signal.default_int_handler)
SPLITS = ["eval.tfrecords", "train.tfrecords", "validation.tfrecords"]
FILES = sorted([*SPLITS, "source.txt"])
ROWS = 20  # in each of the archive's six batches
os.environ["no_proxy"] = "*"  # the machine's proxy must not be used


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False, **options)


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class GenerateTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.data = self.root / "data"
        self.archive = self.root / "python.tar.gz"
        small_archives.write_archive(self.archive, small_archives.python_members(ROWS))

    def names(self):
        return sorted(path.name for path in self.data.iterdir())

    def contents(self):
        """Returns the contents of the TFRecord files."""
        return {path.name: path.read_bytes() for path in self.data.glob("*.tfrecords")
                if path.is_file()}

    def generate(self, *arguments, **options):
        return run("--data-dir", self.data, *arguments, **options)

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_failure(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("generate_cifar10_tfrecords: "), last)
        self.assertIn(words, last)

    def expect_same_images(self, archive=None):
        check = subprocess.run([sys.executable, HERE / "check_cifar10_tfrecords.py",
                                archive or self.archive, self.data],
                               capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stderr)
        return check.stdout


class ServedTest(GenerateTest):
    """A test with a server that has the archive."""

    NAME = "cifar.tar.gz"

    def setUp(self):
        super().setUp()
        self.served = self.root / "served"
        (self.served / "files").mkdir(parents=True)
        shutil.copy(self.archive, self.served / "files" / self.NAME)
        self.sha256 = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        server = subprocess.Popen(
            [sys.executable, SOURCE / "tests/support/http_server.py", self.served],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        self.url = f"http://127.0.0.1:{int(server.stdout.readline())}/{self.NAME}"

    def requests(self):
        return (self.served / "log").read_text(encoding="utf-8").splitlines()
