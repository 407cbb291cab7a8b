#!/usr/bin/env python3
"""Tests tfrecord export: the exact output, and that `create` restores the same records."""
import io
import random
import resource
import struct
import unittest
import zipfile

from export_case import ExportTest
from tfrecord_test_case import bytes_feature, example, float_feature, int64_feature, named_example
from make_golden import field


class JsonLines(ExportTest):
    def test_examples(self):
        self.run_it("export", "a", "-o", "a.jsonl")
        self.assertEqual(self.read("a.jsonl").decode(), (
            '{"record": 0, "features": {"box": [0.5, 1.0], "id": [7], "name": ["a,\\"b\\"\\n"], '
            '"raw": [{"base64": "/wA="}]}}\n'
            '{"record": 1, "features": {"id": [-1], "name": ["[x]"]}}\n'
            '{"record": 2, "features": {"id": [0], "name": [""], "tags": ["x", "y"]}}\n'))
        self.same_again("a.jsonl")
        self.assertEqual(self.run_it("export", "a", "-o", "-", "--to", "json", "--where",
                                     "id == 0", "--select", "id"),
                         '{"record": 0, "features": {"id": [0]}}\n')

    def test_everything_that_json_can_hold(self):
        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content
        empty = field(1, field(1, field(1, b"e") + field(2, field(2, b""))))
        step = field(1, field(3, field(1, b"\5")))
        sequence = field(1, field(1, field(1, b"c") + field(2, field(3, field(1, b"\1"))))) + \
            field(2, field(1, field(1, b"s") + field(2, step + field(1, b""))))
        nonfinite = named_example({"x": [float("nan"), float("inf"), float("-inf"), -0.0]})
        self.write("a", empty, sequence, nonfinite, b"", b"\xff\xfe")
        self.run_it("export", "a", "-o", "a.jsonl")
        self.same_again("a.jsonl")

    def test_nothing(self):
        self.write("a")
        self.run_it("export", "a", "-o", "a.jsonl")
        self.assertEqual(self.read("a.jsonl"), b"")


