"""Table files: what convert() takes and leaves out, its names, types and order, with pyarrow."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import os
import unittest

from peers import require

require("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
import recordpipe as rp
from table_files import TableFilesTest


class Features(TableFilesTest):
    def test_names_are_unicode(self):
        odd = "caf\udce9"
        for options in ({"rename": {"id": odd}}, {"select": odd}, {"drop": ["id", odd]}):
            with (
                self.subTest(options=options),
                self.assertRaisesRegex(ValueError, r"must be Unicode text, unlike.*udce9"),
            ):
                rp.convert(self.source, self.folder / "b.parquet", **options)

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
        with self.assertRaisesRegex(rp.NotFoundError, f"^{path}: no column 'none'") as raised:
            rp.convert(path, back, select="none")
        self.assertNotIsInstance(raised.exception, FileNotFoundError)
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
        words = "mixed.tfrecord: feature 'x' has values of several types, .*leave it out, or select"
        for sources in mixed, [self.source, mixed]:
            with self.assertRaisesRegex(rp.UnsupportedError, words):
                rp.convert(sources, path)
        for options in ({"drop": ["x"]}, {"select": ["id"]}):
            rp.convert(mixed, path, **options)
            self.assertEqual(pq.read_table(path).to_pylist(), [{"id": 1}, {"id": 2}])

    def test_fields_that_are_no_features_are_not_lost(self):
        example = rp.encode_example({"id": 1, "x": 2})
        rp.write_tfrecords(self.source, [example, example + b"\x2a\x01x"])
        path, out = self.folder / "x.parquet", self.folder / "out"
        for options in ({}, {"where": "id == 1"}, {"select": ["id"]}, {"limit": 2}):
            lost = self.assertRaisesRegex(rp.UnsupportedError, "would lose field 5 of an Example")
            with self.subTest(options=options), lost as raised:
                rp.convert(self.source, path, kind="example", **options)
            self.assertEqual(raised.exception.path, str(self.source))
            with self.assertRaisesRegex(rp.UnsupportedError, "would lose field 5 of an Example"):
                rp.convert_to_dir(self.source, out, format="arrow", kind="example", **options)
        with self.assertRaisesRegex(rp.UnsupportedError, "1 undecided, the first an Example"):
            rp.convert(self.source, path)
        rp.convert(self.source, path, kind="example", limit=1)
        self.assertEqual(pq.read_table(path).to_pylist(), [{"id": 1, "x": 2}])

    def test_the_file_at_fault_is_named(self):
        numbers, text = self.folder / "numbers.tfrecord", self.folder / "text.tfrecord"
        rp.write_tfrecords(numbers, [{"x": 1}] * 4)
        rp.write_tfrecords(text, [{"x": b"two", "y": 1}])
        events = self.folder / "events"
        rp.write_tfrecords(events, [b"\x09" + bytes(8) + b"\x1a\x07brain.E"])
        path = self.folder / "x.parquet"
        for at_fault, words in (
            (text, "feature 'x' is bytes here, and int64 in .*numbers.tfrecord: no column holds"),
            (events, "records without features"),
        ):
            sources = [numbers, numbers, at_fault]
            for convert in (
                lambda sources, **options: rp.convert(sources, path, **options),
                lambda sources, **options: rp.convert_to_dir(
                    sources[1:], self.folder / "out", format="parquet", **options
                ),
            ):
                with self.assertRaisesRegex(rp.UnsupportedError, words) as caught:
                    convert(sources)
                self.assertEqual(caught.exception.path, str(at_fault))
            self.assertEqual(rp.convert(sources, path, limit=8).records, 8)
        rp.convert([numbers, text], path, drop="x")
        self.assertEqual(pq.read_table(path)["y"].to_pylist(), [None] * 4 + [1])

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
        fs = self.file_system()
        with self.assertRaisesRegex(ValueError, "where is not possible to a table on a filesystem"):
            rp.convert("rows.tfrecord", "x.parquet", where="id == 3", filesystem=fs)

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

    def test_columns_of_a_table_that_are_left_out_may_be_of_any_type(self):
        table, out = self.folder / "odd.parquet", self.folder / "out"
        columns = {"id": [1, 2], "x": [3, 4], "time": pa.array([5, 6], pa.timestamp("s"))}
        pq.write_table(pa.table(columns | {"hash": pa.array([7, 2**64 - 1], pa.uint64())}), table)
        for options, expected in (
            ({"drop": ["time", "hash"]}, {"id": 2, "x": 4}),
            ({"drop": ["x", "time", "hash"], "rename": {"id": "key"}}, {"key": 2}),
            ({"select": ["id"]}, {"id": 2}),
        ):
            rp.convert(table, out, where="x == 4", **options)
            self.assertEqual([*rp.tfrecords(out)], [rp.encode_example(expected)])
        for where, words in (("time > 5", "column 'time'"), ("contains(*, 'a')", "column 'time'")):
            with self.assertRaisesRegex(rp.UnsupportedError, words):
                rp.convert(table, out, where=where, drop=["time", "hash"])
        with self.assertRaisesRegex(rp.NotFoundError, "named z; there are"):
            rp.convert(table, out, where="x == 4", drop=["time", "hash", "z"])


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


if __name__ == "__main__":
    unittest.main()
