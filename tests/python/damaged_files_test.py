"""on_damage: what is left of damaged files, beside a reader in plain Python."""

import gzip
import itertools
import pickle
import random
import struct
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor

import recordpipe as rp
import records
from arrow_c import Stream
from support import FilesTest, framed_example

LEAVES_OUT = "skip_file", "resync"
SKIPPED = "damaged_files", "regions_skipped", "bytes_skipped"


def intact_size(content, at):
    """The size of the record at an offset; None if it isn't complete; negative: only its data."""
    (length,) = struct.unpack_from("<Q", content.ljust(at + 8, b"\1"), at)
    end = at + 16 + length
    if end > len(content) or content[at : at + 12] != records.header(length):
        return None
    data = content[at + 12 : end - 4]
    is_intact = content[end - 4 : end] == struct.pack("<I", records.masked_crc(data))
    return end - at if is_intact else at - end


def read_naively(content, on_damage):
    """Returns the records, and the numbers of regions and bytes that are left out."""
    kept, regions, lost, at, begin = [], 0, 0, 0, None
    while at < len(content):
        size = intact_size(content, at)
        if size is not None and size > 0:
            if begin is not None:
                regions, lost, begin = regions + 1, lost + at - begin, None
            kept.append(content[at + 12 : at + size - 4])
            at += size
            continue
        begin = at if begin is None else begin
        if on_damage == "resync":
            at += 1
        else:
            at = len(content) if size is None else at - size
    return kept, regions + (begin is not None), lost + (0 if begin is None else at - begin)


