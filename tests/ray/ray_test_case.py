"""What the tests with Ray share: a small Ray on this machine, and files of numbered records."""

import os
import pathlib
import tempfile
import unittest

import ray
import recordpipe as rp
from ray.data import DataContext

_MIB = 1 << 20


def quiet():
    """Settings of Ray Data in this process."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self, counts, name="train", size=100):
        """Files of Examples with the ids 0, 1, ... and some bytes; returns their pattern."""
        first = 0
        for i, count in enumerate(counts):
            rp.write_tfrecords(
                self.folder / f"{name}-{i:03}.tfrecord",
                [
                    {"id": j, "data": bytes([j % 256]) * size, "x": [j + 0.5] * (j % 3)}
                    for j in range(first, first + count)
                ],
            )
            first += count
        return str(self.folder / f"{name}-*")


class RayTest(FolderTest):
    @classmethod
    def setUpClass(cls):
        ray.init(
            num_cpus=2,
            object_store_memory=200 * _MIB,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _temp_dir=os.environ.get("RAY_TMPDIR"),
        )
        cls.addClassCleanup(ray.shutdown)
        quiet()
