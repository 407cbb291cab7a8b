#!/usr/bin/env python3
"""Tests tfrecord show --proto: records of a type that the user describes."""
import shutil
import struct
import subprocess
import unittest

from tfrecord_test_case import TfrecordTest

from example_bytes import field, varint  # tfrecord_test_case knows where

SOURCE = """
syntax = "proto3";
package drive;
import "common/image.proto";
message Frame {
  Context context = 1;
  int64 time = 2;
  repeated Image images = 4;
  double speed = 5;
  map<string, bool> flags = 6;
}
message Context { string name = 1; }
"""
IMAGE = """
syntax = "proto3";
package drive;
enum Camera { UNKNOWN = 0; FRONT = 1; REAR = 2; }
message Image { Camera camera = 1; bytes image = 2; }
"""


def frame(time, *cameras, speed=1.5, more=b""):
    images = b"".join(field(4, b"\x08" + varint(camera) + field(2, b"\xff\x00"))
                      for camera in cameras)
    flag = field(6, field(1, b"night") + b"\x10\x01")
    return (field(1, field(1, b"drive-7")) + b"\x10" + varint(time) + images + b"\x29"
            + struct.pack("<d", speed) + flag + more)


class Proto(TfrecordTest):
    def setUp(self):
        super().setUp()
        if b"without Protocol Buffers" in self.start("show", "x", "--proto", "x.proto",
                                                     "--message", "M").stderr:
            self.skipTest("tfrecord was built without Protocol Buffers")
        (self.folder / "common").mkdir()
        (self.folder / "frame.proto").write_text(SOURCE)
        (self.folder / "common/image.proto").write_text(IMAGE)
        self.write("a", frame(5, 1, 2), frame(9, 2, speed=-2.0))
        self.proto = ["--proto", "frame.proto", "--message", "Frame"]

    def test_records_before_one_that_is_no_such_message(self):
        self.write("a", *(frame(i, 1) for i in range(300)), b"\xff")
        self.assertEqual(len(self.json("show", "a", *self.proto, "--json", "--limit", 300)), 300)
        for arguments in (["--json"], []):
            result = self.start("show", "a", *self.proto, *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stdout.count(b"drive-7"), 300)
            self.assertIn(b"not a drive.Frame", result.stderr)

    def test_json(self):
        first, second = self.json("show", "a", *self.proto, "--json")
        self.assertEqual(first, {
            "record": 0, "offset": 0,
            "message": {"context": {"name": "drive-7"}, "time": "5", "speed": 1.5,
                        "images": [{"camera": "FRONT", "image": "/wA="},
                                   {"camera": "REAR", "image": "/wA="}],
                        "flags": {"night": True}}})
        self.assertEqual(second["message"]["time"], "9")

    def test_text(self):
        text = self.run_it("show", "a", *self.proto, "--record", "1")
        self.assertIn("drive.Frame, ", text)
        self.assertIn('\n  context {\n    name: "drive-7"\n  }\n  time: 9\n', text)

    def test_where(self):
        for where, records in (("images.camera == 'FRONT'", [0]), ("time > 5", [1]),
                               ("speed < 0 or flags.value == 0", [1]), ("len(images.image) == 2", [0]),
                               ("context.name == 'drive-7'", [0, 1])):
            with self.subTest(where=where):
                shown = self.json("show", "a", *self.proto, "--json", "--where", where)
                self.assertEqual([line["record"] for line in shown], records)
        error = self.run_it("show", "a", *self.proto, "--where", "x == 1", status=2)
        self.assertRegex(error, "x, which no record has; there are .*context.name")

    def test_descriptor_set(self):
        if not shutil.which("protoc"):
            self.skipTest("no protoc")
        subprocess.run(["protoc", "--include_imports", "--descriptor_set_out=set.pb",
                        "frame.proto"], cwd=self.folder, check=True)
        compiled = ["--proto", "set.pb", "--message", "drive.Frame"]
        self.assertEqual(self.run_it("show", "a", *compiled, "--json"),
                         self.run_it("show", "a", *self.proto, "--json"))

    def test_imports_elsewhere(self):
        (self.folder / "sub").mkdir()
        (self.folder / "sub/frame.proto").write_text(SOURCE)
        shutil.move(self.folder / "common", self.folder / "sub2")
        (self.folder / "imports").mkdir()
        shutil.move(self.folder / "sub2", self.folder / "imports/common")
        given = ["--proto", "sub/frame.proto", "--message", "Frame"]
        error = self.run_it("show", "a", *given, status=2)
        self.assertIn("image.proto", error)
        self.assertIn("--proto-path", error)
        self.assertEqual(len(self.json("show", "a", *given, "--proto-path", "imports", "--json")), 2)
        self.assertEqual(len(self.json("show", "--json", *given, "--proto-path", "imports", "a", "a")), 4)

    def test_numbers_are_compared_exactly(self):
        (self.folder / "n.proto").write_text(
            'syntax = "proto3";\nmessage N { double d = 1; repeated uint64 u = 2; float f = 3; }\n')
        def message(double, *numbers):
            return (b"\x09" + struct.pack("<d", double) + b"".join(b"\x10" + varint(n) for n in numbers)
                    + b"\x1d" + struct.pack("<f", 0.1))
        self.write("d", message(1507678826.25, 2**64 - 1), message(1e300, 3, 2**63),
                   message(float("nan"), 5))
        for where, expected in (
                ("d > 1507678826", [0, 1]), ("d == 1507678826.25", [0]), ("d < 1507678826.26", [0]),
                ("d > 1507678826.25", [1]), ("d >= 1e300", [1]), ("d in [1e300, 2]", [1]),
                ("d != 3", [0, 1, 2]), ("len(d) == 1", [0, 1, 2]), ("f == 0.1", [0, 1, 2]),
                ("u > 5", [0, 1]), ("u < 0", []), ("u == 3", [1]), ("u == 9223372036854775808.0", [1]),
                ("u > 9223372036854775807", [0, 1]), ("u > 1.5e19", [0]), ("u < 1e20", [0, 1, 2]),
                ("u == 9223372036854775808", [1]), ("u >= 18446744073709551615", [0]),
                ("u in [18446744073709551615, 5]", [0, 2]), ("d < 18446744073709551615", [0]),
                ("u not in [3, 5]", [0, 1]), ("len(u) == 2 and has(d)", [1])):
            with self.subTest(where=where):
                shown = self.json("show", "d", "--proto", "n.proto", "--message", "N", "--json",
                                  "--where", where)
                self.assertEqual([line["record"] for line in shown], expected)
        error = self.run_it("show", "d", "--proto", "n.proto", "--message", "N", "--where", "d == 'x'",
                            status=2)
        self.assertIn("--where compares d with a string, but its values are float", error)

    def test_required_fields(self):
        (self.folder / "old.proto").write_text(
            'syntax = "proto2";\nmessage Old { required int32 a = 1; optional string s = 2; }\n')
        self.write("r", b"\x12\x01\xff")
        given = ["--proto", "old.proto", "--message", "Old"]
        result = self.start("show", "r", *given, "--json")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"r: can't be printed as JSON: required fields are missing: a", result.stderr)
        self.assertNotIn(b"libprotobuf", result.stderr)
        self.assertEqual(self.start("show", "r", *given).stderr, b"")

    def test_json_refuses_what_it_would_leave_out(self):
        (self.folder / "old.proto").write_text(
            'syntax = "proto2";\n'
            "message Old { optional group G = 1 { optional int32 z = 2; } optional Old old = 3;\n"
            "  extensions 10 to 20; }\n"
            "extend Old { repeated int32 more = 10; }\n")
        self.write("group", b"\x0b\x10\x04\x0c")
        self.write("extension", field(3, b"\x50\x05"))
        given = ["--proto", "old.proto", "--message", "Old"]
        for name, why, printed in (("group", "g is a group", "G {"),
                                   ("extension", "more is an extension", "[more]: 5")):
            error = self.run_it("show", name, *given, "--json", status=2)
            self.assertIn(f"{name}: can't be printed as JSON: {why}", error)
            self.assertIn(printed, self.run_it("show", name, *given))

    def test_where_knows_fields_that_no_record_sets(self):
        self.write("a", frame(0, 0), frame(0))
        for where, records in (("not time == 1", 2), ("time == 1", 0), ("images.image == 'x'", 0),
                               ("not context.name == 'x'", 2)):
            shown = self.json("show", "a", *self.proto, "--json", "--where", where)
            self.assertEqual(len(shown), records, where)
        for name in ("context.nam", "time.x"):
            error = self.run_it("show", "a", *self.proto, "--where", f"{name} == 1", status=2)
            self.assertIn(f"{name}, which no record has", error)

    def test_unknown_fields_are_counted(self):
        self.write("b", frame(5, more=field(15, b"later")))
        line, = self.json("show", "b", *self.proto, "--json")
        self.assertEqual(line["unknown_fields"], 1)
        self.assertIn('15: "later"', self.run_it("show", "b", *self.proto))

    def test_errors(self):
        self.write("c", b"\xff\xff\xff")
        (self.folder / "bad.proto").write_text('syntax = "proto3";\nmessage M { int32 }\n')
        (self.folder / "set").write_bytes(b"no set")
        for arguments, words in (
                (["c", *self.proto], "c: not a drive.Frame"),
                (["a", "--proto", "frame.proto"], "--proto FILE and --message NAME go together"),
                (["a", "--proto", "no.proto", "--message", "M"], "no.proto: no such file"),
                (["a", "--proto", "bad.proto", "--message", "M"], "bad.proto:2:"),
                (["a", "--proto", "set", "--message", "M"], "neither a .proto file nor a"),
                (["a", "--proto", "frame.proto", "--message", "N"],
                 "no message N; there are drive.Frame, drive.Context"),
                (["a", *self.proto, "--kind", "example"], "exclude each other")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.run_it("show", *arguments, status=2))


if __name__ == "__main__":
    unittest.main()