def damaged(rng, content):
    """One or two changes."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(content))
        match rng.randrange(4):
            case 0 | 1:
                content[at] ^= 1 << rng.randrange(8)
            case 2:
                del content[at : at + rng.randrange(1, 40)]
            case 3:
                content[at:at] = rng.randbytes(rng.randrange(1, 40))
        if not content:
            break
    return bytes(content)


class DamagedFiles(FilesTest):
    def framed(self, file, count=6):
        return b"".join(records.frame(b"%d.%d" % (file, i) * (i + 1)) for i in range(count))

    def written(self, name, content, compress=bytes):
        path = self.folder / name
        path.write_bytes(compress(content))
        return path

    def read(self, dataset):
        iterator = iter(dataset)
        kept = list(iterator)
        stats = iterator.stats()
        return kept, *(stats[name] for name in SKIPPED)

    def expected(self, contents, on_damage):
        found = [read_naively(content, on_damage) for content in contents]
        return (
            list(itertools.chain.from_iterable(kept for kept, *_ in found)),
            sum(regions > 0 for _, regions, _ in found),
            sum(regions for _, regions, _ in found),
            sum(lost for *_, lost in found),
        )

    def test_damage_at_each_place(self):
        """In the first, a middle and the last record of the first, a middle and the last file."""
        intact = self.framed(1)
        ends = list(itertools.accumulate(len(records.frame(b"1.0" * (i + 1))) for i in range(6)))
        kinds = []
        for record in 0, 2, 5:
            begin = ends[record - 1] if record else 0
            for at in begin, begin + 9, begin + 13, ends[record] - 1:
                kinds.append(intact[:at] + bytes([intact[at] ^ 1]) + intact[at + 1 :])
            kinds += [intact[: begin + 5], intact[: begin + 14], intact[:begin] + b"x" + intact]
        for (number, content), place, compress in itertools.product(
            enumerate(kinds), range(3), (bytes, gzip.compress, zlib.compress)
        ):
            contents = [self.framed(0), self.framed(2)]
            contents.insert(place, content)
            paths = [self.written(str(i), one, compress) for i, one in enumerate(contents)]
            for on_damage in LEAVES_OUT:
                dataset = rp.tfrecords(paths, on_damage=on_damage)
                for threads in 1, 4, 0:
                    with self.subTest(number=number, place=place, on_damage=on_damage):
                        self.assertEqual(
                            self.read(dataset.with_options(threads=threads)),
                            self.expected(contents, on_damage),
                        )

    def test_random_damage(self):
        rng = random.Random(7)
        for _ in range(30):
            contents = [damaged(rng, self.framed(i)) for i in range(3)]
            paths = [
                self.written(str(i), one, rng.choice((bytes, gzip.compress)))
                for i, one in enumerate(contents)
            ]
            for on_damage in LEAVES_OUT:
                expected = self.expected(contents, on_damage)
                dataset = rp.tfrecords(paths, on_damage=on_damage)
                self.assertEqual(self.read(pickle.loads(pickle.dumps(dataset))), expected)
                kept, *_ = expected
                mixed = self.read(rp.tfrecords(paths, on_damage=on_damage, cycle_length=2))
                self.assertEqual((sorted(mixed[0]), *mixed[1:]), (sorted(kept), *expected[1:]))
                self.assertEqual(self.read(dataset.shard(2, 1)), (kept[1::2], *expected[1:]))
                self.assertEqual(self.read(dataset.skip(3)), (kept[3:], *expected[1:]))
                for count in range(len(kept) + 1):
                    iterator, restored = iter(dataset), iter(dataset)
                    for _ in range(count):
                        next(iterator)
                    restored.load_state_dict(iterator.state_dict())
                    self.assertEqual(list(restored), kept[count:])

    def test_states_are_of_one_way(self):
        path = self.numbered(10)
        for cycle_length in 1, 2:
            modes = ("raise", *LEAVES_OUT)
            passes = [
                iter(rp.tfrecords(path, on_damage=on_damage, cycle_length=cycle_length))
                for on_damage in modes
            ]
            for one, other in itertools.permutations(passes, 2):
                with self.assertRaisesRegex(rp.InvalidArgumentError, "on_damage"):
                    one.load_state_dict(other.state_dict())

    def test_explain_names_it(self):
        dataset = rp.tfrecords(self.numbered(1), on_damage="resync")
        self.assertIn(", on_damage='resync')", dataset.explain())

    def test_cut_zstd_and_parts_of_gzip(self):
        path = self.folder / "a.zst"
        with rp.Writer(path) as writer:
            for i in range(5):
                writer.write(b"%d" % i)
        path.write_bytes(path.read_bytes()[:-3])
        last = self.written("last", self.framed(1))
        for on_damage in LEAVES_OUT:
            kept, files, *_ = self.read(rp.tfrecords([path, last], on_damage=on_damage))
            self.assertEqual((kept[-6:], files), (read_naively(self.framed(1), "resync")[0], 1))
        first, middle, third = (gzip.compress(self.framed(i)) for i in range(3))
        parts = self.written("parts", first + b"\0" + middle[1:] + third)
        for on_damage, files in ("skip_file", [0]), ("resync", [0, 2]):
            expected = self.expected([self.framed(i) for i in files], "resync")[0]
            iterator = iter(rp.tfrecords(parts, on_damage=on_damage))
            self.assertEqual(list(iterator), expected)
            self.assertEqual(iterator.stats()["damaged_files"], 1)

    def test_each_source_counts_what_it_leaves_out(self):
        intact = self.framed(0)
        path = self.written("a", intact[:40] + b"x" + intact[41:])
        for on_damage in LEAVES_OUT:
            ds = rp.tfrecords(path, on_damage=on_damage)
            _, files, regions, lost = self.read(ds)
            self.assertEqual((files, regions), (1, 1))
            for both in (
                ds.concatenate(ds),
                rp.zip(ds, ds),
                rp.sample_from_datasets([ds, ds]),
                rp.tfrecords([path, path], on_damage=on_damage),
            ):
                for again in both, both.repeat(2):
                    self.assertEqual(self.read(again)[1:], (1, 2, 2 * lost))
            opened = rp.from_list([path, path]).interleave(lambda _, ds=ds: ds, 2)
            self.assertEqual(self.read(opened.repeat(2))[1:], (1, 1, lost))

    def test_errors_name_the_argument(self):
        way_out = 'pass on_damage="skip_file" or "resync" to go on'
        intact = self.framed(0)
        for content in intact[:-1], intact[:13] + b"x" + intact[14:], b"x" + intact[1:]:
            for compress in bytes, gzip.compress:
                path = self.written("a", content, compress)
                for cycle_length in 1, 2:
                    with self.assertRaisesRegex(rp.DataLossError, way_out) as raised:
                        list(rp.tfrecords(path, cycle_length=cycle_length))
                    self.assertIn(way_out, raised.exception.hint)
        for content, hint in (
            (b"PAR1" * 9, "this is a Parquet file: tfrecord create makes records of it"),
            (b"text" * 9, f"this is probably not a TFRecord file; if it is one, {way_out}"),
        ):
            for cycle_length in 1, 2:
                with self.assertRaises(rp.DataLossError) as raised:
                    list(rp.tfrecords(self.written("a", content), cycle_length=cycle_length))
                self.assertEqual(raised.exception.hint, hint)
        for content in intact[:-1], intact[:13] + b"x" + intact[14:], gzip.compress(intact)[:-9]:
            path = self.written("a", content)
            for function, options in (
                (rp.schema, {}),
                (rp.schema, {"executor": ThreadPoolExecutor(1)}),
                (rp.stats, {}),
                (rp.convert, {"target": self.folder / "b"}),
                (rp.convert, {"target": self.folder / "b", "shards": 2}),
                (rp.convert_to_dir, {"folder": self.folder / "c"}),
            ):
                with self.assertRaisesRegex(rp.DataLossError, way_out):
                    function(path, **options)
            with self.assertRaises(rp.DataLossError) as raised:
                rp.salvage(self.written("b", content[:9]), self.folder / "d")
            self.assertNotIn("on_damage", str(raised.exception))
        with self.assertRaises(rp.DataLossError) as raised:
            list(rp.tfrecords(self.written("a", intact[:-1]), check_crc=False))
        self.assertNotIn("on_damage", str(raised.exception))

    def test_what_is_refused(self):
        path = self.numbered(3)
        for on_damage in LEAVES_OUT:
            dataset = rp.tfrecords(path, on_damage=on_damage)
            for access in (lambda d=dataset: d[0]), (lambda d=dataset: list(d.shuffle(seed=1))):
                with self.assertRaisesRegex(rp.UnsupportedError, "on_damage"):
                    access()
            with self.assertRaisesRegex(TypeError, "unknown"):
                len(dataset)
            for function in rp.tfrecords, rp.schema, rp.stats:
                with self.assertRaisesRegex(ValueError, f"{on_damage}.*contradict each other"):
                    function(path, on_damage=on_damage, check_crc=False)
            path.unlink()
            with self.assertRaises(rp.MissingFileError):
                list(dataset)
            self.numbered(3)
        for function in rp.tfrecords, rp.schema, rp.stats:
            with self.assertRaisesRegex(ValueError, '"raise", "skip_file" or "resync", not'):
                function(path, on_damage="ignore")

    def test_whatever_reads_records(self):
        a, b = self.examples(8, "a"), self.examples(8, "b", first=8)
        content = bytearray(a.read_bytes())
        content[sum(len(framed_example(i)) for i in range(3)) + 2] ^= 1
        a.write_bytes(content)
        path = [a, b]
        everything = list(rp.tfrecords(path, on_damage="resync").parse())
        self.assertEqual(len(everything), 15)
        for on_damage, count in ("skip_file", 11), ("resync", 15):
            dataset = rp.tfrecords(path, on_damage=on_damage)
            with Stream(dataset.parse()) as stream:
                self.assertEqual({len(column) for column in stream.rows().values()}, {count})
            self.assertEqual(rp.schema(path, on_damage=on_damage).records, count)
            self.assertEqual(rp.schema(path, on_damage=on_damage).regions_skipped, 1)
            self.assertEqual(rp.stats(path, on_damage=on_damage).records, count)
            report = rp.convert(path, self.folder / "out", on_damage=on_damage)
            self.assertEqual((report.records, report.regions_skipped), (count, 1))
            report = rp.convert_to_dir(path, self.folder / on_damage, on_damage=on_damage)
            self.assertEqual([shard.records for shard in report.shards], [count - 8, 8])


if __name__ == "__main__":
    unittest.main()
