"""recordpipe.ray.read_tfrecords and write_tfrecords, beside Ray's own."""

import functools
import os
import unittest
from unittest import mock

import pyarrow as pa
import ray
import recordpipe as rp
import recordpipe.ray as rpr
import records
from ray_test_case import RayTest
from recordpipe._ray import read as ray_read
from recordpipe.inputs import FoundFiles


class Reading(RayTest):
    def test_rows_are_those_of_rays_reader(self):
        pattern = str(self.folder / "train-*")
        for i, ids in enumerate((range(50), (), range(50, 120), range(120, 121))):
            examples = [{"id": j, "data": b"%d" % j, "x": [j + 0.5, -j]} for j in ids]
            rp.write_tfrecords(self.folder / f"train-{i}", examples)
        schema = {
            "id": rp.FixedLenFeature([], "int64"),
            "data": rp.FixedLenFeature([], "bytes"),
            "x": rp.RaggedFeature("float32"),
        }
        ours = rpr.read_tfrecords(pattern, schema=schema).take_all()
        files = [str(path) for path in self.folder.glob("train-*") if path.stat().st_size > 0]
        theirs = ray.data.read_tfrecords(files).take_all()

        def sorted_rows(rows):
            return sorted((row["id"], row["data"], list(row["x"])) for row in rows)

        self.assertEqual(len(ours), 121)
        self.assertEqual(sorted_rows(ours), sorted_rows(theirs))

    def test_lists_of_different_lengths(self):
        # Ray's reader fails: it makes a number of a list of one value.
        rows = rpr.read_tfrecords(self.files([20])).take_all()
        found = {row["id"]: list(row["x"] if row["x"] is not None else ()) for row in rows}
        self.assertEqual(found, {i: [i + 0.5] * (i % 3) for i in range(20)})

    def test_schemas(self):
        pattern = self.files([20, 5])
        for schema in (None, rp.schema(pattern), {"id": rp.FixedLenFeature([], "int64")}):
            with self.subTest(schema=schema):
                found = rpr.read_tfrecords(pattern, schema=schema)
                self.assertEqual(sorted(row["id"] for row in found.take_all()), list(range(25)))
        self.assertEqual(found.schema().names, ["id"])

    def test_missing_features_are_null(self):
        rp.write_tfrecords(self.folder / "a", [{"id": 1, "n": 2}])
        rp.write_tfrecords(self.folder / "b", [{"id": 2}])
        rows = rpr.read_tfrecords([self.folder / "a", self.folder / "b"]).take_all()
        self.assertEqual(sorted((row["id"], row["n"]) for row in rows), [(1, 2), (2, None)])

    def test_a_feature_that_only_the_second_file_has(self):
        first, second = str(self.folder / "a"), str(self.folder / "b")
        rp.write_tfrecords(first, [{"id": i} for i in range(5)])
        rp.write_tfrecords(second, [{"id": 5}, {"id": 6, "clicked": 1}])
        with self.assertRaises(Exception) as raised:
            rpr.read_tfrecords([first, second]).take_all()
        for part in (second, "'clicked'", "first 5 records", "pass read_tfrecords() a schema"):
            self.assertIn(part, str(raised.exception))
        rows = rpr.read_tfrecords([first, second], unseen="warn").take_all()
        self.assertEqual(sorted(row["id"] for row in rows), list(range(7)))
        rows = rpr.read_tfrecords([first, second], schema=rp.schema([first, second])).take_all()
        clicked = {row["id"]: row["clicked"] for row in rows}
        self.assertEqual((clicked[5], clicked[6]), (None, 1))
        task = ray_read.RecordSource(
            FoundFiles([first, second], [1, 1]),
            functools.partial(
                ray_read._read, ray_read._found([first], True, None, None, "warn"), True, "", None
            ),
        ).get_read_tasks(1)[0]
        with self.assertWarnsRegex(UserWarning, "'clicked' of 1 record, in .*/b"):
            list(task())

    def test_sequence_examples_keep_their_feature_lists(self):
        path = records.write(
            self.folder / "s", [records.sequence_example({"id": [1]}, {"f": [[1.0], [2.0]]})]
        )
        for schema in (None, rp.schema(path)):
            (row,) = rpr.read_tfrecords(path, schema=schema).take_all()
            self.assertEqual((row["id"], list(row["f"])), (1, [1.0, 2.0]))

    def test_damage_is_an_error_with_path_and_offset(self):
        self.files([100, 100])
        path = self.folder / "train-001.tfrecord"
        data = bytearray(path.read_bytes())
        data[-20] ^= 1  # in the data of the last record
        path.write_bytes(data)
        with self.assertRaisesRegex(Exception, r"train-001.tfrecord: .*CRC"):
            rpr.read_tfrecords(self.folder / "train-*").materialize()
        rows = rpr.read_tfrecords(self.folder / "train-*", check_crc=False)
        self.assertEqual(rows.count(), 200)

    def test_tasks_share_the_files(self):
        self.files([10] * 7)
        files = [str(path) for path in sorted(self.folder.glob("train-*"))]
        sizes = [os.path.getsize(path) for path in files]
        source = ray_read.RecordSource(FoundFiles(files, sizes), iter)
        for parallelism in (1, 2, 3, 7, 100):
            with self.subTest(parallelism):
                tasks = source.get_read_tasks(parallelism)
                self.assertLessEqual(len(tasks), parallelism)
                self.assertEqual(len(tasks), min(parallelism, 7))
                self.assertEqual([f for task in tasks for f in task.metadata.input_files], files)

    def test_blocks_are_bounded(self):
        def batches():
            for size in (10, 3000, 1, 500, 500):
                yield pa.record_batch({"b": pa.array([b"x" * 100] * size, pa.large_binary())})

        with mock.patch.object(ray_read, "MAX_BLOCK_BYTES", 60_000):
            blocks = list(ray_read.blocks_of(batches()))
        self.assertEqual(sum(block.num_rows for block in blocks), 4011)
        self.assertLessEqual(max(block.nbytes for block in blocks), 60_000)
        self.assertLess(len(blocks), 15)  # of about 430 kB

    def test_nothing_of_tensorflow_is_imported(self):
        def modules(_):
            import sys

            return {"found": ["tensorflow" in sys.modules]}

        found = rpr.read_tfrecords(self.files([5])).map_batches(modules).take_all()
        self.assertEqual({row["found"] for row in found}, {False})


