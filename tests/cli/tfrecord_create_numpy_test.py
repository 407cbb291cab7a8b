#!/usr/bin/env python3
"""Tests tfrecord create from .npy and .npz files: every type, memory, and rejected input."""
import io
import os
import struct
import unittest
import zipfile

from tfrecord_create_case import CreateTest, npy
from tfrecord_test_case import named_example, record


class Numpy(CreateTest):
    def test_every_type(self):
        for descr, data, values in (
                ("'|u1'", b"\1\xff", [1, 255]), ("'|i1'", b"\1\xff", [1, -1]),
                ("'<i2'", b"\1\0\xff\xff", [1, -1]), ("'>i2'", b"\0\1\xff\xff", [1, -1]),
                ("'<u4'", b"\1\0\0\0\xff\xff\xff\xff", [1, 2**32 - 1]),
                ("'<i8'", struct.pack("<2q", 1, -2**63), [1, -2**63]),
                ("'>u8'", struct.pack(">2Q", 1, 2**63 - 1), [1, 2**63 - 1]),
                ("'|b1'", b"\1\0", [1, 0]), ("'<f2'", b"\0\x3c\0\xb8", [1.0, -0.5]),
                ("'>f4'", struct.pack(">2f", 1.5, -2), [1.5, -2.0]),
                ("'<f8'", struct.pack("<2d", 0.5, -2), [0.5, -2.0]),
                ("'|S3'", b"ab\0abc", ["ab", "abc"]),
                ("'<U2'", "a\0éä".encode("utf-32-le"), ["a", "éä"])):
            self.text("v.npy", npy(descr, "(2,)", data))
            self.created("v.npy", expected=[named_example({"v": [value]}) for value in values])

    def test_rows(self):
        self.text("m.npy", npy('"<i4"', "(2, 2)", struct.pack("<4i", 1, 2, 3, 4), version=(2, 0)))
        self.created("m.npy", expected=[named_example({"m": [1, 2]}), named_example({"m": [3, 4]})])
        self.text("m.npy", npy("'|u1'", "(2, 1, 2)", b"abcd", version=(3, 0)))
        self.created("m.npy", expected=[named_example({"m": ["ab"]}), named_example({"m": ["cd"]})])
        self.text("m.npy", npy("'<f4'", "(0, 5)", b""))
        self.created("m.npy", expected=[])

    def npz(self, compression=zipfile.ZIP_STORED, **arrays):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, content in arrays.items():
                archive.writestr(name + ".npy", content)
        return buffer.getvalue()

    def test_a_float64_that_no_float_holds(self):
        """Such a value never silently becomes an infinity; an infinity or NaN is kept."""
        largest = 3.4028234663852886e38
        for value in (1e39, -1e300, 1e-50):
            array = npy("'<f8'", "(2, 2)", struct.pack("<4d", 1, 2, 3, value))
            words = f"row 1: {value!r} is out of the range of float (scale the array"
            self.text("v.npy", array)
            self.refused("v.npy: " + words, "v.npy")
            self.text("v.npz", self.npz(ok=npy("'<f8'", "(2,)", bytes(16)), x=array))
            self.refused("v.npz:x: " + words, "v.npz")
        nan, inf = float("nan"), float("inf")
        self.text("v.npy", npy("'<f8'", "(6,)", struct.pack("<6d", nan, inf, -inf, largest, -largest,
                                                            0.0)))
        self.created("v.npy", expected=[named_example({"v": [value]})
                                        for value in (nan, inf, -inf, largest, -largest, 0.0)])

    def test_names_that_are_not_utf8(self):
        array = npy("'<i8'", "(1,)", bytes(8))
        name = os.fsdecode(b"caf\xe9.npy")
        self.text(name, array)
        self.refused("a name that is not UTF-8, as the name of the feature must be (rename the "
                     "file)", name)
        self.text("z.npz", self.npz(x=array).replace(b"x.npy", b"\xe9.npy"))
        self.refused("z.npz: a member whose name is not UTF-8", "z.npz")

    def test_npz(self):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.text("a.npz", self.npz(compression, x=npy("'|u1'", "(2, 2, 2)", b"abcdefgh"),
                                        label=npy("'<i8'", "(2,)", struct.pack("<2q", 5, 6))))
            self.created("a.npz", expected=[named_example({"label": [5], "x": ["abcd"]}),
                                            named_example({"label": [6], "x": ["efgh"]})])
        self.text("u.npz", self.npz(**{"ünï": npy("'|b1'", "(1,)", b"\1")}))
        self.created("u.npz", expected=[named_example({"ünï": [1]})])
        self.run_it("create", "a.npz", "-o", "s", "--shards", 2)
        self.assertEqual((self.folder / "s-00001-of-00002").read_bytes(),
                         record(named_example({"label": [6], "x": ["efgh"]})))

    def test_what_is_refused(self):
        good = struct.pack("<2q", 1, 2)
        for content, words in (
                (b"", "not a .npy file"), (b"\x93NUMPY", "truncated header"),
                (npy("'<i8'", "(2,)", good)[:40], "truncated header"),
                (npy("'<i8'", "(2,)", good[:-1]), "shorter than its header specifies"),
                (npy("'<i8'", "(2,)", good + b"x"), "longer than its header specifies"),
                (npy("'<i8'", "(2,)", good, version=(4, 0)), "version 4"),
                (npy("'|O'", "(2,)", good), "neither a numeric nor a string type"),
                (npy("'|O8'", "(2,)", good), "objects are pickles"),
                (npy("'<M8[ns]'", "(2,)", good), "dtype <M8[ns], which holds dates and times (save "
                 "it as whole numbers, array.astype(\"int64\")"),
                (npy("'<m8[s]'", "(2,)", good), "dtype <m8[s], which holds differences of times "
                 "(save it as whole numbers, array.astype(\"int64\"))"),
                (npy("[('a', '<i8')]", "(2,)", good), "structures"),
                (npy("'<c16'", "(1,)", good), "neither a numeric nor a string type"),
                (npy("'<i3'", "(2,)", good), "neither a numeric nor a string type"),
                (npy("'<i8'", "()", good[:8]), "without a dimension"),
                (npy("'<i8'", "(2, 1)", good, order="True"), "Fortran"),
                (npy("'<i8'", "(4294967296, 4294967296)", good), "larger than any file"),
                (npy("'<i8'", "(99999999999999999999,)", good), "too large"),
                (npy("'<i8'", "(-1,)", good), "is missing in its header"),
                (npy("'|S0'", "(1000000000000,)", b""), "1000000000000 rows without a byte"),
                (npy("'<i8'", "(1000000000000, 0)", b""), "1000000000000 rows without a byte"),
                (npy("__import__('os').system('touch pwned')", "(2,)", good), "string is missing"),
                (npy("'<i8'", "(2,)", good, extra="'x': 1"), "key x"),
                (npy("'<u8'", "(2,)", b"\xff" * 16), "row 0: 18446744073709551615 is too large"),
                (npy("'<U1'", "(1,)", b"\0\0\x11\0"), "not valid Unicode")):
            self.text("v.npy", content)
            self.refused(words, "v.npy")
        self.text("v.npz", self.npz(a=npy("'<M8[ns]'", "(2,)", good)))
        self.refused("dtype <M8[ns], which holds dates and times (save", "v.npz")
        self.text("v.npz", b"no zip")
        self.refused("v.npz", "v.npz")
        array = npy("'<i8'", "(2,)", good)
        self.text("v.npz", self.npz(a=array, b=npy("'<i8'", "(1,)", good[:8])))
        self.refused("v.npz:b: 1 row, where a has 2", "v.npz")
        self.text("v.npz", self.npz(a=array[:-1]))
        self.refused("v.npz:a.npy: shorter", "v.npz")
        self.text("v.npz", self.npz(a=array)[:-30].replace(good, good[::-1]))
        self.refused("v.npz", "v.npz")
        self.refused("can't be read from standard input", "-", "--from", "numpy", status=2)


@unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
class Memory(CreateTest):
    """64 MiB plus the largest record."""

    def test_large_rows(self):
        # Of a row and, approximately, of its record. Keeping one more of either would take too much
        # memory, so two rows are enough.
        size = 40_000_000
        for descr, shape, record_size in (("'<f4'", f"(2, {size // 4})", size),
                                          ("'<f8'", f"(2, {size // 8})", size // 2),
                                          ("'|u1'", f"(2, {size})", size),
                                          ("'|u1'", f"(2, {size}, 1)", size)):
            header = npy(descr, shape, b"")
            with open(self.folder / "x.npy", "wb") as file:  # zeros in a sparse file
                file.write(header)
                file.truncate(len(header) + 2 * size)
            with zipfile.ZipFile(self.folder / "x.npz", "w") as archive:
                archive.write(self.folder / "x.npy", "x.npy")
            for path in ("x.npy", "x.npz"):
                with self.subTest(descr=descr, shape=shape, path=path):
                    self.assertLess(self.peak("create", path, "-o", "out"),
                                    (64 << 20) + record_size)


if __name__ == "__main__":
    unittest.main()