class Csv(ExportTest):
    def test_examples(self):
        self.run_it("export", "a", "-o", "a.csv")
        self.assertEqual(self.read("a.csv").decode(), (
            'box,id,name,raw,tags\n'
            '"[0.5, 1.0]",7,"a,""b""\n","{""base64"": ""/wA=""}",\n'
            ',-1,"[""[x]""]",,\n'
            ',0,"",,"[""x"", ""y""]"\n'))
        self.same_again("a.csv")

    def test_text_that_reads_as_a_number_stays_text(self):
        texts = ["7", "-7", "0", "0.5", "1e3", "nan", "-INF", "Infinity", "007", "1e999", "7 ", "", "[7]"]
        for text in texts:
            self.write("a", named_example({"code": [text], "n": [7], "x": [7.0]}))
            self.run_it("export", "a", "-o", "a.csv")
            self.same_again("a.csv")
        self.write("a", *(named_example({"code": [text]}) for text in ("7", "x", "8")),
                   named_example({"code": ["7", "8"]}))
        self.run_it("export", "a", "-o", "a.csv")
        self.assertEqual(self.read("a.csv"), b'code\n"7"\nx\n"8"\n"[""7"", ""8""]"\n')
        self.same_again("a.csv")

    def test_booleans_and_huge_numbers_that_are_text_stay_text(self):
        self.write("a", *(named_example({"code": [text], "x": [1]})
                          for text in ("true", "False", "TRUE", "1e39", "-1e-400", "2e400")))
        self.run_it("export", "a", "-o", "a.csv")
        self.same_again("a.csv")

    def test_delimiters(self):
        self.write("a", named_example({"a;b": ["x;y", "z"], "c": ["1;2"], "d": ["u,v"]}))
        self.run_it("export", "a", "-o", "a.csv", "--delimiter", ";")
        self.assertEqual(self.read("a.csv"), b'"a;b";c;d\n"[""x;y"", ""z""]";"1;2";u,v\n')
        self.same_again("a.csv", "--delimiter", ";")
        self.run_it("export", "a", "-o", "a.tsv")
        self.assertEqual(self.read("a.tsv"), b'a;b\tc\td\n"[""x;y"", ""z""]"\t1;2\tu,v\n')
        self.same_again("a.tsv")
        for name in ("a,b", "a;b", "a\tb", "a|b"):
            for table in ("a.csv", "a.tsv"):
                self.write("a", named_example({name: [1]}))
                self.run_it("export", "a", "-o", table)
                self.same_again(table)
        self.expect_failure("--delimiter is for CSV, not json", "export", "a", "-o", "a.jsonl",
                            "--delimiter", ";")

    def test_lists_without_values_keep_their_kind(self):
        """Of a column that has nothing else, the cell says the kind."""
        def empty(kind):
            return field(kind, b"")
        self.write("a", example(b=empty(1), f=empty(2), i=empty(3)), example(b=empty(1)), b"")
        self.run_it("export", "a", "-o", "a.csv")
        self.assertEqual(self.read("a.csv").decode(), (
            'b,f,i\n"{""bytes"": []}","{""float"": []}",[]\n"{""bytes"": []}",,\n,,\n'))
        self.same_again("a.csv")
        # Text of this form stays text, and a column with values shows their kind.
        self.write("a", example(b=empty(1), f=empty(2), i=empty(3)),
                   named_example({"b": ['{"float": []}'], "f": [8.0, -0.0], "i": [7]}))
        self.run_it("export", "a", "-o", "a.csv")
        self.assertTrue(self.read("a.csv").startswith(b"b,f,i\n[],[],[]\n"))
        self.same_again("a.csv")

    def test_whole_valued_floats_stay_floats(self):
        self.write("a", named_example({"x": [8.0, 0.0]}), named_example({"x": [-0.0, 1e30]}))
        self.run_it("export", "a", "-o", "a.csv")
        self.same_again("a.csv")

    def test_a_feature_of_several_kinds_is_noted(self):
        self.write("a", named_example({"x": [1]}), named_example({"x": [0.5]}))
        self.assertEqual(self.notes("export", "a", "-o", "a.csv"),
                         "tfrecord export: x is float and int64 in different records, and a column "
                         "has one type: JSON lines keep the types\n")

    def test_a_feature_without_a_list_is_noted(self):
        self.write("a", example(x=b"", y=field(3, b"")), named_example({"x": [1]}))
        self.assertEqual(self.notes("export", "a", "-o", "a.csv"),
                         "tfrecord export: in the table, features without a list of values are "
                         "missing: 1 (JSON lines keep them)\n")
        self.assertEqual(self.read("a.csv"), b"x,y\n,[]\n1,\n")

    def test_a_name_that_begins_with_a_byte_order_mark(self):
        self.write("a", named_example({"\ufeffx": [7]}))
        self.run_it("export", "a", "-o", "a.csv")
        self.same_again("a.csv")

    def test_random_tables_come_back(self):
        """Each table, and each half of it: the kind of a column never depends on its other rows."""
        texts = ["", "7", "-0", "007", "1e39", "1e-400", "true", "False", "nan", "Infinity", "[", "[1]",
                 "[]", '["a"]', "{}", '{"float": []}', '{"bytes": []}', '{"base64": "AA=="}',
                 '{"base64"', "a,b", '"', "\n", "\r", "\t", ";", " x ", "\u00e9", "\ufeff", "+5", ".5",
                 "0x1F", "99999999999999999999", "\0", b"\xff\0", b"caf\xe9"]
        floats = [0.0, -0.0, 1.0, 8.0, -3.5, 1e30, float("inf"), float("-inf"), 1e-45, 0.1,
                  3.4028234663852886e38, 16777216.0]
        integers = [0, 1, -1, 2**63 - 1, -2**63, 16777217, 7]
        values = {1: texts, 2: floats, 3: integers}
        names = ["a", "b", "c d", "\u00e9", "x,y", "1", 'q"', "", "\ufeffz", "t\t", "s;", "|"]
        sizes = [0, 1, 1, 1, 2, 3]

        def encode(kind, drawn):
            if not drawn:
                return field(kind, b"")
            if kind == 1:
                return bytes_feature(*(one if isinstance(one, bytes) else one.encode()
                                       for one in drawn))
            return (float_feature if kind == 2 else int64_feature)(*drawn)
        draw = random.Random(4)
        for _ in range(3):
            drawn = draw.sample(names, draw.randint(2, len(names)))
            kinds = {name: draw.choice([1, 2, 3]) for name in sorted(drawn, key=str.encode)}
            rows = []
            for _ in range(12):
                row = {name: encode(kind, draw.choices(values[kind], k=draw.choice(sizes)))
                       for name, kind in kinds.items() if draw.random() < 0.7}
                rows.append(example(**row) if row else b"")
            for part in (rows, rows[9:]):
                for table in ("a.csv", "a.tsv"):
                    self.write("a", *part)
                    if self.start("export", "a", "-o", table).returncode == 2:
                        self.assertIn(b"", part)  # needs two columns
                        continue
                    self.same_again(table)

    def test_what_a_table_cannot_hold(self):
        self.expect_failure("standard input must be read twice", "export", "-", "-o", "a.csv",
                            status=2, input=self.read("a"))
        self.write("a", b"\xff")
        self.expect_failure("record 0 is not an Example", "export", "a", "-o", "a.csv")
        for others, columns in (([], "no columns"), ([named_example({"x": [1]})], "one column")):
            self.write("a", *others, b"")
            self.expect_failure(f"record {len(others)} has none of the features, which a table of "
                                f"{columns} can't represent", "export", "a", "-o", "a.csv")
        self.assertEqual(self.names(), ["a"])
        self.write("a")
        self.run_it("export", "a", "-o", "a.csv")
        self.assertEqual(self.read("a.csv"), b"")

    def test_features_that_only_unread_records_may_have(self):
        for names, content in (("rare,tags", b"rare,tags\n,\n"), ("rare", b"rare\n")):
            notes = self.notes("export", "a", "-o", "a.csv", "--limit", 1, "--select", names)
            self.assertIn("no record that was read has a feature named rare", notes)
            self.assertEqual(self.read("a.csv"), content)
        self.run_it("export", "a", "-o", "a.csv", "--limit", 0, "--select", "rare")
        self.assertEqual(self.read("a.csv"), b"")
        summary, = self.json("export", "a", "-o", "a.csv", "--limit", 1, "--select", "rare", "--json")
        self.assertEqual(summary["rows"], 0)


