"""Writer, write_tfrecords() and encode_example(): what is written is read again."""

import gc
import os
import pathlib
import threading
import unittest

import numpy as np
import recordpipe as rp
import records
from memory_files import Memory
from support import FilesTest, example_values


class FailingFile:
    """A file of a Writer that can't be completed."""

    def finish(self):
        raise OSError("the disk is full")

    def abort(self):
        pass


class Writer(FilesTest):
    def test_examples_equal_those_of_an_independent_encoder(self):
        for i in range(5):
            values = {name: value for name, value in example_values(i).items() if value}
            expected = records.example(dict(sorted(values.items())))
            self.assertEqual(rp.encode_example(values), expected)
            arrays = {
                "id": np.int32(i),
                "name": values["name"][0].decode(),
                "box": np.array([values["box"]]),
                "tokens": tuple(values.get("tokens", ())),
                "left out": None,
            }
            self.assertEqual(rp.encode_example(arrays), expected)

    def test_a_dataset_of_batches_is_refused(self):
        rows = rp.tfrecords(self.examples(10)).parse({"id": rp.FixedLenFeature([], "int64")})
        path = self.folder / "written"
        for batches in (rows.batch(4), rows.batch(4).prefetch(), rows.padded_batch(4).repeat(2)):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "unbatch"):
                rp.write_tfrecords(path, batches)
            self.assertFalse(path.exists())
        for same in (rows, rows.batch(4).unbatch()):
            rp.write_tfrecords(path, same)
            written = rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], "int64")})
            self.assertEqual([row["id"] for row in written], list(range(10)))

    def test_types(self):
        for value, expected in (
            (True, [1]),
            (np.uint64(7), [7]),
            (2.5, [2.5]),
            ("ü", ["ü".encode()]),
            ([b"a", "b"], [b"a", b"b"]),
            (np.array([b"xy"]), [b"xy"]),
            (np.float16(0.5), [0.5]),
            (2**40, [2**40]),
        ):
            self.assertEqual(rp.encode_example({"k": value}), records.example({"k": expected}))
        for wrong in (np.uint64(2**63), 2**64, object(), 1j, {"a": 1}):
            with self.subTest(wrong=wrong), self.assertRaisesRegex((ValueError, TypeError), "'k'"):
                rp.encode_example({"k": wrong})

    def test_integers_above_int64_are_written_by_their_bits_on_request(self):
        large = 2**64 - 1
        with self.assertRaisesRegex(ValueError, "'k'.*uint64_bits=True"):
            rp.encode_example({"k": large})
        with self.assertRaisesRegex(ValueError, "'k'.*uint64_bits=True"):
            rp.encode_example({"k": np.array([1, large], np.uint64)})
        for value in (
            [1, large, 2**63],
            (1, large, 2**63),
            [np.uint64(1), np.uint64(large), np.uint64(2**63)],
            np.array([1, large, 2**63], np.uint64),
            np.array([1, large, 2**63], ">u8"),
        ):
            expected = records.example({"k": [1, -1, -(2**63)], "s": [b"s"]})
            encoded = rp.encode_example({"k": value, "s": "s"}, uint64_bits=True)
            self.assertEqual(encoded, expected, repr(value))
        with self.assertRaisesRegex(ValueError, "'k'"):
            rp.encode_example({"k": 2**64}, uint64_bits=True)
        path = self.folder / "bits"
        rp.write_tfrecords(path, [{"k": large}, {"k": 5}], uint64_bits=True)
        (batch,) = rp.tfrecords(path).parse({"k": rp.FixedLenFeature([], "int64")}).batch(2)
        self.assertEqual(batch["k"].view(np.uint64).tolist(), [large, 5])

    def test_files_of_hugging_face_datasets(self):
        for content, path, expected in (
            (b"a", "a.png", {"x": [b"a"], "x/path": [b"a.png"]}),
            (b"a", None, {"x": [b"a"]}),
            (None, None, {}),
        ):
            encoded = rp.encode_example({"x": {"bytes": content, "path": path}, "n": 1})
            self.assertEqual(encoded, records.example({"n": [1], **expected}))
        for wrong in (
            {"x": {"bytes": None, "path": "a.png"}},
            {"x": {"bytes": b"a", "path": "a.png"}, "x/path": b"b"},
            {"x": {"bytes": b"a"}},
        ):
            with self.assertRaisesRegex((ValueError, TypeError), "feature 'x'"):
                rp.encode_example(wrong)

    def test_all_bytes_of_values_and_names_are_written(self):
        values = [b"a\0", b"", b"\0\0", b"\xff"]
        for value in (values, tuple(values), [values], np.array(values, dtype=object)):
            self.assertEqual(
                rp.encode_example({"x": value}), records.example({"x": values}), repr(value)
            )
        self.assertEqual(
            rp.encode_example({"x": ["a\0", b"b\0"], "a\0b": bytearray(b"c\0")}),
            records.example({"a\0b": [b"c\0"], "x": [b"a\0", b"b\0"]}),
        )

    def test_values_of_several_types_are_refused(self):
        for value in ([1, "b"], ["b", 1], [1.5, b"b"], [True, "b"], [b"b", None], [[b"b"], [1]]):
            with self.assertRaisesRegex(TypeError, "'x'"):
                rp.encode_example({"x": value})
        for value in (2**63, -(2**63) - 1, [1, 2**200]):
            with self.assertRaisesRegex(ValueError, "2\\^63"):
                rp.encode_example({"x": value})
        with self.assertRaisesRegex(TypeError, "name of a feature must be a string, not 3"):
            rp.encode_example({3: 1})
        with self.assertRaisesRegex(
            ValueError, r"name of a feature must be Unicode text.*'caf\\udce9'"
        ):
            rp.encode_example({"caf\udce9": 1})
        for text in ("caf\udce9", ["x", "caf\udce9"]):
            with self.assertRaisesRegex(
                ValueError, r"feature 'x': text must be Unicode text.*dce9"
            ):
                rp.encode_example({"x": text})

    def test_a_number_out_of_the_range_of_float_is_an_error(self):
        for value, words in (
            (1e39, "1e\\+39"),
            (-1e300, "-1e\\+300"),
            (1e-50, "1e-50"),
            ([0.5, 1e39], "1e\\+39"),
            (np.array([[0.0, -1e-50]]), "-1e-50"),
            (np.longdouble("1e400"), "1e\\+400"),
        ):
            with self.subTest(value=value):
                with self.assertRaisesRegex(
                    ValueError, f"feature 'x': {words} is out of the range"
                ):
                    rp.encode_example({"x": value})
                with self.assertRaisesRegex(ValueError, "record 2: feature 'x': "):
                    rp.write_tfrecords(self.folder / "w", [{"x": 1.5}, b"", {"x": value}])
        self.assertEqual(list(self.folder.iterdir()), [])
        for value in (
            3.4028235e38,
            1e-45,
            0.1,
            0.0,
            float("inf"),
            [float("-inf")],
            np.float64(2.5),
        ):
            expected = [value] if np.ndim(value) == 0 else value
            self.assertEqual(rp.encode_example({"x": value}), records.example({"x": expected}))
        self.assertEqual(
            rp.encode_example({"x": np.float16(6e-8)}),
            records.example({"x": [float(np.float16(6e-8))]}),
        )
        with self.assertRaisesRegex(ValueError, "'x': 1e\\+39 is out of the range"):
            rp.tfrecords(self.examples(1)).parse({"x": rp.FixedLenFeature([], "float32", 1e39)})

    def test_an_empty_array_has_a_type_and_an_empty_list_has_none(self):
        for array, kind in ((np.zeros(0, np.int32), 3), (np.zeros(0), 2)):
            value = records.field(kind, b"")
            entry = records.field(1, records.field(1, b"k") + records.field(2, value))
            self.assertEqual(rp.encode_example({"k": array}), records.field(1, entry))
        self.assertEqual(rp.encode_example({"k": []}), rp.encode_example({}))

    def test_files_are_read_again(self):
        elements = [{"id": i, "name": f"n{i}"} for i in range(10)]
        for options in (
            {},
            {"compression": "gzip"},
            {"compression": "zstd"},
            {"shards": 3},
            {"index": True},
        ):
            with self.subTest(options=options):
                paths = rp.write_tfrecords(self.folder / "out.tfrecord", elements, **options)
                read = rp.tfrecords(paths).parse({"id": rp.FixedLenFeature([], "int64")})
                self.assertEqual(sorted(int(row["id"]) for row in read), list(range(10)))
        self.assertEqual(len(paths), 1)
        index = (self.folder / "out.tfrecord.idx").read_text().split()
        self.assertEqual(len(index), 20)
        self.assertEqual(
            int(index[-2]) + int(index[-1]), (self.folder / "out.tfrecord").stat().st_size
        )

    def test_the_name_says_how_it_is_compressed(self):
        for name, begin in (
            *(("a.gz", b"\x1f\x8b"), ("a.gzip", b"\x1f\x8b")),
            *(("a.zst", b"\x28\xb5"), ("a.zstd", b"\x28\xb5"), ("a", b"\x03\0")),
        ):
            (path,) = rp.write_tfrecords(self.folder / name, [b"abc"])
            self.assertEqual(pathlib.Path(path).read_bytes()[:2], begin)
            self.assertEqual(list(rp.tfrecords(path)), [b"abc"])
        (path,) = rp.write_tfrecords(self.folder / "b.gz", [b"abc"], compression="none")
        self.assertEqual(pathlib.Path(path).read_bytes()[:2], b"\x03\0")

    def test_shards_are_named_and_take_turns(self):
        paths = rp.write_tfrecords(self.folder / "a.tfrecord", [b"0", b"1", b"2"], shards=2)
        self.assertEqual(
            [p.rsplit("/")[-1] for p in paths],
            ["a-00000-of-00002.tfrecord", "a-00001-of-00002.tfrecord"],
        )
        self.assertEqual([list(rp.tfrecords(p)) for p in paths], [[b"0", b"2"], [b"1"]])

    def test_an_exception_leaves_nothing(self):
        path = self.folder / "out.tfrecord"
        with self.assertRaises(KeyError), rp.Writer(path, index=True) as writer:
            writer.write(b"a")
            raise KeyError
        self.assertEqual(list(self.folder.iterdir()), [])
        rp.write_tfrecords(path, [b"old"])
        with self.assertRaises(TypeError):
            rp.write_tfrecords(path, [b"new", 3])
        self.assertEqual(list(rp.tfrecords(path)), [b"old"])

    def test_an_input_is_not_replaced(self):
        first, second = (self.examples(3, name) for name in ("first", "second"))
        shard = self.examples(3, "parts-00001-of-00002")
        (self.folder / "link").symlink_to(first)
        (self.folder / "same").hardlink_to(first)
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        one, both = rp.tfrecords(first), rp.tfrecords([second, first])
        parsed = one.parse({"id": rp.FixedLenFeature([], "int64")})
        url = f"file://{first}"
        for output, dataset in (
            (first, both),
            (first, one.take(1)),
            (first, parsed.map(dict)),
            (first, parsed),
            (first, one.shuffle(2, seed=1).map(bytes).prefetch()),
            (first, rp.zip(rp.tfrecords(second), one).map(lambda pair: pair[0])),
            (first, rp.tfrecords(second).concatenate(one)),
            (first, rp.list_files(first).interleave(rp.tfrecords, 1)),
            (self.folder / "link", one),
            (self.folder / "same", one),
            (url, one),
            (first, rp.tfrecords(url)),
            (os.path.relpath(first), one),
        ):
            with (
                self.subTest(output=output, dataset=dataset.explain()),
                self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced .*other name"),
            ):
                rp.write_tfrecords(output, dataset)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.write_tfrecords(self.folder / "parts", rp.tfrecords(shard), shards=2)
        (self.folder / "link.parquet").symlink_to(first)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.write_table(self.folder / "link.parquet", parsed)
        (self.folder / "link.parquet").unlink()
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, before)
        rp.write_tfrecords(self.folder / "other", one)
        self.assertEqual([*rp.tfrecords(self.folder / "other")], [*one])

    def test_inputs_of_functions_and_generators_are_not_replaced(self):
        first, second = (self.numbered(3, name) for name in ("first", "second"))
        one, paths = rp.tfrecords(first), rp.from_list([str(second), str(first)])
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        for name, elements in (
            ("flat_map", lambda: paths.flat_map(rp.tfrecords)),
            ("flat_map of an iterator", lambda: paths.flat_map(lambda path: [*rp.tfrecords(path)])),
            ("interleave", lambda: paths.interleave(rp.tfrecords, 2)),
            ("threads", lambda: paths.interleave(rp.tfrecords, 2).with_options(threads=2)),
            ("map", lambda: paths.map(lambda path: next(iter(rp.tfrecords(path))))),
            ("from_generator", lambda: rp.from_generator(lambda: iter(one))),
            ("generator", lambda: (record for record in one)),
            ("iterator", lambda: iter(one)),
            ("by number", lambda: (one[i] for i in range(2))),
            ("several by number", lambda: (x for n in (1, 2) for x in one.__getitems__([n]))),
        ):
            with (
                self.subTest(name),
                self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced .*other name"),
            ):
                rp.write_tfrecords(first, elements())
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, before)
        # After a write, and in one of another file, they are read as ever.
        rp.write_tfrecords(self.folder / "both", paths.flat_map(rp.tfrecords))
        self.assertEqual(len([*rp.tfrecords(self.folder / "both")]), 6)
        held = iter(one)
        rp.write_tfrecords(self.folder / "held", held)
        self.assertEqual([*rp.tfrecords(self.folder / "held")], [*one])

    def test_no_clobber(self):
        one, kept = self.numbered(3, "a.tfrecord"), self.folder / "kept"
        kept.mkdir()
        for name in ("a.tfrecord", "a.tfrecord.idx", "out-00001-of-00002"):
            (kept / name).write_bytes(b"before")
        for call in (
            lambda: rp.write_tfrecords(kept / "a.tfrecord", [b"x"], no_clobber=True),
            lambda: rp.write_tfrecords(kept / "out", [b"x"], shards=2, no_clobber=True),
            lambda: rp.convert(one, kept / "a.tfrecord", no_clobber=True),
            lambda: rp.convert(one, kept / "out", shards=2, no_clobber=True),
            lambda: rp.convert_to_dir(one, kept, no_clobber=True),
            lambda: rp.salvage(one, kept / "a.tfrecord", no_clobber=True),
            lambda: rp.salvage_to_dir(one, kept, no_clobber=True),
            lambda: rp.index(one, kept / "a.tfrecord.idx", no_clobber=True),
        ):
            with self.assertRaisesRegex(rp.AlreadyExistsError, "exists, and would be replaced"):
                call()
        self.assertEqual({path.read_bytes() for path in kept.iterdir()}, {b"before"})
        self.assertEqual(len([*kept.iterdir()]), 3)
        rp.write_tfrecords(kept / "new", [b"x"], no_clobber=True)
        rp.convert_to_dir(one, self.folder / "other", no_clobber=True)
        files = Memory({"a": b""})
        with self.assertRaisesRegex(rp.AlreadyExistsError, "exists"):
            rp.write_tfrecords("a", [b"x"], filesystem=files, no_clobber=True)

    def test_an_input_elsewhere_is_not_replaced(self):
        data = self.numbered(3, "a").read_bytes()
        files, others = Memory({"a": data}), Memory()
        dataset = rp.tfrecords("a", filesystem=files).take(1)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.write_tfrecords("a", dataset, filesystem=files)
        self.assertEqual(files.files, {"a": data})
        rp.write_tfrecords("a", dataset, filesystem=others)
        rp.write_tfrecords(self.folder / "a", dataset)
        self.assertEqual([*rp.tfrecords("a", filesystem=others)], [b"0"])
        rp.write_tfrecords("b", rp.tfrecords(self.folder / "a"), filesystem=files)

    def test_numbers_beyond_64_bits(self):
        for value in ([1.0, 10**39], (1.0, -(10**39)), [[1.0], [10**39]]):
            with self.assertRaisesRegex(ValueError, "'x': -?1e.39 is out of the range of float"):
                rp.encode_example({"x": value})
        with self.assertRaisesRegex(ValueError, "'x': an integer is out of the range of float"):
            rp.encode_example({"x": [1.0, 10**400]})
        with self.assertRaisesRegex(ValueError, "'x': 1e.39 is out of the range"):
            rp.tfrecords(self.examples(1)).parse(
                {"x": rp.FixedLenFeature([2], "float32", [1.0, 10**39])}
            )
        large = rp.encode_example({"x": [1.0, 10**20]})
        self.assertEqual(large, rp.encode_example({"x": [1.0, 1e20]}))
        for value, name in (
            ([1.0, None], "NoneType"),
            ([b"a", 1], "a list of several kinds"),
            ([1.0, 1j], "complex"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), f"strings, not {name}"):
                rp.encode_example({"x": value})

    def test_a_writer_that_is_dropped_warns(self):
        writer = rp.Writer(self.folder / "dropped")
        writer.write(b"a")
        with self.assertWarnsRegex(ResourceWarning, "dropped.*not closed; 1 records are lost"):
            del writer
            gc.collect()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_like_bytes_is_bytes(self):
        for value in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
            with self.subTest(type(value)):
                self.assertEqual(
                    rp.encode_example({"a": value, "b": [value, value]}),
                    rp.encode_example({"a": b"ab", "b": [b"ab", b"ab"]}),
                )

    def test_refusals_name_the_feature(self):
        for value, reason in (
            ([[1], [2, 3]], "inhomogeneous"),
            (np.ma.array([1, 2], mask=[0, 1]), "masked"),
            (rp.Ragged(np.arange(3), np.array([0, 1, 3])), "Ragged"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), f"'sizes'.*{reason}"):
                rp.encode_example({"sizes": value})
        self.assertEqual(rp.encode_example({"a": [[]], "b": 1}), rp.encode_example({"b": 1}))

    def test_shards_are_named_only_when_all_are_complete(self):
        paths = rp.write_tfrecords(self.folder / "a", [b"old", b"old"], shards=2)
        writer = rp.Writer(self.folder / "a", shards=2, index=True)
        for record in (b"new", b"new"):
            writer.write(record)
        writer._files[1].abort()
        writer._files[1] = FailingFile()
        with self.assertRaisesRegex(OSError, "disk is full"):
            writer.close()
        self.assertEqual([list(rp.tfrecords(p)) for p in paths], [[b"old"], [b"old"]])
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()),
            ["a-00000-of-00002", "a-00001-of-00002"],
        )

    def test_threads_take_turns(self):
        path = self.folder / "x"
        with rp.Writer(path, index=True) as writer:

            def write(first):
                for i in range(first, first + 1000):
                    writer.write(b"%d" % i)

            threads = [threading.Thread(target=write, args=(k * 1000,)) for k in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(map(int, rp.tfrecords(path))), list(range(4000)))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "brotli"):
            rp.Writer(self.folder / "x", compression="brotli")
        with self.assertRaises(rp.InvalidArgumentError):
            rp.Writer(self.folder / "x.gz", index=True)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "index"):
            rp.Writer(self.folder / "x", compression="gzip", index=True)
        with self.assertRaises(FileNotFoundError):
            rp.Writer(self.folder / "missing" / "x")
        for elements in ({"a": 1}, "abc", [None], [3]):
            with self.assertRaisesRegex(TypeError, "dict of features, not|not iterable"):
                rp.write_tfrecords(self.folder / "x", elements)
        writer = rp.Writer(self.folder / "x")
        writer.close()
        with self.assertRaisesRegex(rp.InvalidArgumentError, "closed"):
            writer.write(b"")


if __name__ == "__main__":
    unittest.main()
