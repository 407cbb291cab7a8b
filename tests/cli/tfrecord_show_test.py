"""Tests tfrecord show as a user runs it."""
import base64
import gzip
import json
import math
import struct
import unittest
import zlib

from tfrecord_test_case import (DATA, TfrecordTest, bytes_feature, example, int64_feature, masked,
                                named_example, record)

GOLDEN = DATA / "golden"
EXAMPLES = str(GOLDEN / "examples.tfrecords")
EVENT = struct.pack("<Bd", 9, 1599759586.0)


def labelled(count):
    return [named_example({"label": [i]}) for i in range(count)]


def field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


class ShowText(TfrecordTest):
    def test_examples(self):
        self.assertEqual(self.run_it("show", EXAMPLES, "--kind", "example"), """\
record 0 at 0: Example, 3,110 bytes
  image  bytes  3,072 bytes: 00 07 0e 15 1c 23 2a 31 38 3f 46 4d 54 5b 62 69 ...
  label  int64  7
record 1 at 3126: Example, 38 bytes
  image  bytes  "small"
  label  int64  7
record 2 at 3180: Example, 26 bytes
  age  int64  13, -1
record 3 at 3222: Example, 22 bytes
  age  int64  1, 2, 3, 4
record 4 at 3260: Example, 25 bytes
  x  float  1.5, inf, nan
record 5 at 3301: Example, 28 bytes
  a  int64  2
record 6 at 3345: Example, 24 bytes
  a  int64  2
record 7 at 3385: Example, 20 bytes
  a  int64  1
record 8 at 3421: Example, 7 bytes
  a  none  (no list)
record 9 at 3444: Example, 0 bytes
""")

    def test_bytes_by_what_they_are(self):
        png = (DATA / "images" / "rgb8.png").read_bytes()
        jpeg = (DATA / "images" / "rgb420.jpg").read_bytes()
        self.write("a", example(a=bytes_feature(png, jpeg), b=bytes_feature(b""),
                                c=bytes_feature(b"x" * 100), d=bytes_feature(b"\xff\xd8\xffno"),
                                e=bytes_feature("two\nlines é".encode())),
                   named_example({"many": list(range(100))}))
        self.assertEqual(self.run_it("show", "a"), f"""\
record 0 at 0: Example, 1,481 bytes
  a  bytes  PNG 13x11, 508 bytes, JPEG 13x11, 791 bytes
  b  bytes  ""
  c  bytes  "{'x' * 64}" ... (100 bytes)
  d  bytes  5 bytes: ff d8 ff 6e 6f
  e  bytes  "two\\nlines é"
record 1 at 1497: Example, 116 bytes
  many  int64  0, 1, 2, 3, 4, 5, 6, 7, ... (100 values)
""")

    def test_what_is_empty(self):
        self.write("a", named_example({"": [1]}), EVENT + field(5, field(1, field(1, b"t"))))
        self.assertEqual(self.run_it("show", "a"), """\
record 0 at 0: Example, 13 bytes
  ""  int64  1
record 1 at 29: Event, 16 bytes
  wall time  2020-09-10 17:39:46 UTC
  step       0
  "t"        (no value)
""")

    def test_other_messages(self):
        scalar = EVENT + b"\x10\x07" + field(5, field(1, field(1, b"loss") +
                                                       b"\x15" + struct.pack("<f", 0.5)))
        self.write("a", b"foo", b"\x00\x01", (GOLDEN / "sequences" / "steps.pb").read_bytes(),
                   EVENT + b"\x1a\x0dbrain.Event:2", scalar)
        self.assertEqual(self.run_it("show", "a"), """\
record 0 at 0: unknown, 3 bytes
  "foo"
record 1 at 19: unknown, 2 bytes
  2 bytes: 00 01
record 2 at 37: SequenceExample, 78 bytes
  label   int64  3
  frames  list   2 steps
    [0]   bytes  "one"
    [1]   bytes  "two"
  words   list   3 steps
    [0]   int64  1, 2
    [1]   none   (no list)
    [2]   int64  3
record 3 at 131: Event, 24 bytes
  wall time     2020-09-10 17:39:46 UTC
  step          0
  file_version  "brain.Event:2"
record 4 at 171: Event, 26 bytes
  wall time  2020-09-10 17:39:46 UTC
  step       7
  "loss"     0.5
""")

    def test_several_files_are_named(self):
        self.write("a", *labelled(1))
        self.write("b", *labelled(1))
        self.assertEqual(self.run_it("show", "a", "b"), """\
a, record 0 at 0: Example, 18 bytes
  label  int64  0
b, record 0 at 0: Example, 18 bytes
  label  int64  0
""")