class Npz(ExportTest):
    def export(self, *arguments):
        self.run_it("export", "a", "-o", "a.npz", *arguments)
        with zipfile.ZipFile(io.BytesIO(self.read("a.npz"))) as archive:
            self.assertIsNone(archive.testzip())
            return {name: archive.read(name) for name in archive.namelist()}

    def array(self, content):
        length, = struct.unpack_from("<H", content, 8)
        self.assertEqual(content[:8], b"\x93NUMPY\x01\0")
        self.assertEqual((10 + length) % 64, 0)
        return eval(content[10:10 + length], {}), content[10 + length:]  # made by this test

    def test_records_without_features(self):
        self.write("a", b"", b"")
        self.assertIn("records without features, which an .npz file without arrays can't represent",
                      self.run_it("export", "a", "-o", "b.npz", status=2))
        self.assertFalse((self.folder / "b.npz").exists())

    def test_arrays(self):
        rows = [{"f": [i / 2, 1.0], "i": [i], "name": ["x" * i], "pixels": [bytes([i]) * 6]}
                for i in range(1, 4)]
        self.write("a", *map(named_example, rows))
        arrays = {name: self.array(content) for name, content in self.export().items()}

        def header(descr, *shape):
            return {"descr": descr, "fortran_order": False, "shape": shape}
        pixels = b"\1" * 6 + b"\2" * 6 + b"\3" * 6
        self.assertEqual(arrays, {
            "f.npy": (header("<f4", 3, 2), struct.pack("<6f", 0.5, 1, 1, 1, 1.5, 1)),
            "i.npy": (header("<i8", 3), struct.pack("<3q", 1, 2, 3)),
            "name.npy": (header("|S3", 3), b"x\0\0xx\0xxx"),
            "pixels.npy": (header("|u1", 3, 1, 6), pixels)})
        self.same_again("a.npz")
        first = self.read("a.npz")
        self.write("a", named_example({"ünï": [1]}), named_example({"ünï": [2]}))
        self.assertEqual(list(self.export()), ["ünï.npy"])
        self.same_again("a.npz")
        self.write("a", *map(named_example, rows))
        shaped = self.export("--shape", "1x2x3")
        self.assertEqual(self.array(shaped["pixels.npy"]), (header("|u1", 3, 1, 2, 3), pixels))
        for options, said in (([], "tfrecord export: raw pixels are assumed to be interleaved (hwc); "
                                   "--layout changes this\n"), (["--layout", "hwc"], "")):
            self.assertEqual(self.notes("export", "a", "-o", "a.npz", "--shape", "1x2x3", *options),
                             said)
        self.expect_failure("no feature has the 4 bytes of --shape in every record", "export", "a",
                            "-o", "a.npz", "--shape", "2x2")
        self.same_again("a.npz")
        self.export()
        self.assertEqual(self.read("a.npz"), first)

    def test_more_features_than_files_can_be_open(self):
        names = [f"f{i:05}" for i in range(3000)]
        self.write("a", *(named_example({name: [i + row] for i, name in enumerate(names)})
                          for row in range(2)))
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        self.run_it("export", "a", "-o", "a.npz", preexec_fn=limit)
        self.run_it("create", "a.npz", "-o", "b", preexec_fn=limit)
        self.run_it("diff", "a", "b")

    def test_what_arrays_cannot_hold(self):
        self.expect_failure("feature box is not in every record (choose", "export", "a", "-o",
                            "a.npz")
        self.expect_failure("feature tags", "export", "a", "-o", "a.npz", "--select", "tags")
        self.write("a", named_example({"x": [1]}), named_example({"x": [1, 2]}))
        self.expect_failure("feature x has 2 values in record 1 and 1 before", "export", "a", "-o",
                            "a.npz")
        self.write("a", named_example({"x": [1]}), named_example({"x": ["1"]}))
        self.expect_failure("feature x is of several kinds", "export", "a", "-o", "a.npz")
        self.write("a", named_example({"long": [bytes(2 << 20) + b"x"]}),
                   *[named_example({"long": [bytes([i])]}) for i in range(1, 40)])
        self.expect_failure("feature long has values of up to 2,097,153 bytes (2.0 MiB), which all "
                            "the others would be padded to: 83,886,120 bytes (80.0 MiB) for "
                            "2,097,192 bytes (2.0 MiB) (choose others", "export", "a", "-o",
                            "a.npz")
        self.assertEqual(self.names(), ["a"])
        self.write("a", named_example({"../x": [1]}))
        self.expect_failure("lead out of a folder", "export", "a", "-o", "a.npz")
        self.assertEqual(self.names(), ["a"])


class Failures(ExportTest):
    def test_damage_and_usage(self):
        content = bytearray(self.read("a"))
        content[-5] ^= 1
        (self.folder / "d").write_bytes(content)
        for name in ("x.jsonl", "x.csv", "x.npz"):
            self.expect_failure("corrupted record", "export", "d", "-o", name, "--select", "id")
            self.assertEqual(self.names(), ["a", "d"])
        self.expect_failure("give --to", "export", "a", "-o", "x", status=2)
        self.expect_failure("is not a folder", "export", "a", "-o", "-", "--to", "images", status=2)
        self.assertEqual(self.start("export", "a").returncode, 2)

    def test_a_limit_on_file_sizes(self):
        self.write("a", named_example({"id": [1], "raw": [bytes(100)]}))

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
        for name in ("x.jsonl", "x.csv", "x.npz"):
            self.expect_failure("File too large", "export", "a", "-o", name, preexec_fn=limit)
            self.assertEqual(self.names(), ["a"])
        self.expect_failure("File too large", "export", "a", "-o", "x/", "--image", "raw",
                            "--shape", "10x10x1", preexec_fn=limit)
        self.assertEqual(self.names(), ["a"])


if __name__ == "__main__":
    unittest.main()
