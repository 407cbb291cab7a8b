"""Folders of table files: convert_to_dir(), with pyarrow."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import os
import shutil
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from peers import require

require("pyarrow")

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import recordpipe as rp
from memory_files import Memory
from table_files import TableFilesTest, damage, read_arrow


class EachFile(TableFilesTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        rp.write_tfrecords(self.folder / "a.tfrecord", [{"id": i, "x": i / 2} for i in range(10)])
        rp.write_tfrecords(self.folder / "b.gz", [{"id": i, "y": "text"} for i in range(20)])
        self.files = [self.folder / "a.tfrecord", self.folder / "b.gz"]

    def convert(self, **options):
        return rp.convert_to_dir(self.files, self.out, **{"format": "parquet"} | options)

    def test_tables_have_the_same_columns(self):
        with ProcessPoolExecutor(2) as processes:
            report = self.convert(executor=processes)
        self.assertEqual(
            [shard.path for shard in report.shards],
            [str(self.out / name) for name in ("a.parquet", "b.parquet")],
        )
        self.assertEqual([shard.records for shard in report.shards], [10, 20])
        types = {"id": pa.int64(), "x": pa.float32(), "y": pa.large_string()}
        for shard in report.shards:
            schema = pq.read_schema(shard.path)
            self.assertEqual(dict(zip(schema.names, schema.types, strict=True)), types)
        whole = pa.dataset.dataset([shard.path for shard in report.shards]).to_table()
        self.assertEqual(whole["y"].to_pylist(), [None] * 10 + ["text"] * 20)
        self.assertTrue(rp.verify_manifest(report.manifest).intact)
        report = self.convert(format="arrow", where="id < 5", rename={"x": "half"}, drop="y")
        for shard in report.shards:
            table = read_arrow(shard.path)
            self.assertEqual((table.column_names, table.num_rows), (["id", "half"], 5))

    def test_resume(self):
        first = self.convert()
        os.remove(first.shards[1].path)
        again = self.convert(resume=True)
        self.assertEqual([shard.was_there for shard in again.shards], [True, False])
        self.assertEqual([shard.crc32c for shard in again.shards], [s.crc32c for s in first.shards])
        for options in ({"where": "id < 5"}, {"text": "never"}):
            changed = self.convert(resume=True, **options)
            self.assertEqual([shard.was_there for shard in changed.shards], [False, False])
        with self.assertRaisesRegex(rp.AlreadyExistsError, "a.parquet: exists"):
            self.convert(no_clobber=True)

    def test_damaged_files(self):
        damage(self.files[0])
        with self.assertRaises(rp.DataLossError):
            self.convert()
        report = self.convert(keep_going=True)
        self.assertEqual([failed.input for failed in report.failed], [str(self.files[0])])
        self.assertEqual([shard.records for shard in report.shards], [20])
        report = self.convert(on_damage="resync")
        self.assertEqual([shard.records for shard in report.shards], [9, 20])
        self.assertEqual([shard.regions_skipped for shard in report.shards], [1, 0])
        expected = rp.convert(self.files[0], self.folder / "x", on_damage="resync").skipped
        with ThreadPoolExecutor(2) as threads:
            for options in {}, {"where": "id >= 0"}, {"format": None}:
                report = self.convert(on_damage="resync", executor=threads, **options)
                self.assertEqual([shard.skipped for shard in report.shards], [expected, ()])
        for on_damage in "raise", "resync":
            for options in {}, {"sample": 1.0}:
                report = self.convert(limit=9, on_damage=on_damage, **options)
                self.assertEqual(
                    [(shard.records, shard.skipped) for shard in report.shards], [(9, ())] * 2
                )
                rp.convert(
                    self.files[0], self.folder / "x.pq", limit=9, on_damage=on_damage, **options
                )
        for options in {}, {"sample": 1.0}:
            with self.assertRaises(rp.DataLossError):
                self.convert(limit=10, **options)

    def test_keep_going_after_files_that_have_no_place_in_the_tables(self):
        rp.write_tfrecords(self.folder / "c", [{"id": b"text"}])
        rp.write_tfrecords(self.folder / "d", [{"id": 1}, {"id": b"text"}])
        (self.folder / "e").write_bytes(b"no records" * 100)
        rp.write_tfrecords(self.folder / "f", [{"id": 7}])
        self.files += [self.folder / name for name in "cdef"]
        report = self.convert(keep_going=True)
        self.assertEqual([shard.records for shard in report.shards], [10, 20, 1])
        self.assertEqual(
            [failed.input for failed in report.failed], [str(path) for path in self.files[2:5]]
        )
        for failed, words in zip(
            report.failed,
            ("'id' is bytes here, and int64 in .*a.tfrecord", "several types", "TFRecord file"),
            strict=True,
        ):
            self.assertRegex(str(failed.error), words)
        with self.assertRaisesRegex(rp.NotFoundError, "no record has a feature 'none'"):
            self.convert(keep_going=True, select=["none"])
        rp.write_tfrecords(self.folder / "g", [{}])
        self.files = [self.folder / "e", self.folder / "g"]
        errors = [str(failed.error) for failed in self.convert(keep_going=True).failed]
        self.assertRegex(errors[0], "e: .*TFRecord file")
        self.assertRegex(errors[1], "^.*g: none of 1 records has a feature")

    def test_from_tables(self):
        tables = self.folder / "tables"
        tables.mkdir()
        pq.write_table(pa.table({"id": range(10), "x": range(10)}), tables / "a.parquet")
        pq.write_table(pa.table({"id": range(20)}), tables / "b.PQ")
        (tables / "c.arrow").write_bytes(b"no table")
        paths = [tables / "a.parquet", tables / "b.PQ"]
        with ProcessPoolExecutor(2) as processes:
            report = rp.convert_to_dir(paths, self.out, executor=processes)
        self.assertEqual(
            [shard.path for shard in report.shards],
            [str(self.out / name) for name in ("a.tfrecord", "b.tfrecord")],
        )
        self.assertEqual([len(rp.tfrecords(shard.path)) for shard in report.shards], [10, 20])
        self.assertTrue(rp.verify_manifest(report.manifest).intact)
        again = rp.convert_to_dir(paths, self.out, resume=True)
        self.assertEqual([shard.was_there for shard in again.shards], [True, True])
        report = rp.convert_to_dir(
            tables / "*", self.out, compression="gzip", level=9, keep_going=True
        )
        self.assertEqual([failed.input for failed in report.failed], [str(tables / "c.arrow")])
        self.assertEqual(
            sorted(os.listdir(self.out)),
            ["a.tfrecord", "a.tfrecord.gz", "b.tfrecord", "b.tfrecord.gz", "manifest.jsonl"],
        )
        (tables / "c.arrow").rename(tables / "other")
        (tables / "_unfinished.parquet").write_bytes(b"")
        for folder, were_there in (tables, False), (f"{tables}/", True):
            report = rp.convert_to_dir(folder, self.out, resume=True)
            self.assertEqual([shard.was_there for shard in report.shards], [were_there] * 2)
        odd = self.folder / "{o}[dd]*"
        for below in "below", "_temporary", ".hidden":
            (odd / below).mkdir(parents=True)
            shutil.copy(paths[0], odd / below)
        report = rp.convert_to_dir(odd, self.out, recursive=True)
        self.assertEqual([shard.path for shard in report.shards], [f"{self.out}/below/a.tfrecord"])
        with self.assertRaisesRegex(rp.NotFoundError, "no record files are in this folder"):
            rp.convert_to_dir(odd, self.out)
        made = [
            [shard.crc32c for shard in rp.convert_to_dir(paths, self.out, **options).shards]
            for options in ({"compression": "gzip", "threads": threads} for threads in (0, 1, 4))
        ]
        self.assertEqual(made, made[:1] * 3)
        for options, records in (
            ({"where": "id < 5"}, [5, 5]),
            ({"where": "x < 5", "limit": 3}, [3, 0]),
            ({"select": ["x"]}, [10, 20]),
            ({"drop": "x", "limit": 3}, [3, 3]),
            ({"shuffle": True, "seed": 3}, [10, 20]),
            ({"compression": "gzip", "level": "fast"}, [10, 20]),
        ):
            with self.subTest(**options):
                report = rp.convert_to_dir(paths, self.out, **options)
                self.assertEqual([shard.records for shard in report.shards], records)
        for options in {"select": ["z"]}, {"where": "z == 1"}, {"rename": {"z": "id"}}:
            with self.assertRaisesRegex(rp.NotFoundError, "z"):
                rp.convert_to_dir(paths, self.out, **options)
        for options, words in (
            ({"on_damage": "resync"}, "on_damage is not possible from a table"),
            ({"format": "parquet"}, "the sources are tables, too"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                rp.convert_to_dir(paths, self.out, **options)
        with self.assertRaisesRegex(rp.UnsupportedError, "tables and other files"):
            rp.convert_to_dir([*paths, self.source], self.out)
        fs = self.file_system()
        rp.convert_to_dir("tables/a.parquet", "there", filesystem=fs, select=["x"])
        self.assertEqual(list(rp.tfrecords(self.folder / "there/a.tfrecord").parse())[3], {"x": 3})

    def test_columns_that_no_record_has(self):
        odd, other = self.folder / "odd.parquet", self.folder / "other.parquet"
        times = pa.array([1, 2], pa.timestamp("s"))
        nulls = pa.array([None, None], pa.int64())
        pq.write_table(pa.table({"id": [1, 2], "time": times, "null": nulls}), odd)
        pq.write_table(pa.table({"id": [3], "x": [4]}), other)
        for options, rows in (
            ({"drop": ["time", "x"]}, [{"id": 1}, {"id": 2}, {"id": 3}]),
            ({"select": ["null", "x"]}, [{}, {}, {"x": 4}]),
            ({"select": ["id"], "rename": {"id": "key"}}, [{"key": 1}, {"key": 2}, {"key": 3}]),
        ):
            for fs in None, self.file_system():
                paths = ["odd.parquet", "other.parquet"] if fs else [odd, other]
                out = "there" if fs else self.folder / "there"
                report = rp.convert_to_dir(paths, out, filesystem=fs, **options)
                made = rp.tfrecords([shard.path for shard in report.shards], filesystem=fs)
                self.assertEqual([*made], [*map(rp.encode_example, rows)])
                with self.assertRaisesRegex(rp.NotFoundError, "no table has a column 'z'; .*null"):
                    wrong = {**options, "drop": ["time", "z"]}
                    rp.convert_to_dir(paths, out, filesystem=fs, **wrong)
        (self.folder / "no.arrow").write_bytes(b"no table")
        with self.assertWarnsRegex(UserWarning, "no table has a column 'z'"):
            paths = [other, self.folder / "no.arrow"]
            rp.convert_to_dir(paths, self.out, keep_going=True, select=["z"])
        with self.assertRaises(rp.AlreadyExistsError) as raised:
            rp.convert_to_dir([other], self.out, rename={"id": "x"}, where="id > 1")
        self.assertEqual(str(raised.exception), f'{other}: two features named "x"')

    def test_errors_show_no_secrets(self):
        one, other = (f"https://me:secret@host/{name}?secret=1" for name in ("a", "b.parquet"))
        rp.write_tfrecords(self.folder / "c", [{"id": b"text"}])
        for files in (
            {one: self.files[0].read_bytes(), other: (self.folder / "c").read_bytes()},
            {one: b"", other.partition("?")[0]: b""},
        ):
            with self.assertRaises(rp.UnsupportedError) as raised:
                rp.convert_to_dir([*files], "out", format="arrow", filesystem=Memory(files))
            self.assertRegex(str(raised.exception), "https://host/[ab].* https://host/[ab]")
            self.assertNotIn("secret", f"{raised.exception} {raised.exception.path}")

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "format is"):
            self.convert(format="csv")
        with self.assertRaisesRegex(TypeError, "'?colour"):
            self.convert(colour=1)
        with self.assertRaisesRegex(ValueError, "level is not possible to a table"):
            self.convert(level=3)
        with self.assertRaisesRegex(rp.NotFoundError, "'z'"):
            self.convert(select=["z"])
        shutil.copy(self.files[0], self.folder / "a.tfrecords")
        self.files.append(self.folder / "a.tfrecords")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "the name of that of .*a.parquet"):
            self.convert()
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
