"""What is read of many files by tasks equals what is read at once."""

import concurrent.futures
import dataclasses
import math
import unittest

import recordpipe as rp
import records
from recordpipe.filesystem_adapters import files_on
from shard_files import ShardsTest, processes


class Merged(ShardsTest):
    """What is read by tasks equals what is read at once."""

    def setUp(self):
        super().setUp()
        self.executor = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(self.executor.shutdown)

    def test_verify(self):
        pattern = self.shards()
        path = self.folder / "train-002.tfrecord"
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)
        seen = []
        report = rp.verify(
            pattern, executor=self.executor, progress=lambda done, total: seen.append((done, total))
        )
        self.assertEqual(report, rp.verify(pattern))
        self.assertFalse(report.intact)
        self.assertEqual(seen[-1][0], seen[-1][1])

    def test_index(self):
        pattern = self.shards()
        alone = rp.index(pattern)
        texts = [(self.folder / f"train-{i:03}.tfrecord.idx").read_text() for i in range(5)]
        for i in range(5):
            (self.folder / f"train-{i:03}.tfrecord.idx").unlink()
        self.assertEqual(rp.index(pattern, executor=self.executor), alone)
        self.assertEqual(
            [(self.folder / f"train-{i:03}.tfrecord.idx").read_text() for i in range(5)], texts
        )
        (self.folder / "train-003.tfrecord.idx").write_text("")
        checked = rp.index(pattern, check=True, executor=self.executor)
        self.assertEqual([one.matches for one in checked], [True, True, True, False, True])

    def test_schema(self):
        pattern = self.shards()
        with_others = [records.example({"id": [0.5], "other": [b"x"]})]
        records.write(self.folder / "train-9.tfrecord", with_others)
        found = rp.schema(pattern, executor=self.executor)
        self.assertEqual(found, rp.schema(pattern))
        self.assertEqual(found.fields["id"].kind, "mixed")

    def test_records_of_no_known_kind_are_counted(self):
        pattern = self.shards()
        records.write(self.folder / "train-9.tfrecord", [b"foo", b"bar"])
        for function in (rp.schema, rp.stats):
            for executor in (None, self.executor):
                with self.assertWarnsRegex(UserWarning, "2 records are of no known kind"):
                    function(pattern, where="has(id)", executor=executor)

    def assert_same_stats(self, ours, theirs):
        def compare(a, b, name):
            if dataclasses.is_dataclass(a):
                for field in dataclasses.fields(a):
                    compare(getattr(a, field.name), getattr(b, field.name), f"{name}.{field.name}")
            elif isinstance(a, dict):
                self.assertEqual(a.keys(), b.keys(), name)
                for key in a:
                    compare(a[key], b[key], f"{name}[{key}]")
            elif name.endswith((".mean", ".sd")) and a is not None:
                self.assertTrue(math.isclose(a, b, rel_tol=1e-12), name)
            else:
                self.assertEqual(a, b, name)

        compare(ours, theirs, "stats")

    def test_stats(self):
        pattern = self.shards([300, 0, 5, 2000, 7])
        special = {"id": [2**62], "box": [math.nan, math.inf, -0.0], "name": [b"long" * 20, b""]}
        records.write(self.folder / "train-9.tfrecord", [records.example(special)])
        lists = {"steps": [[1], [2, 3], []]}
        records.write(self.folder / "train-a", [records.sequence_example({"id": [1]}, lists)])
        alone = rp.stats(pattern)
        self.assert_same_stats(rp.stats(pattern, executor=self.executor), alone)
        self.assertEqual(alone["id"].int64.count, 2314)
        with processes() as executor:
            self.assert_same_stats(rp.stats(pattern, executor=executor), alone)

    def test_stats_of_many_different_values(self):
        # More than are counted exactly, in one file and in all.
        for i in range(4):
            values = [records.example({"n": [i * 3000 + j]}) for j in range(3000)]
            records.write(self.folder / f"many-{i}", values)
        pattern = str(self.folder / "many-*")
        found = rp.stats(pattern, executor=self.executor)["n"].int64
        alone = rp.stats(pattern)["n"].int64
        self.assertEqual(found.quantiles, alone.quantiles)
        self.assertEqual(found.histogram, alone.histogram)
        self.assertEqual((found.min, found.max, found.count), (0, 11999, 12000))
        self.assertFalse(found.distinct_is_exact)

    def test_stats_do_not_depend_on_the_executor(self):
        pattern = self.shards([100, 50, 3, 999])
        with concurrent.futures.ThreadPoolExecutor(1) as one:
            expected = rp.stats(pattern, executor=one)
        self.assertEqual(rp.stats(pattern, executor=self.executor), expected)

    def test_damage_that_is_skipped(self):
        pattern = self.shards()
        for number in (2, 4):
            path = self.folder / f"train-{number:03}.tfrecord"
            data = bytearray(path.read_bytes())
            data[20] ^= 1
            path.write_bytes(data)
        for function in (rp.schema, rp.stats):
            with self.assertRaises(rp.DataLossError):
                function(pattern, executor=self.executor)
            ours = function(pattern, on_damage="resync", executor=self.executor)
            theirs = function(pattern, on_damage="resync")
            for one in (ours, theirs):
                self.assertEqual(one.regions_skipped, 2)
                self.assertGreater(one.bytes_skipped, 2 * 16)
            self.assertEqual(ours.records, theirs.records)
        with self.assertRaisesRegex(ValueError, "contradict each other"):
            rp.schema(pattern, on_damage="resync", check_crc=False)

    def test_where(self):
        pattern = self.shards()
        # "other" is in one file only, which is no error; "none" in no file.
        records.write(self.folder / "train-9", [records.example({"id": [1], "other": [1]})])
        where = "other == 1 or id < 12"
        ours = rp.stats(pattern, where=where, executor=self.executor)
        self.assert_same_stats(ours, rp.stats(pattern, where=where))
        self.assertEqual(ours.records, 4)
        self.assertEqual(rp.schema(pattern, where=where, executor=self.executor).records, 4)
        for function in (rp.stats, rp.schema):
            with self.assertRaises(rp.NotFoundError) as alone:
                function(pattern, where="none == 1")
            with self.assertRaises(rp.NotFoundError) as caught:
                function(pattern, where="none == 1", executor=self.executor)
            self.assertEqual(str(caught.exception), str(alone.exception))
            with self.assertRaises(rp.InvalidArgumentError):
                function(pattern, where="id ==", executor=self.executor)

    def test_names_of_features(self):
        pattern = self.shards()
        records.write(self.folder / "train-9", [records.example({"id": [1], "other": [1]})])
        found = rp.stats(pattern, ["other", "id"], executor=self.executor)
        self.assertEqual(set(found.features), {"id", "other"})
        with self.assertRaisesRegex(rp.NotFoundError, "feature named nme; there are name"):
            rp.stats(pattern, "nme", executor=self.executor)

    def test_a_limit_is_refused(self):
        for function in (rp.stats, rp.schema):
            with self.assertRaisesRegex(ValueError, "limit"):
                function(self.shards(), limit=3, executor=self.executor)

    def test_damage_names_the_file(self):
        pattern = self.shards()
        (self.folder / "train-002.tfrecord").write_bytes(b"damage" * 10)
        with self.assertRaises(rp.DataLossError) as caught:
            rp.stats(pattern, executor=self.executor)
        self.assertTrue(caught.exception.path.endswith("train-002.tfrecord"))

    def test_a_damaged_state_is_refused(self):
        path = self.examples(20)
        files = files_on(None)
        state = rp._native.statistics_part(
            files, str(path), [], ("", True, 2**30, "", "raise"), None, 1, None
        )
        rp._native.StatisticsMerge([], None).add(state)
        for end in range(len(state)):
            with self.assertRaises(rp.DataLossError):
                rp._native.StatisticsMerge([], None).add(state[:end])
        with self.assertRaises(rp.DataLossError):
            rp._native.StatisticsMerge([], None).add(state + b"x")


if __name__ == "__main__":
    unittest.main()
