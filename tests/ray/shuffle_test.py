"""recordpipe.ray.global_shuffle: every record once, the same bytes however it is computed."""

import collections
import itertools
import unittest

import recordpipe as rp
import recordpipe.ray as rpr
from ray.data import DataContext
from ray_test_case import RayTest


def contents(paths):
    return [open(path, "rb").read() for path in paths]


class Shuffle(RayTest):
    def shuffled(self, pattern, name, **options):
        options = {"shards": 5, "seed": 7, **options}
        return rpr.global_shuffle(pattern, self.folder / name / "s.tfrecord", **options)

    def test_every_record_once_in_another_order(self):
        pattern = self.files([300, 0, 500, 200])
        report = self.shuffled(pattern, "a")
        self.assertEqual(sum(report.records), 1000)
        self.assertGreater(min(report.records), 100)
        before = list(rp.tfrecords(pattern))
        after = list(rp.tfrecords(report.paths))
        self.assertEqual(collections.Counter(before), collections.Counter(after))
        self.assertNotEqual(before, after)
        self.assertEqual([len(rp.tfrecords(path)) for path in report.paths], [*report.records])
        # Neighbours come from all over.
        ids = [row["id"] for row in rp.tfrecords(report.paths).parse(rp.schema(pattern).features())]
        far = sum(abs(int(a) - int(b)) > 100 for a, b in itertools.pairwise(ids))
        self.assertGreater(far, 600)

    def test_bytes_do_not_depend_on_tasks_and_partitions(self):
        pattern = self.files([100, 300, 50])
        expected = contents(self.shuffled(pattern, "a").paths)
        self.assertEqual(contents(self.shuffled(pattern, "b", partitions=2).paths), expected)
        context = DataContext.get_current()
        blocks, context.read_op_min_num_blocks = context.read_op_min_num_blocks, 1
        try:
            self.assertEqual(contents(self.shuffled(pattern, "c").paths), expected)
        finally:
            context.read_op_min_num_blocks = blocks
        self.assertNotEqual(contents(self.shuffled(pattern, "d", seed=8).paths), expected)

    def test_shards_without_records_are_files_too(self):
        report = self.shuffled(self.files([2]), "a", shards=9)
        self.assertEqual(len(report.paths), 9)
        self.assertTrue(rp.verify(report.paths).intact)
        self.assertEqual(sum(report.records), 2)

    def test_an_input_is_not_replaced(self):
        paths = self.shuffled(self.files([20]), "a").paths
        before = contents(paths)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            self.shuffled([*paths], "a", seed=8)
        self.assertEqual(contents(paths), before)

    def test_compression(self):
        report = self.shuffled(self.files([100]), "a", shards=2, compression="zstd")
        self.assertEqual(len(list(rp.tfrecords(report.paths, compression="zstd"))), 100)


if __name__ == "__main__":
    unittest.main()
