"""info(), verify(), salvage(), index() and convert(): intact files and hand-made damage."""

import functools
import gzip
import os
import pathlib
import pickle
import struct
import textwrap
import unittest

import recordpipe as rp
import records
from support import FilesTest


def split_hash(value, seed):
    """The hash that the documentation of convert() gives as code, as a part of 1."""
    _, _, after = rp.convert.__doc__.partition("in the order of ``split``::\n\n")
    code = textwrap.dedent(after.partition("Neither way")[0].rpartition("\n")[0])
    names = {"value": value, "seed": seed}
    exec(code, names)
    return (names["h"] >> 11) / 2**53


class ToolkitTest(FilesTest):
    def damaged(self, path, change, name="damaged.tfrecord"):
        """A file with the bytes of another, changed by change(bytearray)."""
        data = bytearray(path.read_bytes())
        change(data)
        (self.folder / name).write_bytes(data)
        return self.folder / name

    def names(self):
        return sorted(os.listdir(self.folder))


class Info(ToolkitTest):
    def test_facts_of_files(self):
        a = self.numbered(101, "a")
        b = self.folder / "b.gz"
        b.write_bytes(gzip.compress(self.examples(3, "c").read_bytes()))
        info = rp.info([a, b])
        self.assertEqual([file.path for file in info], [str(a), str(b)])
        plain, zipped = info
        self.assertEqual((plain.records, plain.bytes), (101, a.stat().st_size))
        self.assertEqual((plain.content_bytes, plain.compression), (plain.bytes, "none"))
        self.assertEqual(plain.record_sizes, rp.RecordSizes(1, 2.0, 3))
        self.assertEqual((plain.sample.records, plain.sample.kind), (100, "unknown"))
        self.assertEqual((plain.indexed, plain.error), (False, None))
        self.assertEqual((zipped.compression, zipped.records), ("gzip", 3))
        self.assertEqual(zipped.content_bytes, (self.folder / "c").stat().st_size)
        self.assertEqual(zipped.sample, rp.schema(b))
        self.assertEqual((info.records, info.sample.kind), (104, "mixed"))
        self.assertEqual(info.bytes, plain.bytes + zipped.bytes)
        self.assertIn("104 records", repr(info))
        self.assertEqual(pickle.loads(pickle.dumps(info)), info)

    def test_an_index_is_used_and_is_no_input(self):
        path = self.numbered(10, "a")
        rp.index(path)
        info = rp.info(str(self.folder / "*"))
        self.assertEqual([(file.path, file.indexed) for file in info], [(str(path), True)])

    def test_damage_is_in_the_result(self):
        path = self.damaged(self.numbered(5, "a"), lambda data: data.__delitem__(slice(-3, None)))
        file = rp.info(path)[0]
        self.assertEqual((file.records, file.error.kind), (4, "truncated"))
        self.assertEqual((file.error.path, file.error.offset), (str(path), 4 * 17))
        self.assertIsInstance(file.error, rp.DataLossError)
        info = rp.info([path, self.numbered(5, "b")])
        self.assertEqual((info.damaged, info.unreadable), (1, 0))
        self.assertIn("2 files, 1 damaged: ", repr(info))

    def test_an_empty_file(self):
        path = records.write(self.folder / "a", [])
        info = rp.info(path)
        self.assertEqual((info.records, info.bytes, info.record_sizes), (0, 0, None))
        self.assertEqual(info.sample.records, 0)

    def test_inputs_that_are_no_files(self):
        os.mkfifo(self.folder / "fifo")
        for path, error in (
            (self.folder / "missing", rp.NotFoundError),
            (str(self.folder / "no*match"), rp.NotFoundError),
            (self.folder, rp.NotFoundError),  # no record files
            (self.folder / "fifo", rp.UnsupportedError),
            ("ftp://example.org/a", rp.UnsupportedError),
        ):
            for function in (rp.info, rp.verify, rp.schema, rp.stats, rp.index):
                with self.subTest(path=path, function=function), self.assertRaises(error):
                    function(path)
        with self.assertRaisesRegex(ValueError, "no path"):
            rp.info([])


