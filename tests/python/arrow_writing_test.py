"""Arrow tables as records: tables made with ctypes, of all types, odd and hostile ones."""

import re
import struct
import unittest

import numpy as np
import recordpipe as rp
import records
from arrow_c import Column, table
from support import FilesTest


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
        reason = "column 'n', row 2: 9223372036854775808 .*uint64_bits=True"
        with self.assertRaisesRegex(rp.UnsupportedError, reason):
            self.written(table(column))
        column = Column("L", 3, [None, struct.pack("<3Q", 1, 2, 2**63)], name="n")
        written = self.written(table(column), uint64_bits=True)
        self.assertEqual(written, [records.example({"n": [n]}) for n in (1, 2, -(2**63))])
        self.assertEqual(list(self.folder.glob("*")), [self.folder / "w.tfrecord"])

    def test_files_of_hugging_face_datasets(self):
        def files(order=1, offset=0, name="image", validity=b"\x0d"):
            # The rows: both, null, bytes without a path, and again both.
            content = Column("z", 4, [b"\x0f", offsets(0, 1, 1, 3, 4, size="i"), b"abcd"])
            path = Column("u", 4, [b"\x0b", offsets(0, 5, 5, 5, 10, size="i"), b"a.pngd.png"])
            content.schema.name, path.schema.name = b"bytes", b"path"
            members = (content, path)[::order]
            return Column("+s", 4 - offset, [validity], members, name=name, offset=offset)

        expected = (
            {"image": [b"a"], "image/path": [b"a.png"]},
            None,
            {"image": [b"bc"]},
            {"image": [b"d"], "image/path": [b"d.png"]},
        )
        self.assert_written(table(files()), *expected)
        self.assert_written(table(files(order=-1)), *expected)
        self.assert_written(table(files(offset=2)), *expected[2:])
        both = table(files(), Column("c", 4, [None, b"\1\2\3\4"], name="image/path"))
        with self.assertRaisesRegex(rp.UnsupportedError, "two columns are named 'image/path'"):
            self.written(both)
        content = Column("n", 1, name="bytes")
        path = Column("u", 1, [None, offsets(0, 5, size="i"), b"a.png"], name="path")
        column = Column("+s", 1, [None], (content, path), name="image")
        with self.assertRaisesRegex(rp.UnsupportedError, "'image', row 0: the path .* without its"):
            self.written(table(column))

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
        column = Column("g", 2, [None, struct.pack("<2d", 0.1, float("inf"))], name="x")
        self.assert_written(table(column), {"x": [0.1]}, {"x": [float("inf")]})
        for value in (1e39, -1e300, 1e-50):
            column = Column("g", 2, [None, struct.pack("<2d", 0.1, value)], name="x")
            words = f"column 'x', row 1: {re.escape(repr(value))} is out of the range of float"
            with self.assertRaisesRegex(rp.UnsupportedError, words):
                self.written(table(column))
            good = Column("g", 3, [None, struct.pack("<3d", 1, 2, 3)], name="x")
            with self.assertRaisesRegex(rp.UnsupportedError, words.replace("row 1", "row 4")):
                self.written([table(good), table(column)])
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
