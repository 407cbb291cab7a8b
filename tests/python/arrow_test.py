"""Parsed Datasets as Arrow streams, and Arrow tables as records, read and made with ctypes."""

import ctypes
import errno
import gc
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import recordpipe as rp
import records
from arrow_c import Column, Stream, StreamError, table
from support import FilesTest


def rows_of(dataset):
    with Stream(dataset) as stream:
        return stream.rows()


class Reading(FilesTest):
    def dataset(self, examples, features, name="read.tfrecord"):
        path = records.write(self.folder / name, [records.example(e) for e in examples])
        return rp.tfrecords(path).parse(features)

    def test_types_and_values(self):
        pixels = np.arange(6, dtype="<u2")
        dataset = self.dataset(
            [
                {
                    "id": [-(2**63)],
                    "weight": [0.5],
                    "blob": [b"\xff"],
                    "text": ["ü".encode()],
                    "box": [1.0, 2.0, 3.0, 4.0],
                    "words": [b"a", b""],
                    "tokens": [7, 8, 9],
                    "pixels": [pixels.tobytes()],
                    "flags": [b"\1\0\2"],
                }
            ]
            * 3,
            {
                "id": rp.FixedLenFeature([], "int64"),
                "weight": rp.FixedLenFeature([], "float32"),
                "blob": rp.FixedLenFeature([], "bytes"),
                "text": rp.FixedLenFeature([], "string"),
                "box": rp.FixedLenFeature([2, 2], "float32"),
                "words": rp.RaggedFeature(str),
                "tokens": rp.RaggedFeature("int64"),
                "pixels": rp.RawFeature([2, 3], "uint16"),
                "flags": rp.RawFeature([3], "bool"),
            },
        )
        with Stream(dataset) as stream:
            self.assertEqual(
                stream.columns(),
                {
                    "id": b"l",
                    "weight": b"f",
                    "blob": b"Z",
                    "text": b"U",
                    "box": b"+w:2",
                    "words": b"+L",
                    "tokens": b"+L",
                    "pixels": b"+w:2",
                    "flags": b"+w:3",
                },
            )
            rows = stream.rows()
        self.assertEqual(
            {name: column[2] for name, column in rows.items()},
            {
                "id": -(2**63),
                "weight": 0.5,
                "blob": b"\xff",
                "text": "ü",
                "box": [[1.0, 2.0], [3.0, 4.0]],
                "words": ["a", ""],
                "tokens": [7, 8, 9],
                "pixels": [[0, 1, 2], [3, 4, 5]],
                "flags": [True, False, True],
            },
        )
        self.assertEqual(len(rows["id"]), 3)

    def test_missing_features_are_null_unless_they_have_a_default(self):
        full = {"n": [1], "box": [1.0, 2.0], "raw": [b"ab"], "text": [b"x"], "list": [5], "d": [9]}
        examples = [full if i % 9 == 0 else {} for i in range(20)]
        examples[3] = {**full, "list": []}
        dataset = self.dataset(
            examples,
            {
                "n": rp.FixedLenFeature([], "int64"),
                "box": rp.FixedLenFeature([2], "float32"),
                "raw": rp.RawFeature([2], "uint8"),
                "text": rp.FixedLenFeature([], "bytes"),
                "list": rp.RaggedFeature("int64"),
                "d": rp.FixedLenFeature([], "int64", 4),
            },
        )
        present = {"n": 1, "box": [1, 2], "raw": [97, 98], "text": b"x", "list": [5], "d": 9}
        for read in (dataset, dataset.batch(7), dataset.batch(20).prefetch()):
            rows = rows_of(read)
            for name, value in present.items():
                absent = 4 if name == "d" else None
                expected = [value if i % 9 == 0 or i == 3 else absent for i in range(20)]
                if name == "list":
                    expected[3] = []
                self.assertEqual(rows[name], expected, name)
        with self.assertRaisesRegex(rp.NotFoundError, "missing"):
            list(dataset)
        alone = {"n": rp.FixedLenFeature([], "int64")}
        nulls = rows_of(self.dataset([{}] * 3, alone, "nulls.tfrecord"))
        self.assertEqual(nulls, {"n": [None] * 3})

    def test_an_empty_list_of_a_fixed_feature_is_null(self):
        dataset = self.dataset(
            [{"n": [], "raw": [], "d": []}, {"n": [1], "raw": [b"ab"], "d": [2]}],
            {
                "n": rp.FixedLenFeature([], "int64"),
                "raw": rp.RawFeature([2], "uint8"),
                "d": rp.FixedLenFeature([], "int64", 9),
            },
        )
        self.assertEqual(rows_of(dataset), {"n": [None, 1], "raw": [None, [97, 98]], "d": [9, 2]})
        with self.assertRaisesRegex(rp.UnsupportedError, "holds 0 values"):
            list(dataset)

    def test_no_rows(self):
        features = {
            "n": rp.FixedLenFeature([], "int64"),
            "list": rp.RaggedFeature("bytes"),
            "raw": rp.RawFeature([2], "bool"),
        }
        empty = {"n": [], "list": [], "raw": []}
        dataset = self.dataset([], features)
        self.assertEqual(rows_of(dataset), empty)
        self.assertEqual(rows_of(dataset.batch(3)), empty)
        self.assertEqual(rows_of(rp.tfrecords([]).parse({})), {})

    def test_operators_between_parse_and_batch(self):
        feature = {"id": rp.FixedLenFeature([], "int64"), "x": rp.FixedLenFeature([], "int64")}
        dataset = self.dataset([{"id": [i]} for i in range(10)], feature)
        self.assertEqual(
            rows_of(dataset.skip(2).shard(2, 1).repeat(2).cache().batch(3).take(2))["id"],
            [3, 5, 7, 9, 3, 5],
        )
        self.assertEqual(rows_of(dataset.concatenate(dataset.take(1)))["id"], [*range(10), 0])
        both = rp.sample_from_datasets([dataset.batch(2), dataset.batch(2)], seed=1)
        self.assertEqual(sorted(rows_of(both)["id"]), sorted([*range(10)] * 2))
        shuffled = dataset.shuffle(seed=3)
        self.assertEqual(rows_of(shuffled), rows_of(shuffled))
        self.assertEqual(rows_of(shuffled)["x"], [None] * 10)
        self.assertNotEqual(rows_of(shuffled)["id"], rows_of(shuffled.epoch(1))["id"])
        self.assertNotEqual(rows_of(shuffled)["id"], list(range(10)))

    def test_sequence_examples(self):
        def sequence(context, lists):
            body = b"".join(
                records.field(
                    1,
                    records.field(1, name.encode())
                    + records.field(2, b"".join(records.field(1, step) for step in steps)),
                )
                for name, steps in lists.items()
            )
            return records.example(context) + records.field(2, body)

        path = records.write(
            self.folder / "s.tfrecord",
            [
                sequence(
                    {"id": [1]},
                    {
                        "f": [records.feature([1.0, 2.0]), records.feature([3.0, 4.0])],
                        "w": [records.feature([b"a"]), b""],
                    },
                ),
                sequence({"id": [2]}, {}),
                sequence({}, {"f": [], "w": [records.feature([b"b", b"c"])]}),
            ],
        )
        context = {"id": rp.FixedLenFeature([], "int64")}
        dataset = rp.tfrecords(path).parse_sequence_example(
            context,
            {"f": rp.FixedLenSequenceFeature([2], "float32"), "w": rp.RaggedFeature("string")},
        )
        expected = {
            "id": [1, 2, None],
            "f": [[[1, 2], [3, 4]], None, []],
            "w": [[["a"], []], None, [["b", "c"]]],
        }
        self.assertEqual(rows_of(dataset), expected)
        self.assertEqual(rows_of(dataset.batch(2)), expected)
        twice = rp.tfrecords(path).parse_sequence_example(
            context, {"id": rp.RaggedFeature("int64")}
        )
        with self.assertRaisesRegex(rp.UnsupportedError, "'id'"):
            twice.__arrow_c_schema__()

    def test_text_must_be_utf8_in_arrow_only(self):
        examples = [{"t": [b"ok"]}] * 5 + [{"t": [b"fine", b"\xc3("]}]
        dataset = self.dataset(examples, {"t": rp.RaggedFeature("string")})
        self.assertEqual(dataset[5]["t"].tolist(), [b"fine", b"\xc3("])
        with Stream(dataset) as stream, self.assertRaises(StreamError) as caught:
            stream.rows()
        for part in ("read.tfrecord", "'t'", "UTF-8", " at "):
            self.assertIn(part, str(caught.exception))
        path = self.folder / "read.tfrecord"
        binary = rp.tfrecords(path).parse({"t": rp.RaggedFeature("bytes")})
        self.assertEqual(rows_of(binary)["t"][5], [b"fine", b"\xc3("])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "UTF-8"):
            rp.tfrecords(path).parse(
                {"t": rp.FixedLenFeature([], "string", b"\xff")}
            ).__arrow_c_stream__()

    def test_a_type_named_string_by_a_library_is_bytes(self):
        class TensorFlowsString:
            name = "string"

        dataset = self.dataset([{"t": [b"\xff"]}], {"t": rp.RaggedFeature(TensorFlowsString())})
        self.assertEqual(rows_of(dataset), {"t": [[b"\xff"]]})

    def test_errors_in_the_middle(self):
        examples = [{"n": [i]} for i in range(30)]
        examples[25] = {"n": [b"text"]}
        dataset = self.dataset(examples, {"n": rp.FixedLenFeature([], "int64")}).batch(10)
        with Stream(dataset) as stream:
            for _ in range(2):
                array = stream.next()
                self.assertEqual(array.length, 10)
                array.release(array)
            for _ in range(2):
                with self.assertRaises(StreamError) as caught:
                    stream.next()
                self.assertEqual(caught.exception.code, errno.EINVAL)
                self.assertRegex(str(caught.exception), "read.tfrecord.*'n'.*at [0-9]+")
        missing = rp.tfrecords(self.folder / "none").parse({"n": rp.RaggedFeature("int64")})
        with Stream(missing) as stream, self.assertRaises(StreamError) as caught:
            stream.next()
        self.assertEqual(caught.exception.code, errno.ENOENT)

    def test_elements_without_columns(self):
        dataset = self.dataset([{"n": [1]}], {"n": rp.FixedLenFeature([], "int64")})
        for other in (
            rp.tfrecords(self.folder / "read.tfrecord"),
            dataset.map(dict),
            rp.from_list([1]),
            dataset.window(2),
        ):
            for method in (other.__arrow_c_schema__, other.__arrow_c_stream__):
                with self.assertRaisesRegex(rp.UnsupportedError, "parse"):
                    method()
        wide = self.dataset([], {"n": rp.TensorFeature([], "complex64")})
        with self.assertRaisesRegex(rp.UnsupportedError, "'n'"):
            wide.__arrow_c_stream__()


