"""recordpipe.ray.Executor runs what recordpipe does with whole files."""

import functools
import unittest

import recordpipe as rp
import recordpipe.ray as rpr
from ray_test_case import RayTest


def count(path):
    return len(rp.tfrecords(path))


def count_or_fail(bad, path):
    if bad in path:
        raise rp.DataLossError("bad luck")
    return count(path)


class ExecutorTest(RayTest):
    def test_map_shards(self):
        pattern = self.files([3, 1, 4, 0, 5])
        with rpr.Executor() as executor:
            found = list(rp.map_shards(count, pattern, executor=executor))
            self.assertEqual([one.value for one in found], [3, 1, 4, 0, 5])
            failing = functools.partial(count_or_fail, "train-002")
            with self.assertRaisesRegex(rp.DataLossError, "bad luck") as caught:
                list(rp.map_shards(failing, pattern, executor=executor))
            self.assertIn("train-002", caught.exception.__notes__[0])
            kept = list(rp.map_shards(failing, pattern, executor=executor, on_error="keep_going"))
            self.assertEqual([one.value for one in kept], [3, 1, None, 0, 5])
        with self.assertRaises(RuntimeError):
            executor.submit(count, "x")

    def test_functions_on_whole_files(self):
        pattern = self.files([30, 10, 40, 0])
        with rpr.Executor() as executor:
            self.assertEqual(rp.verify(pattern, executor=executor), rp.verify(pattern))
            self.assertEqual(rp.schema(pattern, executor=executor), rp.schema(pattern))
            self.assertEqual(rp.stats(pattern, executor=executor)["id"].int64.count, 80)
            out = self.folder / "out"
            report = rp.convert_to_dir(pattern, out, executor=executor, compression="zstd")
        self.assertEqual(report.records, 80)
        self.assertEqual(list(rp.tfrecords(out)), list(rp.tfrecords(pattern)))


if __name__ == "__main__":
    unittest.main()
