"""Runs the tests of the Python package that need TensorFlow or tfrecord."""
import os
import pathlib
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = os.environ.get("RECORDPIPE_PYTHON_PACKAGE", "")


class PythonPackage(unittest.TestCase):
    """In processes of their own: tfrecord can't be imported beside TensorFlow."""

    def setUp(self):
        if not pathlib.Path(PACKAGE, "recordpipe").exists():
            self.skipTest("the Python package is not built: run python/setup, then build again")

    def run_tests(self, program, *names):
        done = subprocess.run(
            [sys.executable, "-B", "-W", "ignore", TESTS / program, *names], check=False,
            env=dict(os.environ, PYTHONPATH=PACKAGE, CUDA_VISIBLE_DEVICES=""),
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "Ran [1-9]")
        self.assertNotIn("skipped", done.stderr)

    def test_data_sets_of_tfds(self):
        self.run_tests("interop/tfds_test.py", "Features", "LegacyFeatures", "Splits")

    def test_steps_of_episodes(self):
        self.run_tests("interop/steps_test.py", "Steps", "RaggedSteps")

    def test_the_octo_loader_beside_tf_data(self):
        self.run_tests("interop/octo_test.py", "Mixture")

    def test_shared_data_sets_of_tfds(self):
        shared = pathlib.Path(os.environ.get("RECORDPIPE_SHARED", TESTS.parent.parent / "shared"))
        if not (shared / "data/tfds/build_tfds").exists():
            self.skipTest(f"there is no {shared}/data/tfds/build_tfds")
        self.run_tests("interop/tfds_test.py", "SharedSets")
        self.run_tests("interop/steps_test.py", "SharedEpisodes")

    def test_migrating_from_tf_data(self):
        self.run_tests("docs/migrating_test.py", "Migrating.test_tf_data")

    def test_migrating_from_tfrecord(self):
        self.run_tests("docs/migrating_test.py", "Migrating.test_tfrecord")

    def test_the_page_of_tfds(self):
        self.run_tests("docs/tfds_test.py", "Tfds.test_table")

    def test_the_notebook_beside_tf_data(self):
        self.run_tests("python/peers/notebooks_test.py", "Notebooks.test_from_tf_data")

    def test_tensors_are_tensorflows(self):
        self.run_tests("python/peers/tensorflow_test.py", "TensorFlow")

    def test_photographs_are_tensorflows(self):
        self.run_tests("python/peers/tensorflow_photos_test.py", "Photographs")
