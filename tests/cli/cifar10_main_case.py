"""Provides what the tests of cifar10_main share.

Environment: RECORDPIPE_GENERATE and RECORDPIPE_CIFAR10_MAIN, the programs.
"""
import functools
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import small_archives
import started  # noqa: F401 (sets variables of OpenMP)

GENERATE = os.environ["RECORDPIPE_GENERATE"]
PROGRAM = os.environ["RECORDPIPE_CIFAR10_MAIN"]
# The recipe of airbench94_muon, as narrow as the cpu backend is fast.
AIRBENCH = ("--recipe", "airbench", "--width", "16")
# Shells start background commands, such as these tests, with SIGINT ignored, and the programs don't
# change that.
signal.signal(signal.SIGINT, signal.default_int_handler)
ROWS = 24  # in each of the six batches: 96 images to train on, 24 to evaluate
_ROOT = tempfile.TemporaryDirectory(prefix="recordpipe-")


@functools.cache
def small_data():
    """Returns a folder of TFRecord files, which is made once."""
    return small_archives.convert_in(pathlib.Path(_ROOT.name), GENERATE, ROWS)


class Cifar10MainTest(unittest.TestCase):
    def setUp(self):
        self.job = pathlib.Path(tempfile.mkdtemp(dir=_ROOT.name)) / "job"

    def arguments(self, *extra, data=None, steps=4):
        stop = [] if "--minutes" in extra else ["--train-steps", str(steps)]
        return [PROGRAM, "--data-dir", str(data or small_data()), "--job-dir", str(self.job),
                "--num-layers", "8", "--train-batch-size", "16", "--eval-batch-size", "10",
                "--log-frequency", "2", "--device", "cpu", *stop, *map(str, extra)]

    def train(self, *extra, **options):
        return subprocess.run(self.arguments(*extra, **options), capture_output=True, text=True,
                              timeout=120, check=False)

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_failure(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def checkpoints(self):
        return sorted(path.name for path in self.job.glob("*.safetensors"))

    def plan(self, step):
        """Returns the operators of the input pipeline, as a checkpoint names them, without shard():
        the share of a single process is everything."""
        content = (self.job / f"checkpoint-{step}.safetensors").read_bytes()
        text = re.search(rb"tfrecord_files(?:[ -~]+\n)+", content).group().decode()
        return [line for line in text.splitlines() if not line.startswith("shard(")]