class Verify(ToolkitTest):
    def test_intact_files(self):
        paths = [self.numbered(10, "a"), self.examples(5, "b")]
        report = rp.verify(paths)
        self.assertTrue(report.intact)
        self.assertTrue(report)
        self.assertEqual((report.records, report.bytes_lost, report.damaged), (15, 0, ()))
        self.assertEqual([file.bytes for file in report], [path.stat().st_size for path in paths])
        self.assertEqual(repr(report), "2 files: intact, 15 records")

    def test_a_flipped_byte_loses_one_record(self):
        path = self.numbered(10, "a")
        for offset, reason in ((3 * 17 + 12, "data CRC"), (3 * 17 + 1, "length CRC")):

            def flip(data, offset=offset):
                data[offset] ^= 1

            report = rp.verify([self.damaged(path, flip), path])
            self.assertFalse(report.intact)
            self.assertFalse(report)
            (file,) = report.damaged
            (region,) = file.regions
            self.assertEqual((region.begin, region.end, region.records_before), (51, 68, 3))
            self.assertEqual((region.size, file.damaged_regions), (17, 1))
            self.assertIn(reason, region.reason)
            self.assertEqual((file.records, file.bytes_lost, file.bytes), (9, 17, 170))
            head = "2 files: 1 damaged, 19 intact records, 17 bytes lost\n"
            self.assertTrue(repr(report).startswith(head) and "[51, 68)" in repr(report))

    def test_many_regions_are_counted(self):
        record, junk = records.frame(b"a"), b"\xff"
        path = self.folder / "a"
        path.write_bytes((junk + record) * 10_007)
        file = rp.verify(path)[0]
        self.assertEqual((file.records, file.damaged_regions), (10_007, 10_007))
        self.assertEqual((len(file.regions), file.bytes_lost), (10_000, 10_007))

    def test_damage_of_compressed_files(self):
        member = gzip.compress(records.frame(b"0" * 1000))
        path = self.folder / "a.gz"
        path.write_bytes(member + member[:-8] + bytes(8) + member)
        report = rp.verify(path)
        self.assertEqual(report[0].compression, "gzip")
        self.assertFalse(report.intact)
        self.assertGreaterEqual(report.records, 2)
        path.write_bytes(member[:10] + b"\7" * 9 + member[19:])
        lost = r"^1 file: 1 damaged, 0 intact records, 0 bytes lost, and \d+ compressed bytes\n"
        self.assertRegex(repr(rp.verify(path)), lost)


class Salvage(ToolkitTest):
    def test_intact_records_are_saved_in_order(self):
        def flip(data):
            data[13] ^= 1
            data[17 * 6] ^= 1

        path = self.damaged(self.numbered(10, "a"), flip)
        report = rp.salvage([path, self.numbered(2, "b", first=10)], self.folder / "c")
        expected = [str(i).encode() for i in range(12) if i not in (0, 6)]
        self.assertEqual(list(rp.tfrecords(self.folder / "c")), expected)
        self.assertEqual((report.records_written, report.records), (10, 10))
        self.assertEqual((report.target, report.intact), (str(self.folder / "c"), False))
        self.assertEqual([file.intact for file in report], [False, True])
        self.assertEqual(report.bytes_lost, 34)
        self.assertIn("wrote 10 records", repr(report))

    def test_zstd(self):
        path = self.numbered(10, "a")
        rp.salvage(path, self.folder / "c", compression="zstd")
        self.assertEqual(rp.info(self.folder / "c")[0].compression, "zstd")

    def test_nothing_is_written_over_an_input_of_another_name(self):
        path = self.folder / "a"
        path.write_bytes(b"no record at all")
        target = self.folder / "b"
        os.symlink(path, target)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.salvage(path, target)
        self.assertEqual(path.read_bytes(), b"no record at all")
        self.assertEqual(self.names(), ["a", "b"])


class Index(ToolkitTest):
    def test_an_index_is_written_beside_each_file(self):
        paths = [self.numbered(3, "a"), self.numbered(11, "b")]
        found = rp.index(paths)
        self.assertEqual(
            [(one.path, one.records) for one in found], [(str(paths[0]), 3), (str(paths[1]), 11)]
        )
        self.assertEqual((self.folder / "a.idx").read_text(), "0 17\n17 17\n34 17\n")
        self.assertEqual(rp.tfrecords(paths[1])[10], b"10")

    def test_another_name_is_for_one_file(self):
        path = self.numbered(3, "a")
        (found,) = rp.index(path, self.folder / "x")
        self.assertEqual((found.index, found.records), (str(self.folder / "x"), 3))
        with self.assertRaisesRegex(ValueError, "single file"):
            rp.index([path, path], self.folder / "x")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.index(path, path)
        other = self.numbered(2, "b.tfrecord")
        before = other.read_bytes()
        for name in (other, self.folder / "x.parquet"):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "an index would be written"):
                rp.index(path, name)
        self.assertEqual(other.read_bytes(), before)

    def test_check(self):
        paths = [self.numbered(3, name) for name in "abc"]
        rp.index(paths[:2])
        self.numbered(4, "b")
        fits, other, missing = rp.index(paths, check=True)
        self.assertTrue(fits.matches)
        self.assertEqual((fits.records, fits.error), (3, None))
        self.assertFalse(other.matches)
        self.assertEqual((other.records, other.error.kind), (None, "checksum_mismatch"))
        self.assertIsInstance(missing.error, FileNotFoundError)
        self.assertEqual(missing.error.path, str(paths[2]) + ".idx")

    def test_damaged_and_compressed_files_get_no_index(self):
        def flip(data):
            data[30] ^= 1

        path = self.damaged(self.numbered(3, "a"), flip)
        with self.assertRaises(rp.DataLossError) as raised:
            rp.index(path)
        self.assertEqual(raised.exception.offset, 17)
        rp.convert(self.folder / "a", self.folder / "a.gz")
        with self.assertRaises(rp.UnsupportedError):
            rp.index(self.folder / "a.gz")
        self.assertEqual(self.names(), ["a", "a.gz", "damaged.tfrecord"])


