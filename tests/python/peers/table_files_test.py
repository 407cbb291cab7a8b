"""Parquet and Arrow IPC files: convert(), write_table(), write_tfrecords(), with pyarrow."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import os
import shutil
import subprocess
import sys
import textwrap
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from peers import require

require("pyarrow")

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import recordpipe as rp
from support import FilesTest
from table_files import TableFilesTest, damage, read_arrow


class Damage(TableFilesTest):
    def test_is_left_out(self):
        damage(self.source)
        table = self.folder / "t.parquet"
        with self.assertRaisesRegex(rp.DataLossError, "pass on_damage="):
            rp.convert(self.source, table)
        for on_damage in "skip_file", "resync":
            report = rp.convert(self.source, table, on_damage=on_damage)
            self.assertEqual((report.records, report.regions_skipped), (2999, 1))
            self.assertGreater(report.bytes_skipped, 0)
            self.assert_rows(pq.read_table(table), self.rows[:2999])
            expected = rp.convert(self.source, self.folder / "x", on_damage=on_damage).skipped
            self.assertEqual(expected[0].path, str(self.source))
            self.assertEqual(report.skipped, expected)
            report = rp.convert(self.source, table, on_damage=on_damage, where="id >= 0")
            self.assertEqual(report.skipped, expected)
            with ThreadPoolExecutor(2) as threads:
                for executor in None, threads:
                    found = rp.schema(self.source, on_damage=on_damage, executor=executor)
                    self.assertEqual(found.skipped, expected)

    def test_behind_the_limit_is_not_read(self):
        damage(self.source)
        table = self.folder / "t.parquet"
        for on_damage in "raise", "resync":
            report = rp.convert(self.source, table, limit=2999, on_damage=on_damage)
            self.assertEqual((report.records, report.regions_skipped), (2999, 0))
        with self.assertRaisesRegex(rp.NotFoundError, "none of the first 1 records has .*'tags'"):
            rp.convert(self.source, table, limit=1, select=["tags"])
        words = "none of the first 1 records has a feature 'tags'; there are"
        with self.assertWarnsRegex(UserWarning, words):
            rp.convert(self.source, table, limit=1, select=["id", "tags"])
        self.assertEqual(pq.read_table(table).to_pylist(), [{"id": 0}])
        rp.convert(self.source, table, limit=2999)
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
        names = ("link.tfrecord", "out-00001-of-00002", "most-00000-of-00009", "set-val.tfrecord")
        for name in names:
            (self.folder / name).symlink_to(table)
        for target, options in (
            ("link.tfrecord", {}),
            ("link.tfrecord", {"limit": 1}),
            ("link.tfrecord", {"where": "id == 1"}),
            ("out", {"shards": 2}),
            ("most", {"max_bytes": 10_000}),
            ("set.tfrecord", {"split": {"train": 0.5, "val": 0.5}}),
        ):
            with (
                self.subTest(target, **options),
                self.assertRaisesRegex(rp.InvalidArgumentError, "one of the files that are read"),
            ):
                rp.convert(table, self.folder / target, **options)
        self.assertEqual(table.read_bytes(), before)

    def test_what_is_read_is_not_replaced(self):
        link = self.folder / "link.parquet"
        os.link(self.source, link)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.convert(self.source, link, where="id == 3")


class Converting(TableFilesTest):
    def test_arguments_that_cannot_be(self):
        """Nothing is read before."""
        self.source.write_bytes(b"no records" * 100)
        table = self.folder / "t.parquet"
        for name, codecs in (
            ("x.parquet", '"snappy", "zstd", "gzip", "lz4", "brotli", "none"'),
            ("x.arrow", '"zstd", "lz4", "none"'),
        ):
            words = f"compression of .* is one of {codecs}, not 'zlib'"
            for write in (
                lambda name: rp.convert(self.source, self.folder / name, compression="zlib"),
                lambda name: rp.convert_to_dir(
                    self.source, self.folder / "out", format=name[2:], compression="zlib"
                ),
                lambda name: rp.write_table(
                    self.folder / name, rp.tfrecords(self.source).parse({}), compression="zlib"
                ),
            ):
                with self.subTest(name), self.assertRaisesRegex(ValueError, words):
                    write(name)
        pq.write_table(pa.table({"id": [1]}), self.folder / "t.parquet")
        no_folder = self.folder / "none"
        for tmp_dir, kind in (no_folder, rp.NotFoundError), (self.source, rp.FileSystemError):
            how = {"where": "id == 1", "tmp_dir": tmp_dir}
            words = "temporary files can't be made in it: N.*--tmp-dir"
            for write in (
                lambda how: rp.convert(self.source, self.folder / "x.parquet", **how),
                lambda how: rp.convert_to_dir(self.source, no_folder, format="arrow", **how),
                lambda how: rp.convert(table, self.folder / "x", **how),
            ):
                with self.assertRaisesRegex(kind, words) as caught:
                    write(how)
                self.assertEqual(caught.exception.path, str(tmp_dir))
        with self.assertRaisesRegex(ValueError, "compression is .*not 'snappy'"):
            rp.convert(table, self.folder / "x", compression="snappy", where="id == 1")
        self.assertEqual(sorted(os.listdir(self.folder)), ["rows.tfrecord", "t.parquet"])

    def test_large_integers(self):
        path = self.folder / "large.parquet"
        pq.write_table(pa.table({"n": pa.array([1, 2**63], pa.uint64())}), path)
        words = (
            r"large.parquet: column 'n', row 1: 9223372036854775808 is above 2\^63 - 1, .* "
            r"\(give the column another type first; in Python, write_tfrecords\("
        )
        with self.assertRaisesRegex(rp.UnsupportedError, words):
            rp.convert(path, self.folder / "large")

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
            (".arrow", read_arrow),
            (".feather", read_arrow),
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

    def test_files_appear_whole_or_not_at_all(self):
        path = self.folder / "rows.parquet"
        rp.convert(self.source, path)
        before = path.read_bytes()
        damaged = self.folder / "damaged.tfrecord"
        shutil.copy(self.source, damaged)
        damage(damaged)
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
        fs = self.file_system()
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
        fs = self.file_system()
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
