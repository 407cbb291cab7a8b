"""Parquet and Arrow IPC files: convert(), write_table(), write_tfrecords(), with pyarrow."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import os
import shutil
import subprocess
import sys
import textwrap
import unittest
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

from peers import require

require("pyarrow")

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import recordpipe as rp
from support import FilesTest


def row(i):
    """Of every third record, a feature is missing."""
    values = {"id": i, "name": f"näme {i}".encode(), "box": [i + 0.25, 0.5], "tags": [i] * (i % 3)}
    return values if i % 3 else {key: values[key] for key in values if key != "name"}


def shown(i):
    """Row i in a table."""
    name = f"näme {i}" if i % 3 else None
    return row(i) | {"name": name, "tags": [i] * (i % 3) or None}


class TableFilesTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "rows.tfrecord"
        rp.write_tfrecords(self.source, map(row, range(3000)))
        self.rows = [shown(i) for i in range(3000)]

    def assert_rows(self, table, rows):
        found = table.to_pylist()
        for one in found:
            one["tags"] = one["tags"] or None  # an empty list is no feature
        self.assertEqual(found, rows)


class Damage(TableFilesTest):
    def test_is_left_out(self):
        content = bytearray(self.source.read_bytes())
        content[-1] ^= 1
        self.source.write_bytes(content)
        table = self.folder / "t.parquet"
        with self.assertRaisesRegex(rp.DataLossError, "pass on_damage="):
            rp.convert(self.source, table)
        for on_damage in "skip_file", "resync":
            report = rp.convert(self.source, table, on_damage=on_damage)
            self.assertEqual((report.records, report.regions_skipped), (2999, 1))
            self.assertGreater(report.bytes_skipped, 0)
            self.assert_rows(pq.read_table(table), self.rows[:2999])

    def test_behind_the_limit_is_not_read(self):
        content = bytearray(self.source.read_bytes())
        content[-1] ^= 1
        self.source.write_bytes(content)
        table = self.folder / "t.parquet"
        for on_damage in "raise", "resync":
            report = rp.convert(self.source, table, limit=2999, on_damage=on_damage)
            self.assertEqual((report.records, report.regions_skipped), (2999, 0))
        with self.assertRaisesRegex(rp.NotFoundError, "none of the first 1 records has .*'tags'"):
            rp.convert(self.source, table, limit=1, select=["tags"])
        (self.folder / "bad.parquet").write_bytes(b"no table")
        both = [table, self.folder / "bad.parquet"]
        self.assertEqual(rp.convert(both, self.folder / "back", limit=2999).records, 2999)


class Replacing(TableFilesTest):
    def test_what_a_function_reads_is_not_replaced(self):
        link = self.folder / "link.parquet"
        link.symlink_to(self.source)
        before = self.source.read_bytes()
        paths = rp.from_list([str(self.source)])
        parsed = paths.interleave(rp.tfrecords, 1).parse({"id": rp.FixedLenFeature([], "int64")})
        with self.assertRaisesRegex(pa.ArrowInvalid, "would be replaced"):  # from the stream
            rp.write_table(link, parsed)
        with self.assertRaisesRegex(rp.AlreadyExistsError, "exists, and would be replaced"):
            rp.write_table(link, parsed, no_clobber=True)
        with self.assertRaisesRegex(rp.AlreadyExistsError, "exists, and would be replaced"):
            rp.convert(self.source, link, no_clobber=True)
        self.assertEqual(self.source.read_bytes(), before)
        self.assertEqual(rp.write_table(self.folder / "new.parquet", parsed, no_clobber=True), 3000)

    def test_a_table_that_is_read_is_not_replaced(self):
        table = self.folder / "rows.parquet"
        rp.convert(self.source, table)
        before = table.read_bytes()
        for name in "link.tfrecord", "out-00001-of-00002.tfrecord":
            (self.folder / name).symlink_to(table)
        for target, options in (
            ("link.tfrecord", {}),
            ("link.tfrecord", {"limit": 1}),
            ("link.tfrecord", {"where": "id == 1"}),
            ("out.tfrecord", {"shards": 2}),
        ):
            with (
                self.subTest(target, **options),
                self.assertRaisesRegex(rp.InvalidArgumentError, "one of the files that are read"),
            ):
                rp.convert(table, self.folder / target, **options)
        self.assertEqual(table.read_bytes(), before)


class Converting(TableFilesTest):
    def test_names_are_unicode(self):
        odd = "caf\udce9"
        for options in ({"rename": {"id": odd}}, {"select": odd}, {"drop": ["id", odd]}):
            with (
                self.subTest(options=options),
                self.assertRaisesRegex(ValueError, r"must be Unicode text, unlike.*udce9"),
            ):
                rp.convert(self.source, self.folder / "b.parquet", **options)

    def test_a_number_that_no_float_can_hold_is_an_error_with_its_row(self):
        path = self.folder / "wide.parquet"
        pq.write_table(pa.table({"x": [0.5] * 5 + [1e39]}), path, row_group_size=2)
        words = r"wide.parquet: column 'x', row 5: 1e\+39 is out of the range of float"
        with self.assertRaisesRegex(rp.UnsupportedError, words):
            rp.convert(path, self.folder / "wide")
        with self.assertRaisesRegex(rp.UnsupportedError, "column 'x', row 5: "):
            rp.write_tfrecords(self.folder / "wide", pq.ParquetFile(path))

    def test_no_records(self):
        (self.folder / "none").write_bytes(b"")
        for suffix in (".parquet", ".arrow", ".PARQUET"):
            path = self.folder / f"none{suffix}"
            self.assertEqual(rp.convert(self.folder / "none", path).records, 0)
            back = self.folder / "back.tfrecord"
            self.assertEqual(rp.convert(path, back).records, 0)
            self.assertEqual(back.read_bytes(), b"")
        self.assertEqual(pq.read_table(self.folder / "none.parquet").shape, (0, 0))

    def test_no_records_with_names_of_features(self):
        """Nothing is known of a feature then, as for convert() to TFRecords."""
        (self.folder / "none").write_bytes(b"")
        for source, options in (
            (self.source, {"where": "id == -1"}),
            (self.source, {"limit": 0}),
            (self.folder / "none", {}),
        ):
            for names in (
                {"select": ["id"]},
                {"drop": ["id"]},
                {"rename": {"id": "key"}},
                {"select": ["id"], "rename": {"id": "key"}},
            ):
                with self.subTest(source=source, **options, **names):
                    for target in "x.tfrecord", "x.parquet":
                        report = rp.convert(source, self.folder / target, **options, **names)
                        self.assertEqual(report.records, 0)
        report = rp.convert_to_dir(
            self.source, self.folder / "out", format="arrow", where="id == -1", select=["id"]
        )
        self.assertEqual(report.records, 0)

    def test_rows_without_columns(self):
        parsed = rp.tfrecords(self.source).parse({})
        for write in (
            lambda: parsed.write(self.folder / "x.parquet"),
            lambda: rp.write_table(self.folder / "x.arrow", parsed.batch(2)),
            parsed.to_arrow,
            lambda: pa.table(parsed.concatenate(parsed)),
        ):
            with self.assertRaisesRegex(
                rp.UnsupportedError, "parse\\(\\) has no features, .*name one"
            ):
                write()
        self.assertEqual([*self.folder.glob("x.*")], [])
        parsed.write(self.folder / "x.tfrecord")
        self.assertEqual(list(rp.tfrecords(self.folder / "x.tfrecord")), [b""] * 3000)

    def test_the_home_folder(self):
        parsed = rp.tfrecords(self.source).parse(["id"])
        with mock.patch.dict(os.environ, HOME=str(self.folder)):
            parsed.write("~/x.parquet")
            with self.assertRaises(rp.AlreadyExistsError):
                rp.write_table("~/x.parquet", parsed, no_clobber=True)
        self.assertEqual(pq.read_table(self.folder / "x.parquet").num_rows, 3000)

    def test_records_without_a_feature(self):
        rp.write_tfrecords(self.folder / "bare", [{}, {}])
        with self.assertRaisesRegex(rp.UnsupportedError, "none of 2 records has a feature"):
            rp.convert(self.folder / "bare", self.folder / "x.parquet")

    def test_to_tables_and_back(self):
        for suffix, read in (
            (".parquet", pq.read_table),
            (".pq", pq.read_table),
            (".arrow", lambda path: pa.ipc.open_file(path).read_all()),
            (".feather", lambda path: pa.ipc.open_file(path).read_all()),
        ):
            with self.subTest(suffix=suffix):
                path = self.folder / f"rows{suffix}"
                report = rp.convert(self.source, path, compression="zstd")
                self.assertEqual((report.records, report.records_read), (3000, 3000))
                self.assertEqual(report.bytes, path.stat().st_size)
                table = read(path)
                self.assert_rows(table, self.rows)
                self.assertEqual(table.schema.field("name").type, pa.large_string())
                self.assertEqual(table.schema.field("box").type, pa.list_(pa.float32(), 2))
                back = self.folder / "back.tfrecord.gz"
                self.assertEqual(rp.convert(path, back).records, 3000)
                self.assertEqual(rp.info(back).files[0].compression, "gzip")
                self.assertEqual(
                    pa.table(rp.tfrecords(back).parse(rp.schema(back).features())).num_rows, 3000
                )
                self.assertEqual(rp.convert(back, path).records, 3000)  # an older table is replaced
                self.assert_rows(read(path), self.rows)

    def test_options(self):
        path = self.folder / "some.parquet"
        rp.convert([self.source, self.source], path, select=["id", "name"], drop="name", limit=4000)
        self.assertEqual(pq.read_table(path).to_pydict(), {"id": [*range(3000), *range(1000)]})
        back = self.folder / "back"
        rp.convert(path, back, rename={"id": "key"}, limit=10)
        self.assertEqual([one["key"] for one in rp.tfrecords(back).parse()], list(range(10)))
        calls = []
        rp.convert(self.source, path, progress=lambda *call: calls.append(call))
        self.assertEqual(calls[-1], (2 * self.source.stat().st_size,) * 2)
        rp.convert(path, back, progress=lambda *call: calls.append(call))
        self.assertEqual(calls[-1], (path.stat().st_size,) * 2)
        with self.assertRaisesRegex(ValueError, "shards is not possible to a table"):
            rp.convert(self.source, path, shards=2)
        with self.assertRaisesRegex(ValueError, "check_crc is not possible from a table"):
            rp.convert(path, back, check_crc=False)
        with self.assertRaisesRegex(ValueError, "text is .auto. or .never."):
            rp.convert(self.source, path, text="always")
        with self.assertRaisesRegex(ValueError, "text is about tables"):
            rp.convert(self.source, back, text="never")
        with self.assertRaisesRegex(rp.NotFoundError, "'none'"):
            rp.convert(path, back, select="none")
        with self.assertRaisesRegex(rp.NotFoundError, "'none'"):
            rp.convert(self.source, path, drop="none")
        with self.assertRaisesRegex(rp.UnsupportedError, "tables and other files"):
            rp.convert([path, self.source], back)
        with self.assertRaisesRegex(rp.UnsupportedError, "pyarrow"):
            rp.convert(path, self.folder / "x.arrow")

    def test_features_with_one_new_name(self):
        path = self.folder / "x.parquet"
        rp.write_tfrecords(self.source, [{"a": [1, 2]}, {"b": [3]}, {"c": [4, 5]}])
        words = "'a' and 'b' would both be the column 'b'"
        for rename in {"a": "b"}, {"a": "b", "c": "d"}:
            with self.assertRaisesRegex(rp.AlreadyExistsError, words) as caught:
                rp.convert(self.source, path, rename=rename)
            self.assertEqual(caught.exception.path, str(self.source))
            with self.assertRaisesRegex(rp.AlreadyExistsError, words):
                rp.convert_to_dir(self.source, self.folder, format="parquet", rename=rename)
        rp.convert(self.source, path, rename={"a": "b"}, drop="b")
        self.assertEqual(pq.read_table(path)["b"].to_pylist(), [[1, 2], None, None])
        rp.convert(self.source, path, rename={"a": "c"})  # of the same type and shape
        self.assertEqual(pq.read_table(path)["c"].to_pylist(), [[1, 2], None, [4, 5]])

    def test_features_of_several_types_are_refused(self):
        mixed = self.folder / "mixed.tfrecord"
        rp.write_tfrecords(mixed, [{"id": 1, "x": 1}, {"id": 2, "x": b"two"}])
        path = self.folder / "mixed.parquet"
        with self.assertRaisesRegex(
            rp.UnsupportedError, r"'x' has values of several types.*drop=\["
        ):
            rp.convert(mixed, path)
        for options in ({"drop": ["x"]}, {"select": ["id"]}):
            rp.convert(mixed, path, **options)
            self.assertEqual(pq.read_table(path).to_pylist(), [{"id": 1}, {"id": 2}])

    def test_a_feature_with_the_name_of_a_mask(self):
        rp.write_tfrecords(self.source, [{"a": 1, "a_mask": 7}, {"a_mask": 9}])
        rows = [{"a": 1, "a_mask": 7}, {"a": None, "a_mask": 9}]
        path = self.folder / "mask.parquet"
        for options in ({}, {"where": "a_mask > 0"}, {"limit": 2}):
            rp.convert(self.source, path, **options)
            self.assertEqual(pq.read_table(path).to_pylist(), rows)
        rp.convert(self.source, path, rename={"a_mask": "b_mask", "a": "b"})
        self.assertEqual(pq.read_table(path)["b"].to_pylist(), [1, None])
        report = rp.convert_to_dir(self.source, self.folder / "out", format="parquet")
        self.assertEqual(pq.read_table(report.shards[0].path).to_pylist(), rows)

    def test_files_appear_whole_or_not_at_all(self):
        path = self.folder / "rows.parquet"
        rp.convert(self.source, path)
        before = path.read_bytes()
        damaged = self.folder / "damaged.tfrecord"
        data = bytearray(self.source.read_bytes())
        data[-3] ^= 1
        damaged.write_bytes(data)
        with self.assertRaises(rp.DataLossError):
            rp.convert(damaged, path)

        class Stop(Exception):
            pass

        def stop(done, total):
            if done > total // 2:
                raise Stop

        ds = rp.tfrecords(damaged).parse(rp.schema(self.source).features())
        for target in (path, self.folder / "new.arrow"):
            with self.assertRaisesRegex(Exception, "damaged.tfrecord"):
                rp.write_table(target, ds)
        with self.assertRaises(Stop):
            rp.convert(path, self.folder / "new.tfrecord", progress=stop)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["damaged.tfrecord", "rows.parquet", "rows.tfrecord"]
        )

    def test_what_is_no_table(self):
        rp.convert(self.source, self.folder / "rows.parquet", compression="none")
        cut = bytearray((self.folder / "rows.parquet").read_bytes())
        cut[4:2000] = bytes(1996)
        target = self.folder / "back.tfrecord"
        fs = pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())
        for name, content, words in (
            ("bad.parquet", b"short", "5 bytes"),
            ("bad.parquet", bytes(100), "magic bytes"),
            ("bad.parquet", cut, ""),
            ("bad.arrow", b"short", "Not an Arrow file|too small"),
        ):
            path = self.folder / name
            path.write_bytes(content)
            for options in {}, {"where": "id == 1"}:
                with self.subTest(name, content=len(content), **options):
                    with self.assertRaisesRegex(rp.DataLossError, words) as caught:
                        rp.convert(path, target, **options)
                    self.assertEqual(caught.exception.path, str(path))
                    self.assertIn(f"{path}: ", str(caught.exception))
            with self.assertRaisesRegex(rp.DataLossError, f"^{name}: .*{words}"):
                rp.convert(name, "back.tfrecord", filesystem=fs)
        self.assertFalse(target.exists())

    def test_other_file_systems(self):
        fs = pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())
        for suffix in (".parquet", ".arrow"):
            rp.convert("rows.tfrecord", f"rows{suffix}", filesystem=fs)
            report = rp.convert(f"rows{suffix}", "back", filesystem=fs)
            self.assertEqual((report.records, report.paths), (3000, ["back"]))
        self.assert_rows(pq.read_table(self.folder / "rows.parquet"), self.rows)
        self.assertEqual(rp.info(self.folder / "back").records, 3000)
        with self.assertRaisesRegex(rp.NotFoundError, "none.parquet"):
            rp.convert("none.parquet", "back", filesystem=fs)

    def test_a_dataset(self):
        path = self.folder / "shuffled.parquet"
        features = rp.schema(self.source).features()
        ds = rp.tfrecords(self.source).parse(features).shuffle(seed=7).epoch(2)
        expected = [one["id"] for one in ds]
        for dataset in (ds, ds.batch(100)):
            self.assertEqual(rp.write_table(path, dataset), 3000)
            self.assertEqual(pq.read_table(path)["id"].to_pylist(), expected)
        with self.assertRaisesRegex(rp.UnsupportedError, "parse"):
            rp.write_table(path, rp.tfrecords(self.source).batch(10))
        with self.assertRaisesRegex(rp.UnsupportedError, r"rows\.csv.*\.parquet"):
            rp.write_table(self.folder / "rows.csv", ds)


class Selecting(TableFilesTest):
    def ids(self, path, name="id"):
        return pq.read_table(path)[name].to_pylist()

    def test_to_a_table(self):
        path, records = self.folder / "some.parquet", self.folder / "some.tfrecord"
        report = rp.convert(
            self.source, path, where="id >= 10", rename={"id": "key"}, select=["id", "box"], limit=5
        )
        self.assertEqual((report.records, report.paths), (5, [str(path)]))
        table = pq.read_table(path)
        self.assertEqual(table.column_names, ["key", "box"])
        self.assertEqual(table["key"].to_pylist(), [10, 11, 12, 13, 14])
        for options in (
            {"shuffle": True, "seed": 3},
            {"sample": 0.1, "seed": 5},
            {"sample_count": 7, "where": "has(name)"},
            {"kind": "example", "limit": 3},
        ):
            with self.subTest(options):
                rp.convert(self.source, records, **options)
                rp.convert(self.source, path, **options)
                expected = [one["id"] for one in rp.tfrecords(records).parse(["id"])]
                self.assertEqual(self.ids(path), expected)
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["rows.tfrecord", "some.parquet", "some.tfrecord"]
        )
        with self.assertRaisesRegex(rp.NotFoundError, "idd"):
            rp.convert(self.source, path, where="idd == 3")
        with self.assertRaisesRegex(rp.NotFoundError, "'idd'"):
            rp.convert(self.source, path, rename={"idd": "key"})
        fs = pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())
        with self.assertRaisesRegex(ValueError, "where is not possible to a table on a filesystem"):
            rp.convert("rows.tfrecord", "x.parquet", where="id == 3", filesystem=fs)

    def test_what_is_read_is_not_replaced(self):
        link = self.folder / "link.parquet"
        os.link(self.source, link)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.convert(self.source, link, where="id == 3")

    def test_from_a_table(self):
        table = self.folder / "rows.parquet"
        rp.convert(self.source, table)
        report = rp.convert(table, self.folder / "out", where="id < 100", shards=4, shuffle=True)
        self.assertEqual([file.records for file in report.files], [25] * 4)
        found = [one["id"] for one in rp.tfrecords(report.paths).parse(["id"])]
        self.assertEqual(sorted(found), list(range(100)))
        self.assertNotEqual(found, list(range(100)))
        report = rp.convert(table, self.folder / "set", split={"train": 0.9, "val": 0.1})
        self.assertEqual([file.split for file in report.files], ["train", "val"])
        self.assertEqual(report.records, 3000)
        with self.assertRaisesRegex(rp.AlreadyExistsError, "exists"):
            rp.convert(table, self.folder / "out", shards=4, no_clobber=True)


class Text(TableFilesTest):
    def setUp(self):
        super().setUp()
        rows = [{"a": "t\u00e4xt\n", "late": b"text", "raw": bytes(4)} for _ in range(1100)]
        rows[-1]["late"] = b"\xff"
        rp.write_tfrecords(self.source, rows)

    def test_columns_of_a_file(self):
        self.assertEqual([one.text for one in rp.schema(self.source).fields.values()], [1, 0, 0])
        path = self.folder / "t.parquet"
        text, binary = pa.large_string(), pa.large_binary()
        for options, types in (({}, [text, binary, binary]), ({"text": "never"}, [binary] * 3)):
            rp.convert(self.source, path, **options)
            self.assertEqual(pq.read_table(path).schema.types, types)

    def test_columns_of_parse(self):
        """They are found in the first 1,000 records."""
        first = rp.tfrecords(self.source).take(1000)
        for dataset in (
            first.parse(),
            first.parse(["a", "raw"]),
            first.parse().select(["a", "raw"]),
        ):
            types = dict(zip(dataset.columns, dataset.to_arrow().schema.types, strict=True))
            self.assertEqual((types["a"], types["raw"]), (pa.large_string(), pa.large_binary()))
        self.assertEqual(first.parse().head(1)[0]["a"], "t\u00e4xt\n".encode())
        with self.assertRaisesRegex(Exception, "'late'.*UTF-8"):
            rp.tfrecords(self.source).parse().to_arrow()


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
        whole = pyarrow.dataset.dataset([shard.path for shard in report.shards]).to_table()
        self.assertEqual(whole["y"].to_pylist(), [None] * 10 + ["text"] * 20)
        self.assertTrue(rp.verify_manifest(report.manifest).intact)
        report = self.convert(format="arrow", where="id < 5", rename={"x": "half"}, drop="y")
        for shard in report.shards:
            table = pa.ipc.open_file(shard.path).read_all()
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
        content = bytearray(self.files[0].read_bytes())
        content[-1] ^= 1
        self.files[0].write_bytes(content)
        with self.assertRaises(rp.DataLossError):
            self.convert()
        report = self.convert(keep_going=True)
        self.assertEqual([failed.input for failed in report.failed], [str(self.files[0])])
        self.assertEqual([shard.records for shard in report.shards], [20])
        report = self.convert(on_damage="resync")
        self.assertEqual([shard.records for shard in report.shards], [9, 20])
        self.assertEqual([shard.regions_skipped for shard in report.shards], [1, 0])

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


class Reading(TableFilesTest):
    def test_a_feature_that_only_late_records_have(self):
        rp.write_tfrecords(
            self.source, ({"id": i, **({"n": 1} if i == 1000 else {})} for i in range(1002))
        )
        path = self.folder / "late.parquet"
        dataset = rp.tfrecords(self.source).parse()
        for write in (pa.table, lambda ds: rp.write_table(path, ds)):
            with self.assertRaisesRegex(Exception, "'n'.*first 1,000 records, is in the record"):
                write(dataset)
        self.assertFalse(path.exists())
        with self.assertWarnsRegex(UserWarning, "feature 'n' of 1 record, in .*rows.tfrecord at"):
            self.assertEqual(
                pa.table(rp.tfrecords(self.source).parse(unseen="warn")).num_rows, 1002
            )
        with self.assertWarnsRegex(UserWarning, "feature 'n' of 1 record"):
            rp.write_table(path, rp.tfrecords(self.source).parse(unseen="warn"))
        self.assertEqual(pq.read_table(path).to_pydict(), {"id": list(range(1002))})

    def test_write_tfrecords_takes_readers_of_pyarrow(self):
        path = self.folder / "rows.parquet"
        rp.convert(self.source, path)
        target = self.folder / "out.tfrecord"
        for table in (
            pq.ParquetFile(path),
            pa.dataset.dataset(path),
            pa.dataset.dataset(path).filter(pa.compute.field("id") >= 0),
            pa.RecordBatchReader.from_batches(
                pq.read_table(path).schema, pq.ParquetFile(path).iter_batches()
            ),
            pa.dataset.dataset(path).scanner().to_reader(),
        ):
            with self.subTest(type(table)):
                rp.write_tfrecords(target, table)
                self.assertEqual(rp.info(target).records, 3000)

    def test_a_filter_of_a_dataset_is_kept(self):
        path = self.folder / "rows.parquet"
        rp.convert(self.source, path)
        target = self.folder / "out.tfrecord"
        rp.write_tfrecords(target, pa.dataset.dataset(path).filter(pa.compute.field("id") < 7))
        self.assertEqual(rp.info(target).records, 7)


_MEMORY = """
    import os, re, sys, threading, time
    import recordpipe as rp
    import pyarrow.parquet as pq

    os.chdir({folder!r})
    rp.convert("small.tfrecord", "small.parquet")
    rp.convert("small.parquet", "small")

    def used():
        with open("/proc/self/status") as file:
            return int(re.search(r"RssAnon:\\s+(\\d+)", file.read()).group(1)) >> 10

    peak = first = used()

    def watch():
        global peak
        while True:
            peak = max(peak, used())
            time.sleep(0.005)

    threading.Thread(target=watch, daemon=True).start()
    {call}
    print(peak - first)
"""


class Memory(FilesTest):
    """300 MB of random bytes go through much less memory."""

    def test_memory_is_bounded(self):
        def rows(count):
            return ({"data": os.urandom(60_000), "id": i} for i in range(count))

        rp.write_tfrecords(self.folder / "big.tfrecord", rows(5000))
        rp.write_tfrecords(self.folder / "small.tfrecord", rows(100))
        for call in (
            'rp.convert("big.tfrecord", "big.parquet")',
            'rp.convert("big.parquet", "out")',
            'rp.write_tfrecords("out", pq.ParquetFile("big.parquet"))',
            'rp.convert("big.tfrecord", "big.arrow")',
            'rp.convert("big.arrow", "out")',
        ):
            script = textwrap.dedent(_MEMORY).format(folder=str(self.folder), call=call)
            found = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=False
            )
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertLess(int(found.stdout), 240, call)


if __name__ == "__main__":
    unittest.main()