class Convert(ToolkitTest):
    def values(self, report):
        return [record for path in report.paths for record in rp.tfrecords(path)]

    def test_merging_and_compression(self):
        paths = [self.numbered(5, "a"), self.numbered(5, "b", first=5)]
        size = sum(path.stat().st_size for path in paths)
        report = rp.convert(paths, self.folder / "all")
        self.assertEqual(report.files, (rp.WrittenFile(str(self.folder / "all"), 10, size),))
        self.assertEqual((report.records, report.records_read, report.bytes), (10, 10, size))
        for compression, level in (("gzip", 9), ("gzip", "fast"), ("zlib", 0), ("zstd", 19)):
            path = self.folder / f"all.{compression}"
            rp.convert(paths, path, compression=compression, level=level)
            read = rp.tfrecords(path, compression=compression)
            self.assertEqual(list(read), [str(i).encode() for i in range(10)])

    def test_shards_and_shuffling(self):
        path = self.numbered(100, "a")
        report = rp.convert(path, self.folder / "t", shards=3)
        names = [f"t-{i:05}-of-00003" for i in range(3)]
        self.assertEqual(report.paths, [str(self.folder / name) for name in names])
        shuffled = [
            self.values(
                rp.convert(path, self.folder / "s", shuffle=True, seed=seed, threads=threads)
            )
            for seed, threads in ((7, 1), (7, 2), (8, 0))
        ]
        self.assertEqual(shuffled[0], shuffled[1])
        self.assertNotEqual(shuffled[0], shuffled[2])
        self.assertEqual(sorted(shuffled[2]), sorted(self.values(report)))

    def test_splits(self):
        path = self.examples(200, "a")
        split = {"train": 0.75, "val": 0.25}
        report = rp.convert(path, self.folder / "s.tfrecord", split=split)
        self.assertEqual(
            [(file.split, file.path) for file in report.files],
            [(name, str(self.folder / f"s-{name}.tfrecord")) for name in ("train", "val")],
        )
        self.assertEqual(report.records, 200)
        self.assertTrue(120 < report.files[0].records < 180, report.files)
        again = rp.convert(path, self.folder / "t", split=split, shards=2, threads=1)
        self.assertEqual(len(again.files), 4)
        self.assertEqual(self.values(again), self.values(report))
        # By the documented hash of a feature.
        by_id = rp.convert(path, self.folder / "u", split=split, split_by="id", seed=3)
        ids = {"train": [], "val": []}
        for i in range(200):
            ids["train" if split_hash(struct.pack("<q", i), 3) < 0.75 else "val"].append(i)
        for file in by_id.files:
            dataset = rp.tfrecords(file.path).parse({"id": rp.FixedLenFeature([], "int64")})
            self.assertEqual([int(record["id"]) for record in dataset], ids[file.split])
        with self.assertRaisesRegex(ValueError, "split_by"):
            rp.convert(path, self.folder / "v", split_by="id")

    def test_dry_run(self):
        path = self.numbered(10, "a")
        rp.convert(path, self.folder / "b.gz")
        report = rp.convert([path, self.folder / "b.gz"], self.folder / "s", shards=2, dry_run=True)
        size = sum((self.folder / name).stat().st_size for name in ("a", "b.gz"))
        twice = (str(self.folder / "b.gz"),)
        outputs = tuple(str(self.folder / f"s-0000{i}-of-00002") for i in range(2))
        self.assertEqual(report.plan, rp.ConvertPlan(2, size, None, twice, outputs))
        self.assertEqual((report.files, report.records), ((), 0))

    def test_damage_is_an_error_or_skipped(self):
        def flip(data):
            data[30] ^= 1

        path = self.damaged(self.numbered(5, "a"), flip)
        target = self.folder / "b"
        target.write_bytes(b"older")
        with self.assertRaises(rp.DataLossError) as raised:
            rp.convert(path, target)
        self.assertEqual((raised.exception.path, raised.exception.offset), (str(path), 17))
        self.assertEqual(target.read_bytes(), b"older")
        report = rp.convert(path, target, on_damage="resync", shards=2)
        self.assertEqual(self.values(report), [b"0", b"2", b"3", b"4"])
        self.assertEqual((report.regions_skipped, report.bytes_skipped), (1, 17))
        (region,) = report.skipped
        self.assertEqual((region.path, region.begin, region.end), (str(path), 17, 34))

    def test_a_source_is_replaced_only_by_all_of_its_records(self):
        path = self.numbered(5, "a")
        before = path.read_bytes()
        os.link(path, self.folder / "link")
        shard = self.folder / "t-00000-of-00001"
        os.link(path, shard)
        for source, target, options in (
            (path, self.folder / "link", {"limit": 3}),
            (shard, self.folder / "t", {"shards": 1, "sample": 0.5}),
            (shard, self.folder / "t", {"max_bytes": 1000, "on_damage": "resync"}),
        ):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
                rp.convert(source, target, **options)
        self.assertEqual(path.read_bytes(), before)
        rp.convert(path, path, compression="gzip")
        self.assertEqual(gzip.decompress(path.read_bytes()), before)

    def test_one_of_several_sources_is_not_replaced_by_the_records_of_all(self):
        a, b = self.numbered(5, "a"), self.numbered(3, "b")
        before = a.read_bytes()
        os.link(a, self.folder / "link")
        for sources in ([a, b], [b, self.folder / "link"], [a, a]):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
                rp.convert(sources, a)
        self.assertEqual(a.read_bytes(), before)

    def test_the_name_of_another_format(self):
        path = self.numbered(5, "a")
        for name, words in (
            ("x.csv", "tfrecord export writes CSV"),
            ("x.npz", "tfrecord export writes NumPy arrays"),
            ("x.JSONL.gz", "tfrecord export writes JSON lines"),
            ("x.bz2", "NAME.gz, .zlib and .zst"),
            ("x.Z", "NAME.gz, .zlib and .zst"),
            ("x.safetensors", "give the TFRecords another name"),
        ):
            for write in (
                functools.partial(rp.convert, path),
                functools.partial(rp.convert, path, shards=2),
                functools.partial(rp.salvage, path),
                lambda target: rp.write_tfrecords(target, [{"x": 1}]),
            ):
                with self.assertRaisesRegex(rp.InvalidArgumentError, words):
                    write(self.folder / name)
        for write in (rp.Writer, functools.partial(rp.salvage, path)):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "tfrecord export writes"):
                write(self.folder / "x.parquet")
        self.assertEqual(self.names(), ["a"])

    def test_arguments(self):
        path = self.numbered(5, "a")
        with self.assertRaises(TypeError):
            rp.convert(path, self.folder / "b", limit=2.5)
        odd = "caf\udce9"
        for options in (
            {"rename": {"a": odd}},
            {"rename": {odd: "a"}},
            {"select": odd},
            {"drop": ["a", odd]},
            {"where": f"{odd} == 1"},
            {"resize": 8, "images": odd},
            {"split": {"a": 1}, "split_by": odd},
        ):
            with (
                self.subTest(options=options),
                self.assertRaisesRegex(ValueError, r"must be Unicode text, unlike.*udce9"),
            ):
                rp.convert(path, self.folder / "b", **options)
        for looks, options in (
            (rp.stats, {"features": odd}),
            (rp.stats, {"where": odd}),
            (rp.schema, {"where": odd}),
        ):
            with self.assertRaisesRegex(ValueError, r"must be Unicode text, unlike.*udce9"):
                looks(path, **options)
        with self.assertRaisesRegex(TypeError, "name of a feature must be a string, not b'z'"):
            rp.convert(path, self.folder / "b", rename={"a": b"z"})
        self.assertEqual(self.names(), ["a"])


class Paths(ToolkitTest):
    def test_names_with_pattern_characters_and_any_bytes(self):
        odd = os.fsencode(self.folder) + b"/[a]\xff*.tfrecord"
        pathlib.Path(os.fsdecode(odd)).write_bytes(records.frame(b"x"))
        self.assertEqual(rp.info(os.fsdecode(odd))[0].path, os.fsdecode(odd))
        self.assertEqual(rp.index(os.fsdecode(odd))[0].records, 1)


if __name__ == "__main__":
    unittest.main()