class Lifetime(FilesTest):
    def dataset(self, count=1000):
        return (
            rp.tfrecords(self.examples(count))
            .parse(
                {
                    "id": rp.FixedLenFeature([], "int64"),
                    "tokens": rp.RaggedFeature("int64"),
                    "name": rp.FixedLenFeature([], "string"),
                }
            )
            .batch(10)
        )

    @staticmethod
    def ids(array):
        data = array.children[0].contents.buffers[1]
        return np.ctypeslib.as_array((ctypes.c_int64 * array.length).from_address(data))

    def test_batches_are_the_memory_of_numpys_columns_and_given_back(self):
        with Stream(self.dataset().repeat(10)) as stream:
            addresses = set()
            while (array := stream.next()) is not None:
                addresses.add(array.children[0].contents.buffers[1])
                self.assertEqual(array.children[0].contents.buffers[1] % 64, 0)
                array.release(array)
        self.assertLess(len(addresses), 100)  # of 1,000 batches
        with Stream(self.dataset()) as stream:
            held = []
            while (array := stream.next()) is not None:
                held.append(array)
        self.assertEqual(len({a.children[0].contents.buffers[1] for a in held}), 100)
        for i, array in enumerate(held):  # after the release of the stream
            self.assertEqual(self.ids(array).tolist(), list(range(10 * i, 10 * i + 10)))
            array.release(array)

    def test_a_child_outlives_its_parent(self):
        stream = Stream(self.dataset())
        array = stream.next()
        child = type(array)()
        ctypes.memmove(ctypes.byref(child), array.children[0], ctypes.sizeof(child))
        array.children[0].contents.release = type(child.release)()  # moved
        array.release(array)
        rest = stream.rows()
        self.assertEqual(len(rest["id"]), 990)
        stream.__exit__()
        gc.collect()
        values = (ctypes.c_int64 * 10).from_address(child.buffers[1])
        self.assertEqual(list(values), list(range(10)))
        child.release(child)

    def test_release_on_other_threads(self):
        with Stream(self.dataset()) as stream:
            arrays = []
            while (array := stream.next()) is not None:
                arrays.append(array)

        def release(some):
            for array in some:
                array.release(array)

        threads = [threading.Thread(target=release, args=(arrays[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other = Stream(self.dataset())
        other.next()
        worker = threading.Thread(target=other.__exit__)
        worker.start()
        worker.join()

    def test_a_capsule_that_nobody_used_releases_its_stream(self):
        for _ in range(100):
            self.dataset().__arrow_c_stream__()
            self.dataset().__arrow_c_schema__()

    def test_exported_batches_keep_little_more_than_their_values(self):
        path = self.folder / "wide.tfrecord"
        path.write_bytes(records.frame(records.example({f"f{i}": [i] for i in range(30)})) * 20_000)
        program = """
import sys, recordpipe as rp
from arrow_c import Stream

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

features = {f"f{i}": rp.FixedLenFeature([], "int64") for i in range(30)}
before = resident()
with Stream(rp.tfrecords(sys.argv[1]).parse(features).with_options(threads=1)) as stream:
    held = []
    while (array := stream.next()) is not None:
        held.append(array)
print(resident() - before)
"""
        run = subprocess.run(
            [sys.executable, "-B", "-c", program, path],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        values = 20_000 * 30 * 8 // 1024
        self.assertLess(int(run.stdout), 5 * values)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork()")
    def test_fork(self):
        stream = Stream(self.dataset())
        array = stream.next()
        child = os.fork()
        if child == 0:
            try:
                try:
                    stream.next()
                except StreamError as error:
                    ok = "fork" in str(error)
                array.release(array)
                stream.release()
                os._exit(0 if ok else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        array.release(array)
        self.assertEqual(len(stream.rows()["id"]), 990)

    def test_streams_and_arrays_may_outlive_the_interpreter(self):
        program = """
import ctypes, sys, recordpipe as rp
from arrow_c import Stream
features = {"id": rp.FixedLenFeature([], "int64")}
stream = Stream(rp.tfrecords(sys.argv[1]).parse(features).repeat().batch(5).prefetch(4))
array = stream.next()
kept = Stream(rp.tfrecords(sys.argv[1]).parse(features))  # without a pass
for forever in (stream, array, kept):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(forever))
print(array.length)
"""
        for _ in range(5):
            run = subprocess.run(
                [sys.executable, "-B", "-c", program, self.examples(100)],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "5\n", ""))


class Interrupts(FilesTest):
    def endless(self):
        feature = {"id": rp.FixedLenFeature([], "int64")}
        return rp.tfrecords(self.examples(500)).parse(feature).repeat()

    @staticmethod
    def interrupt_soon():
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    @staticmethod
    def drain(stream):
        while (array := stream.next()) is not None:
            array.release(array)

    def test_ctrl_c_ends_a_long_read(self):
        with Stream(self.endless()) as stream:
            timer = self.interrupt_soon()
            with self.assertRaises((KeyboardInterrupt, StreamError)):
                self.drain(stream)
            timer.join()

    def test_a_wait_ends_at_once(self):
        # Nothing ever comes out of skip(): the whole time is spent in one get_next().
        dataset = self.endless().skip(10**15)
        with Stream(dataset) as stream:
            timer = self.interrupt_soon()
            begin = time.monotonic()
            seen = []
            try:
                try:
                    stream.next()
                except StreamError as error:
                    seen.append((error.code, str(error)))
                    for _ in range(1000):
                        time.sleep(0.001)
            except KeyboardInterrupt:
                seen.append("KeyboardInterrupt")
            self.assertLess(time.monotonic() - begin, 10)
            timer.join()
        self.assertEqual(seen[-1], "KeyboardInterrupt")

    def test_ctrl_c_while_a_table_is_written(self):
        dataset = self.endless()

        class Table:
            def __arrow_c_stream__(self, requested_schema=None):
                return dataset.__arrow_c_stream__()

        timer = self.interrupt_soon()
        with self.assertRaises(KeyboardInterrupt):
            rp.write_tfrecords(self.folder / "out.tfrecord", Table(), index=True)
        timer.join()
        gc.collect()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["examples.tfrecord"])

    def test_a_handler_that_does_not_raise_interrupts_nothing(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with Stream(self.endless().take(2_000_000)) as stream:
            timer = self.interrupt_soon()
            rows = 0
            while (array := stream.next()) is not None:
                rows += array.length
                array.release(array)
            timer.join()
        self.assertEqual((rows, calls), (2_000_000, [1]))


def offsets(*values, size="q"):
    return struct.pack(f"<{len(values)}{size}", *values)


class Writing(FilesTest):
    def written(self, *tables, **options):
        paths = rp.write_tfrecords(self.folder / "w.tfrecord", *tables, **options)
        return [record for path in paths for record in rp.tfrecords(path)]

    def assert_written(self, source, *expected):
        encoded = [records.example(e) if e else b"" for e in expected]
        self.assertEqual(self.written(source), encoded)

    def test_integers_of_all_widths(self):
        for format, code, low, high in (
            ("c", "b", -(2**7), 2**7 - 1),
            ("C", "B", 0, 2**8 - 1),
            ("s", "h", -(2**15), 2**15 - 1),
            ("S", "H", 0, 2**16 - 1),
            ("i", "i", -(2**31), 2**31 - 1),
            ("I", "I", 0, 2**32 - 1),
            ("l", "q", -(2**63), 2**63 - 1),
            ("L", "Q", 0, 2**63 - 1),
        ):
            with self.subTest(format=format):
                data = struct.pack(f"<2{code}", low, high)
                column = Column(format, 2, [None, data], name="n")
                self.assert_written(table(column), {"n": [low]}, {"n": [high]})
        column = Column("L", 3, [None, struct.pack("<3Q", 1, 2, 2**63)], name="n")
        with self.assertRaisesRegex(rp.UnsupportedError, "column 'n', row 2: 9223372036854775808"):
            self.written(table(column))
        self.assertEqual(list(self.folder.glob("*")), [self.folder / "w.tfrecord"])

    def test_floats_and_bools(self):
        halves = [0.0, 1.0, -2.5, 2.0**-24, 65504.0, float("inf"), float("-inf")]
        column = Column("e", 7, [None, np.array(halves, "<f2").tobytes()], name="x")
        self.assert_written(table(column), *({"x": [h]} for h in halves))
        column = Column("e", 1, [None, np.array([np.nan], "<f2").tobytes()], name="x")
        self.written(table(column))
        read = rp.tfrecords(self.folder / "w.tfrecord").parse(
            {"x": rp.FixedLenFeature([], "float32")}
        )
        self.assertTrue(np.isnan(read[0]["x"]))
        column = Column("g", 2, [None, struct.pack("<2d", 0.1, 1e300)], name="x")
        self.assert_written(table(column), {"x": [0.1]}, {"x": [float("inf")]})
        column = Column("b", 3, [None, b"\5"], name="x")
        self.assert_written(table(column), {"x": [1]}, {"x": [0]}, {"x": [1]})

    def test_bytes_and_strings(self):
        expected = ({"s": [b"ab"]}, {"s": [b""]}, {"s": [b"cde"]})
        for format, size in (("z", "i"), ("u", "i"), ("Z", "q"), ("U", "q")):
            column = Column(format, 3, [None, offsets(0, 2, 2, 5, size=size), b"abcde"], name="s")
            self.assert_written(table(column), *expected)
        column = Column("w:2", 2, [None, b"abcd"], name="s")
        self.assert_written(table(column), {"s": [b"ab"]}, {"s": [b"cd"]})
        long = b"0123456789abcdefgh"
        views = struct.pack("<i12s", 3, b"abc") + struct.pack("<i4sii", 13, long[2:6], 0, 2)
        buffers = [None, views, long, offsets(len(long))]
        self.assert_written(
            table(Column("vu", 2, buffers, name="s")), {"s": [b"abc"]}, {"s": [long[2:15]]}
        )
        # An array of empty strings may have no bytes, one of no strings no buffers.
        empty = Column("u", 2, [None, offsets(0, 0, 0, size="i"), None], name="s")
        self.assert_written(table(empty), {"s": [b""]}, {"s": [b""]})
        self.assert_written(table(Column("u", 0, [None, None, None], name="s")))

    def test_dictionaries(self):
        words = Column("u", 3, [b"\5", offsets(0, 1, 1, 3, size="i"), b"abc"])
        column = Column("c", 4, [b"\7", b"\2\0\1\0"], name="s", dictionary=words)
        self.assert_written(table(column), {"s": [b"bc"]}, {"s": [b"a"]}, {}, {})
        for index in (3, -1):
            column = Column("c", 1, [None, bytes([index % 256])], name="s", dictionary=words)
            with self.assertRaisesRegex(rp.InvalidArgumentError, "'s'.*dictionary"):
                self.written(table(column))

    def test_lists(self):
        items = Column("i", 5, [None, offsets(1, 2, 3, 4, 5, size="i")])
        expected = ({"l": [1, 2]}, {"l": []}, {}, {"l": [3, 4, 5]})
        for format, size in (("+l", "i"), ("+L", "q")):
            column = Column(
                format, 4, [b"\x0b", offsets(0, 2, 2, 2, 5, size=size)], [items], name="l"
            )
            self.assert_written(table(column), *expected)
        column = Column(
            "+vl",
            3,
            [None, offsets(3, 0, 4, size="i"), offsets(2, 3, 0, size="i")],
            [items],
            name="l",
        )
        self.assert_written(table(column), {"l": [4, 5]}, {"l": [1, 2, 3]}, {"l": []})
        pairs = Column("+w:2", 2, [None], [Column("i", 4, [None, offsets(1, 2, 3, 4, size="i")])])
        self.assert_written(
            table(Column("+w:2", 1, [None], [pairs], name="l")), {"l": [1, 2, 3, 4]}
        )

    def test_nulls_are_left_out(self):
        number = Column("i", 9, [b"\xfe\0", offsets(*range(9), size="i")], name="n")
        nothing = Column("n", 9, name="z")
        expected = [{"n": [i]} if 1 <= i < 8 else {} for i in range(9)]
        self.assert_written(table(number, nothing), *expected)
        items = Column("i", 2, [b"\1", offsets(1, 2, size="i")])
        column = Column("+l", 1, [None, offsets(0, 2, size="i")], [items], name="l")
        with self.assertRaisesRegex(rp.UnsupportedError, "column 'l', row 0: a null in a list"):
            self.written(table(column))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "null rows"):
            self.written(table(number, validity=b"\1\0"))

    def test_offsets_of_all_levels(self):
        items = Column("i", 6, [None, offsets(*range(8), size="i")], offset=2)  # 2 to 7
        lists = Column(
            "+l", 4, [b"\x3a", offsets(0, 0, 1, 3, 4, 6, size="i")], [items], name="l", offset=1
        )
        number = Column("c", 4, [None, bytes(range(20))], name="n", offset=10)
        fixed = Column("+w:2", 4, [None], [Column("c", 10, [None, bytes(range(16))])], name="f")
        fixed.array.offset, fixed.array.length = 1, 4
        self.assert_written(
            table(lists, number, fixed, length=2, offset=2),
            {"f": [6, 7], "l": [5], "n": [12]},
            {"f": [8, 9], "l": [6, 7], "n": [13]},
        )

    def test_types_that_features_do_not_have(self):
        inner = Column("i", 0, [None, None])
        for format, children in (
            ("tsn:", ()),
            ("tdD", ()),
            ("tDs", ()),
            ("d:10,2", ()),
            ("+s", (inner,)),
            ("+l", (Column("+l", 0, [None, None], [inner]),)),
            ("+l", (Column("+w:2", 0, [None], [inner]),)),
            ("+m", (inner,)),
            ("+ud:0", (inner,)),
            ("+r", (inner, inner)),
            ("?", ()),
            ("", ()),
        ):
            with (
                self.subTest(format=format),
                self.assertRaisesRegex(rp.UnsupportedError, "column 'c' is .*cast|flatten"),
            ):
                self.written(table(Column(format, 0, [None], children, name="c")))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "UTF-8"):
            column = Column("c", 1, [None, b"1"], name="c")
            column.schema.name = b"\xff"
            self.written(table(column))
        same = [Column("c", 1, [None, b"1"], name="c") for _ in range(2)]
        with self.assertRaisesRegex(rp.UnsupportedError, "two columns are named 'c'"):
            self.written(table(*same))
        with self.assertRaisesRegex(rp.UnsupportedError, "single array"):
            self.written(Column("i", 1, [None, offsets(1, size="i")]))

    def test_structs_that_contradict_themselves(self):
        number = Column("i", 2, [None, offsets(1, 2, size="i")])
        for column in (
            Column("i", 1, [None, offsets(1, size="i")], name="c"),  # too few rows
            Column("i", 2, [None], name="c"),
            Column("i", 2, [None, None], name="c"),
            Column("i", -2, [None, None], name="c"),
            Column("i", 2, [None, b"12345678"], name="c", offset=-1),
            Column("u", 2, [None, offsets(0, 2, 1, size="i"), b"ab"], name="c"),
            Column("u", 2, [None, offsets(-1, 0, 1, size="i"), b"ab"], name="c"),
            Column("u", 2, [None, offsets(0, 1, 2, size="i"), None], name="c"),
            Column("+l", 2, [None, offsets(0, 1, 3, size="i")], [number], name="c"),
            Column("+l", 2, [None, offsets(0, 1, 0, size="i")], [number], name="c"),
            Column("+l", 2, [None, None], [number], name="c"),
            Column("+l", 2, [None, offsets(0, 1, 2, size="i")], [], name="c"),
            Column("+vl", 2, [None, offsets(0, 1, size="i"), offsets(1, 2, size="i")], [number]),
            Column("+w:2", 2, [None], [number], name="c"),
            Column("+w:-2", 2, [None], [number], name="c"),
            Column("+w:x", 2, [None], [number], name="c"),
            Column("+w:4611686018427387904", 2, [None], [number], name="c"),
            Column("w:", 2, [None, b"ab"], name="c"),
            Column("vu", 2, [None, struct.pack("<i12s", -1, b"") * 2, offsets(0)], name="c"),
            Column("vu", 2, [None, struct.pack("<iiii", 13, 0, 0, 0) * 2, offsets(0)], name="c"),
            Column("vu", 2, [None, struct.pack("<iiii", 13, 0, 0, 9) * 2, b"a" * 20, offsets(20)]),
            Column("g", 2, [None, b"1" * 16], name="c", dictionary=number),
        ):
            with (
                self.subTest(format=column.schema.format),
                self.assertRaises(rp.InvalidArgumentError),
            ):
                self.written(table(column, length=2))
        self.assertEqual(list(self.folder.glob("*")), [])

    def test_batches_and_options(self):
        column = Column("c", 5, [None, b"\0\1\2\3\4"], name="n")
        batches = [table(column), {"n": 5}, b"\x0a\0", table(column)]
        paths = rp.write_tfrecords(
            self.folder / "w.tfrecord", iter(batches), shards=2, compression="gzip"
        )
        read = [
            [row["n"].tolist() for row in rp.tfrecords(p).parse({"n": rp.RaggedFeature("int64")})]
            for p in paths
        ]
        self.assertEqual(read, [[[0], [2], [4], [], [1], [3]], [[1], [3], [5], [0], [2], [4]]])
        with rp.Writer(self.folder / "x.tfrecord", index=True) as writer:
            writer.write_table(table(column))
            self.assertEqual(writer.records, 5)
        self.assertEqual(len(rp.tfrecords(self.folder / "x.tfrecord")), 5)

    def test_a_stream_that_fails(self):
        examples = [{"n": [i]} for i in range(50)] + [{"n": [0.5]}]
        path = records.write(self.folder / "f", [records.example(e) for e in examples])

        class Table:
            """Not a Dataset, whose elements would be written."""

            def __arrow_c_stream__(self, requested_schema=None):
                feature = {"n": rp.FixedLenFeature([], "int64")}
                return rp.tfrecords(path).parse(feature).batch(10).__arrow_c_stream__()

        with self.assertRaisesRegex(rp.FileSystemError, "Arrow stream failed.*'n' holds floats"):
            self.written(Table())
        self.assertEqual(list(self.folder.glob("w*")), [])
        table = Table()
        capsule = table.__arrow_c_stream__()
        table.__arrow_c_stream__ = lambda: capsule
        for expected in (rp.FileSystemError, rp.InvalidArgumentError):
            with self.assertRaises(expected):
                self.written(table)
        table.__arrow_c_stream__ = lambda: 3
        with self.assertRaises(ValueError):
            self.written(table)


if __name__ == "__main__":
    unittest.main()