class ShowJson(TfrecordTest):
    def test_examples(self):
        lines = self.run_it("show", "--json", EXAMPLES, "--kind", "example").splitlines()
        image = base64.b64encode(bytes(i * 7 % 256 for i in range(3072))).decode()
        self.assertEqual(lines, [
            '{"record": 0, "offset": 0, "features": {"image": [{"base64": "' + image
            + '"}], "label": [7]}}',
            '{"record": 1, "offset": 3126, "features": {"image": ["small"], "label": [7]}}',
            '{"record": 2, "offset": 3180, "features": {"age": [13, -1]}}',
            '{"record": 3, "offset": 3222, "features": {"age": [1, 2, 3, 4]}}',
            '{"record": 4, "offset": 3260, "features": {"x": [1.5, Infinity, NaN]}}',
            '{"record": 5, "offset": 3301, "features": {"a": [2]}}',
            '{"record": 6, "offset": 3345, "features": {"a": [2]}}',
            '{"record": 7, "offset": 3385, "features": {"a": [1]}}',
            '{"record": 8, "offset": 3421, "features": {"a": []}}',
            '{"record": 9, "offset": 3444, "features": {}}',
        ])
        values = [json.loads(line) for line in lines]
        self.assertTrue(math.isnan(values[4]["features"]["x"][2]))

    def test_other_messages(self):
        scalars = field(5, field(1, field(1, b"loss") + b"\x15" + struct.pack("<f", 0.5))
                        + field(1, field(1, b"lr") + field(8, b"\x08\x01" + field(
                            4, struct.pack("<f", 0.25))))
                        + field(1, field(1, b"img") + field(4, b"\x08\x01")))
        self.write("a", b"foo", b"\x00\x01", (GOLDEN / "sequences" / "steps.pb").read_bytes(),
                   EVENT + b"\x1a\x0dbrain.Event:2", EVENT + b"\x10\x07" + scalars,
                   EVENT + field(5, b"\xff"))
        self.assertEqual(self.json("show", "--format", "json", "a"), [
            {"record": 0, "offset": 0, "payload": "foo"},
            {"record": 1, "offset": 19, "payload": {"base64": "AAE="}},
            {"record": 2, "offset": 37, "features": {"label": [3]},
             "feature_lists": {"frames": [["one"], ["two"]], "words": [[1, 2], None, [3]]}},
            {"record": 3, "offset": 131, "event": {
                "wall_time": 1599759586.0, "step": 0, "file_version": "brain.Event:2"}},
            {"record": 4, "offset": 171, "event": {
                "wall_time": 1599759586.0, "step": 7, "summary": [
                    {"tag": "loss", "value": 0.5}, {"tag": "lr", "value": 0.25},
                    {"tag": "img", "kind": "image", "bytes": 2}]}},
            {"record": 5, "offset": 240, "payload": {
                "base64": base64.b64encode(EVENT + field(5, b"\xff")).decode()}},
        ])

    def test_kinds_of_empty_lists(self):
        self.write("a", example(b=field(1, b""), f=field(2, b""), i=field(3, b""), n=b"",
                                x=int64_feature(1)))
        self.assertEqual(self.json("show", "--json", "a"), [
            {"record": 0, "offset": 0,
             "features": {"b": [], "f": [], "i": [], "n": [], "x": [1]},
             "kinds": {"b": "bytes", "f": "float", "i": "int64"}}])

    def test_several_files_are_named(self):
        self.write("a", *labelled(1))
        self.assertEqual([line["path"] for line in self.json("show", "--json", "a", "a")],
                         ["a", "a"])

    def test_any_compression_and_standard_input(self):
        content = (GOLDEN / "examples.tfrecords").read_bytes()
        expected = self.run_it("show", "--json", EXAMPLES)
        two = gzip.compress(content[:3126]) + gzip.compress(content[3126:])
        for data in [content, gzip.compress(content), zlib.compress(content), two]:
            self.assertEqual(self.run_it("show", "--json", "-", input=data), expected)
        zstd = DATA / "zstd" / "vectors.tfrecords.zst"
        self.assertEqual(self.run_it("show", "--json", zstd),
                         self.run_it("show", "--json", GOLDEN / "vectors.tfrecords"))

    def test_many_records_come_in_order(self):
        payloads = [named_example({"label": [i], "x": [b"\xff" * (i * 37 % 3000)]})
                    for i in range(3000)]
        (self.folder / "a").write_bytes(b"".join(
            struct.pack("<QI", len(data), 0) + data + bytes(4) for data in payloads))
        lines = self.json("show", "--json", "--no-crc", "a")
        self.assertEqual([line["features"]["label"] for line in lines],
                         [[i] for i in range(3000)])
        self.assertEqual([line["record"] for line in lines], list(range(3000)))

    def test_large_records_between_small_ones(self):
        large = [b"\xff" * (3 << 20), b"x" * (2 << 20)]
        features = [{"a": [1]}, {"a": [large[0]]}, {"a": [2]}, {"a": [large[1]]}]

        def named(values):
            content = values["a"][0]
            if isinstance(content, int):
                return named_example(values)
            def nested(number, data):
                size, out = len(data), b""
                while size >= 128:
                    out += bytes([size & 127 | 128])
                    size >>= 7
                return bytes([number << 3 | 2]) + out + bytes([size]) + data
            return nested(1, nested(1, field(1, b"a") + nested(2, nested(1, nested(1, content)))))
        (self.folder / "a").write_bytes(b"".join(
            struct.pack("<QI", len(data), 0) + data + bytes(4) for data in map(named, features)))
        lines = self.json("show", "--json", "--no-crc", "a")
        self.assertEqual([line["record"] for line in lines], [0, 1, 2, 3])
        self.assertEqual(base64.b64decode(lines[1]["features"]["a"][0]["base64"]), large[0])
        self.assertEqual(lines[3]["features"]["a"], [large[1].decode()])
        self.assertEqual(len(self.json("show", "--json", "--no-crc", "a", "--limit", "2")), 2)
        self.assertEqual(self.run_it("show", "--no-crc", "--where", "len(a) == 0", "a"), "")
        self.assertEqual(self.json("show", "--no-crc", "--where", "len(a) == 0", "a"), [])

    def test_empty_file_and_zero_length_records(self):
        self.write("empty")
        self.assertEqual(self.run_it("show", "--json", "empty"), "")
        self.write("zeros", b"", b"")
        self.assertEqual(self.json("show", "--json", "zeros"),
                         [{"record": 0, "offset": 0, "features": {}},
                          {"record": 1, "offset": 16, "features": {}}])