class Writing(RayTest):
    def test_rows_come_back(self):
        rows = rpr.read_tfrecords(self.files([50, 20]))
        for compression, extension in ((None, ".tfrecord"), ("gzip", ".tfrecord.gz")):
            out = self.folder / f"out{extension}"
            paths = rpr.write_tfrecords(rows, out, compression=compression)
            self.assertEqual(sorted(os.listdir(out)), [os.path.basename(path) for path in paths])
            self.assertTrue(all(path.endswith(extension) for path in paths))
            self.assertTrue(rp.verify(out).intact)
            found = rpr.read_tfrecords(out).take_all()
            self.assertEqual(sorted(row["id"] for row in found), list(range(70)))

    def test_ray_reads_them(self):
        out = self.folder / "out"
        rpr.write_tfrecords(ray.data.range(100), out, rows_per_file=40)
        found = ray.data.read_tfrecords([str(path) for path in out.iterdir()]).take_all()
        self.assertEqual(sorted(row["id"] for row in found), list(range(100)))
        self.assertLess(len(os.listdir(out)), 4)

    def test_a_failed_job_leaves_nothing(self):
        def fail(row):
            if row["id"] == 90:
                raise ValueError("bad luck")
            return row

        with self.assertRaisesRegex(Exception, "bad luck"):
            rpr.write_tfrecords(
                ray.data.range(100, override_num_blocks=10).map(fail), self.folder / "out"
            )
        self.assertEqual(os.listdir(self.folder / "out"), [])

    def test_a_type_without_a_feature_is_refused(self):
        rows = ray.data.from_arrow(pa.table({"a": [{"b": 1}]}))
        with self.assertRaisesRegex(Exception, "column 'a'"):
            rpr.write_tfrecords(rows, self.folder / "out")
        self.assertEqual(os.listdir(self.folder / "out"), [])

    def test_objects_that_ray_has_pickled(self):
        large = ray.data.from_items([{"x": 2**63}])
        (path,) = rpr.write_tfrecords(large, self.folder / "bits", uint64_bits=True)
        self.assertEqual([row["x"] for row in rp.tfrecords(path).parse()], [-(2**63)])
        for value, why in (
            (2**63, "uint64_bits=True"),
            (10**30, "'x'"),
            (1j, "'x'"),
            (1e39, r"'x'.* 1e\+39 is out of the range of float"),
        ):
            with self.subTest(value), self.assertRaisesRegex(Exception, why):
                rpr.write_tfrecords(ray.data.from_items([{"x": value}]), self.folder / "out")
            self.assertEqual(os.listdir(self.folder / "out"), [])

    def test_files_of_an_earlier_job_are_not_mixed_with(self):
        rpr.write_tfrecords(ray.data.range(3), self.folder / "out")
        with self.assertRaisesRegex(rp.AlreadyExistsError, "part-000000"):
            rpr.write_tfrecords(ray.data.range(3), self.folder / "out")

    def test_a_task_that_runs_twice_replaces_its_file(self):
        class Context:
            task_idx = 3

        from recordpipe._ray.write import _RecordSink

        sink = _RecordSink(str(self.folder / "out"), "", {}, None)
        block = pa.table({"id": [1, 2]})
        path = sink.write([block], Context())
        self.assertEqual(sink.write([block], Context()), path)
        self.assertEqual(len(rp.tfrecords(path)), 2)
        # A file of a task whose result was not used is removed at the end.
        (self.folder / "out/part-000009.tfrecord").write_bytes(b"")
        sink.on_write_complete(mock.Mock(write_returns=[path]))
        self.assertEqual(os.listdir(self.folder / "out"), ["part-000003.tfrecord"])


if __name__ == "__main__":
    unittest.main()
