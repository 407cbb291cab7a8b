"""Three Ray nodes on this machine, one of which is killed in the middle of a job."""

import collections
import os
import pathlib
import threading
import time
import unittest

import ray
import recordpipe as rp
import recordpipe.ray as rpr
from ray.cluster_utils import Cluster
from ray_test_case import FolderTest, quiet

_MIB = 1 << 20


class Slow:
    """Writes a mark per attempt, waits, and converts: so that a node dies within its tasks."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, path):
        name = os.path.basename(path)
        mark = f"{self.folder}/attempts/{name}.{os.getpid()}.{time.monotonic_ns()}"
        node = ray.get_runtime_context().get_node_id()
        pathlib.Path(mark).write_text(node)
        time.sleep(1)
        rp.convert(path, f"{self.folder}/out/{name}", threads=1)
        return len(rp.tfrecords(path))


class SlowRow:
    """Leaves a mark with the node's name, and waits."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, row):
        node = ray.get_runtime_context().get_node_id()
        mark = pathlib.Path(f"{self.folder}/attempts/{int(row['id'])}.{time.monotonic_ns()}")
        mark.write_text(node)
        time.sleep(0.03)
        return row


class KilledNode(FolderTest):
    def setUp(self):
        super().setUp()
        for name in ("attempts", "out"):
            (self.folder / name).mkdir()
        # The head, on which this process is, has no CPU for tasks.
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": 100 * _MIB},
        )
        self.addCleanup(self.cluster.shutdown)
        self.nodes = [
            self.cluster.add_node(num_cpus=1, object_store_memory=100 * _MIB) for _ in range(2)
        ]
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        self.addCleanup(ray.shutdown)
        quiet()

    def kill(self, node):
        self.cluster.remove_node(node, allow_graceful=False)

    def nodes_that_worked(self):
        found = {path.read_text() for path in (self.folder / "attempts").iterdir()}
        return found - {""}  # of a mark that is being written

    def test_files(self):
        counts = list(range(1, 13))
        pattern = self.files(counts)
        with rpr.Executor() as executor:
            found = []
            for shard in rp.map_shards(
                Slow(self.folder), pattern, executor=executor, max_in_flight=6
            ):
                found.append(shard.value)
                if len(found) == 3:
                    self.kill(self.nodes[1])
        self.assertEqual(found, counts)
        self.assertEqual(len(self.nodes_that_worked()), 2)  # the killed node has worked, too
        self.assertEqual(list(rp.tfrecords(self.folder / "out")), list(rp.tfrecords(pattern)))
        self.assertEqual(len(os.listdir(self.folder / "out")), 12)

    def test_rows(self):
        pattern = self.files([40] * 8)
        out = self.folder / "written"

        def kill_the_first_that_works():
            until = time.monotonic() + 100
            while not (found := self.nodes_that_worked()) and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.5)
            for node in self.nodes:
                if node.node_id in found:
                    self.kill(node)
                    break

        killer = threading.Thread(target=kill_the_first_that_works)
        killer.start()
        slow = SlowRow(self.folder)
        rows = rpr.read_tfrecords(pattern, override_num_blocks=8).map(lambda row: slow(row))
        rpr.write_tfrecords(rows, out)
        killer.join()
        self.assertEqual(len(self.nodes_that_worked()), 2)  # the killed one, and then the other
        ids = [int(row["id"]) for row in rp.tfrecords(out).parse(rp.schema(out).features())]
        self.assertEqual(collections.Counter(ids), collections.Counter(range(320)))

    def test_global_shuffle(self):
        pattern = self.files([2000] * 8, size=2000)
        options = {"shards": 16, "seed": 7}
        expected = rpr.global_shuffle(pattern, self.folder / "whole/s", **options)
        written, killed = [], []

        def kill_after_the_first_shard():
            until = time.monotonic() + 100
            while not written and time.monotonic() < until:
                time.sleep(0.02)
                written.extend((self.folder / "killed").glob("s-*-of-*[0-9]"))
            self.kill(self.nodes[1])
            killed.append(True)

        killer = threading.Thread(target=kill_after_the_first_shard)
        killer.start()
        report = rpr.global_shuffle(pattern, self.folder / "killed/s", **options)
        killer.join()
        self.assertTrue(killed)
        self.assertIn(len(written), range(1, 16))  # in the middle
        self.assertEqual(report.records, expected.records)
        for path, whole in zip(report.paths, expected.paths, strict=True):
            self.assertEqual(pathlib.Path(path).read_bytes(), pathlib.Path(whole).read_bytes())


if __name__ == "__main__":
    unittest.main()