class ShowRaw(TfrecordTest):
    def test_raw(self):
        self.write("a", b"one", b"", b"\x00two")
        self.assertEqual(self.start("show", "--format", "raw", "a").stdout, b"one\x00two")
        self.assertEqual(self.start("show", "--format", "raw", "a", "--record", "2").stdout,
                         b"\x00two")

    def test_framed_records_are_a_file(self):
        path = self.write("a", b"one", b"", b"two")
        self.run_it("show", "--format", "raw", "--framed", "a", "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), path.read_bytes())


class ShowChoice(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *[named_example({"label": [i % 5], "name": [f"n{i}"], "n": [i]})
                          for i in range(50)])

    def shown(self, *arguments, status=0):
        lines = self.json("show", "--json", "a", *arguments, status=status)
        return [line["record"] for line in lines]

    def test_record_and_range(self):
        for with_index in [False, True]:
            if with_index:
                size = (self.folder / "a").stat().st_size
                entries = self.run_it("show", "--json", "a").splitlines()
                starts = [json.loads(line)["offset"] for line in entries] + [size]
                (self.folder / "a.idx").write_text("".join(
                    f"{begin} {end - begin}\n" for begin, end in zip(starts, starts[1:])))
            self.assertEqual(self.shown("--record", "41"), [41])
            self.assertEqual(self.shown("--range", "3:6"), [3, 4, 5])
            self.assertEqual(self.shown("--range", ":2"), [0, 1])
            self.assertEqual(self.shown("--range", "48:"), [48, 49])
            self.assertEqual(self.shown("--range", "6:3"), [])
            self.assertEqual(self.shown("--range", "100:"), [])
            self.assertEqual(self.shown("--range", ":"), list(range(50)))
            self.expect_failure("a: no record 50: it has 50", "show", "a", "--record", "50")

    def test_no_record_is_skipped_unseen(self):
        """Records before the range aren't read: damage there has no effect."""
        data = bytearray((self.folder / "a").read_bytes())
        data[20] ^= 1
        (self.folder / "a").write_bytes(data)
        self.assertEqual(self.shown("--record", "41"), [41])
        self.expect_failure("corrupted record at 0", "show", "a", "--record", "0")

    def test_streams_have_ranges_too(self):
        data = (self.folder / "a").read_bytes()
        result = self.start("show", "--json", "-", "--range", "10:12", input=gzip.compress(data))
        self.assertEqual([json.loads(line)["record"] for line in result.stdout.splitlines()],
                         [10, 11])

    def test_where_feature_and_limit(self):
        self.assertEqual(self.shown("--where", "label == 3"), list(range(3, 50, 5)))
        self.assertEqual(self.shown("--where", "label == 3 and n > 40"), [43, 48])
        self.assertEqual(self.shown("--where", "name in ['n7', 'n9']"), [7, 9])
        self.assertEqual(self.shown("--where", "label == 3", "--limit", "2"), [3, 8])
        self.assertEqual(self.shown("--where", "label == 3", "--range", "10:20"), [13, 18])
        self.assertEqual(self.shown("--limit", "0"), [])
        self.assertEqual(self.json("show", "--json", "a", "--limit", "1", "--feature", "label",
                                   "--feature", "missing"),
                         [{"record": 0, "offset": 0, "features": {"label": [0]}}])
        self.assertEqual(self.run_it("show", "a", "--record", "7", "--feature", "name"),
                         "record 7 at 434: Example, 46 bytes\n  name  bytes  \"n7\"\n")

    def test_a_name_that_no_record_has_is_an_error(self):
        arguments = ["show", "a", "--json", "--feature", "label,nme", "--select", "y"]
        done = self.start(*arguments)
        self.assertEqual(done.stderr.decode(), "tfrecord show: no record has a feature named nme; "
                                               "there are name, n, label; did you mean name?\n")
        self.assertEqual((done.returncode, done.stdout.count(b"\n")), (2, 50))
        self.run_it(*arguments, "-o", "out", status=2)
        self.assertFalse((self.folder / "out").exists())
        for threads in (1, 4):
            done = self.start("show", "a", "--feature", "nme", "--limit", 3, "--threads", threads)
            self.assertEqual(done.returncode, 0)
            self.assertIn("no record that was read has a feature named nme; there are",
                          done.stderr.decode())

    def test_limit_counts_over_all_files(self):
        self.assertEqual(len(self.json("show", "--json", "a", "a", "--limit", "60")), 60)

    def test_damage_beyond_the_limit_is_not_seen(self):
        with open(self.folder / "a", "ab") as file:
            file.write(b"garbage")
        self.assertEqual(self.shown("--limit", "3"), [0, 1, 2])

    def test_usage(self):
        for arguments, words in [
                (["--where", "label = 3"], "--where, column 7: '=' is not an operator; use '=='"),
                (["--where", "label == 'x"], "--where, column 10: a quote that isn't closed"),
                (["--range", "5"], "invalid --range '5'"),
                (["--range", "-5:"], "invalid --range '-5:'"),
                (["--range", "1:2:3"], "invalid --range '1:2:3'"),
                (["--range", f"{2**63}:"], f"invalid --range '{2**63}:'"),
                (["--range", f":{2**64}"], f"invalid --range ':{2**64}'"),
                (["--range", f"{2**64 + 1}:{2**64 + 3}"], "invalid --range"),
                (["--range", "1:2", "--record", "1"], "--record and --range can't go together"),
                (["--framed"], "--framed is for --format raw"),
                (["--json", "--format", "raw"], "--json and --format raw contradict each other")]:
            self.expect_failure(words, "show", "a", *arguments, status=2)
        self.assertEqual(self.start("show", "a", "--format", "xml").returncode, 2)
        for number in (-1, 2**63, 2**64 - 1, 2**64):
            self.assertEqual(self.start("show", "a", f"--record={number}").returncode, 2)
        self.expect_failure(f"no record {2**63 - 1}", "show", "a", "--record", 2**63 - 1)
        self.assertEqual(self.shown("--range", f"48:{2**63 - 1}"), [48, 49])
        self.assertEqual(self.start("show").returncode, 2)
        self.assertIn("tfrecord show train.tfrecords --limit 3",
                      self.run_it("show", "--help"))


class ShowDamage(TfrecordTest):
    def test_what_came_before_is_shown(self):
        good = b"".join(map(record, labelled(3)))
        flipped = bytearray(good)
        flipped[60] ^= 1
        lie = struct.pack("<Q", 2**64 - 1)
        lie += struct.pack("<I", masked(lie)) + b"x"
        for data, words, records in [
                (good + b"1234567", "truncated record at 102", 3),
                (good + b"123456789ab", "truncated record at 102", 3),
                (good[:-10], "truncated record at 68", 2),
                (good[:-2], "truncated record at 68", 2),
                (flipped, "corrupted record at 34", 1),
                (good + bytes(64), "corrupted record at 102", 3),
                (good + lie, "bytes, more than any file has: corrupted record at 102", 3),
                (gzip.compress(good)[:-9], "", 3)]:
            for option in ["--json", "--format=text", "--format=raw"]:
                (self.folder / "a").write_bytes(data)
                result = self.start("show", option, "a")
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr.decode())
                expected = self.write("b", *labelled(records))
                self.assertEqual(result.stdout, self.start("show", option, expected).stdout)

    def test_the_output_file_appears_whole_or_not(self):
        (self.folder / "a").write_bytes(record(b"x") + b"torn")
        self.expect_failure("truncated record at 17", "show", "a", "-o", "out")
        self.assertFalse((self.folder / "out").exists())

    def test_records_that_are_no_examples(self):
        records = [b"\x0b" * 200, b"\x0f", field(1, field(1, field(2, b"\x0b" * 100))), b"\x0a\xff\xff\xff\xff\x07",
                   named_example({"label": [-1]}), named_example({"label": [10]})]
        self.write("a", *records)
        lines = self.json("show", "--json", "a")
        self.assertEqual(lines[4]["features"], {"label": [-1]})
        self.assertEqual(lines[5]["features"], {"label": [10]})
        for line, data in zip(lines[:4], records):
            self.assertEqual(line["payload"], {"base64": base64.b64encode(data).decode()})

    def test_no_such_file(self):
        self.expect_failure("not there", "show", "not there")
        self.expect_failure("", "show", ".")


if __name__ == "__main__":
    unittest.main()
