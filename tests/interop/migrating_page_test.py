"""Compares both columns of docs/migrating.md, with TensorFlow and tfrecord."""
import os
import pathlib
import subprocess
import sys
import unittest

TEST = pathlib.Path(__file__).resolve().parent.parent / "docs/migrating_test.py"
PACKAGE = os.environ.get("RECORDPIPE_PYTHON_PACKAGE", "")


class MigratingPage(unittest.TestCase):
    """In processes of their own: tfrecord can't be imported beside TensorFlow."""

    def setUp(self):
        if not pathlib.Path(PACKAGE, "recordpipe").exists():
            self.skipTest("the Python package is not built: run python/setup, then build again")

    def compare(self, test):
        done = subprocess.run(
            [sys.executable, "-B", "-W", "ignore", TEST, f"Migrating.{test}"], check=False,
            env=dict(os.environ, PYTHONPATH=PACKAGE, CUDA_VISIBLE_DEVICES=""),
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("skipped", done.stderr)

    def test_tf_data(self):
        self.compare("test_tf_data")

    def test_tfrecord(self):
        self.compare("test_tfrecord")
