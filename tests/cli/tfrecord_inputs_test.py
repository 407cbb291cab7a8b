"""Tests what names inputs of tfrecord's subcommands: folders, patterns, braces, sets of shards and
lists of files."""
import json
import os
import subprocess
import unittest

from tfrecord_test_case import (PROGRAM, TfrecordTest, example, int64_feature, named_example,
                                record)

RECORDS = [example(n=int64_feature(i)) for i in range(4)]
# Every command that reads record files, with the arguments that it needs besides files.
COMMANDS = {
    "info": ["--json"], "verify": ["--json"], "show": ["--json"], "schema": ["--json"],
    "stats": ["--json"], "index": ["--check"], "convert": ["-o", "out"],
    "salvage": ["-o", "out"], "export": ["-o", "out.jsonl"], "view": ["-o", "out.html"],
    "bench": ["--seconds", "0.01"],
}


class InputsTest(TfrecordTest):
    def paths(self, *arguments, **options):
        """Returns the paths that a command finds, in order."""
        return [entry["path"] for entry in self.json("verify", "--json", *arguments, **options)]

    def make(self, *names):
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, RECORDS[0])


class Names(InputsTest):
    def test_files_of_a_folder_that_are_left_out_are_noted(self):
        os.mkdir(self.folder / "sets")
        one = record(named_example({"a": [1]}))
        for name in ("val.tfrecord", "train.record", "README.md", "features.json", "_SUCCESS",
                     "val.tfrecord.idx"):
            (self.folder / "sets" / name).write_bytes(one)
        result = self.start("count", "sets")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"1", result.stdout)
        self.assertEqual(
            result.stderr.decode(), "tfrecord: left out 1 file of a folder, sets/train.record: names "
            "of record files contain \"tfrec\"; to read others, name them, or use a pattern: "
            "FOLDER/*\n")
        for files in (["sets/val.tfrecord"], ["sets/*"]):
            self.assertEqual(self.start("count", *files).stderr, b"")
        (self.folder / "sets/train.record").unlink()
        self.assertEqual(self.start("count", "sets").stderr, b"")

    def test_indexes_that_a_shell_names_are_left_out(self):
        self.make("a", "b")
        self.run_it("index", "a", "b")
        result = self.start("verify", "-q", *sorted(os.listdir(self.folder)))
        self.assertEqual((result.returncode, result.stderr.decode()),
                         (0, "tfrecord: left out a.idx, b.idx: the indexes of other inputs\n"))
        # An index alone is what was meant, or a mistake.
        self.expect_failure("this is the index of a file of records", "show", "a.idx")

    def test_folders(self):
        self.make("d/b.tfrecord", "d/a.tfrecords", "d/other", "d/.c.tfrecord", "d/e/c.tfrecord",
                  "d/e/f/d-00000-of-00001")
        self.run_it("index", "d")
        self.assertTrue((self.folder / "d/b.tfrecord.idx").exists())
        files = ["d/a.tfrecords", "d/b.tfrecord"]
        below = ["d/e/c.tfrecord", "d/e/f/d-00000-of-00001"]
        self.assertEqual(self.paths("d"), files)
        self.assertEqual(self.paths("d/"), files)
        self.assertEqual(self.paths("d", "--recursive"), files + below)
        self.assertEqual(self.paths("d/**/"), files + below)
        self.assertEqual(self.paths("d/**/*.tfrecord"), ["d/b.tfrecord", "d/e/c.tfrecord"])
        (self.folder / "d/e/up").symlink_to("..")
        self.assertEqual(self.paths("d", "--recursive"), files + below)

    def test_a_folder_without_record_files(self):
        self.make("d/other", "d/e/a.tfrecord")
        self.expect_failure("d: no record files are in this folder", "verify", "d")

    def test_braces_and_shards(self):
        self.make("a-1", "a-2", "b-1", "b-2", *(f"t-0000{i}-of-00003" for i in range(3)))
        self.assertEqual(self.paths("{b,a}-{1..2}"), ["b-1", "b-2", "a-1", "a-2"])
        self.assertEqual(self.paths("t@3", "a-?"),
                         [*(f"t-0000{i}-of-00003" for i in range(3)), "a-1", "a-2"])
        self.expect_failure("t@4: 4 of 4 files do not exist; the first is t-00000-of-00004",
                            "verify", "t@4")
        self.expect_failure("2 of 4 files do not exist; the first is a-3", "info", "a-{1..4}")
        self.expect_failure("more than 1000000", "info", "{0..99999999999}")

    def test_names_that_exist_are_no_patterns(self):
        self.make("a{1,2}", "t@3", "*")
        self.assertEqual(self.paths("a{1,2}", "t@3", "*"), ["a{1,2}", "t@3", "*"])

    def test_an_output_never_replaces_an_input(self):
        self.make("d/a.tfrecord", "d/b.tfrecord")
        for name in ("d", "d/{a,b}.tfrecord", "d/**/*.tfrecord"):
            self.expect_failure("is one of the files", "salvage", name, "-o", "d/b.tfrecord")
        self.expect_failure("is one of the files", "salvage", "--files-from", "-", "-o",
                            "d/b.tfrecord", input=b"d/a.tfrecord\nd/b.tfrecord\n")
        (self.folder / "list").write_text("d/a.tfrecord\n")
        self.expect_failure("is one of the files", "salvage", "--files-from", "list", "-o", "list")


class Lists(InputsTest):
    def setUp(self):
        super().setUp()
        self.make("a", "b c", "[x]", "d/e.tfrecord", "d/f/g.tfrecord")

    def test_paths_of_a_list_are_literal(self):
        (self.folder / "list").write_bytes(b"\n[x]\r\n \t\nd\nb c")
        self.assertEqual(self.paths("--files-from", "list"), ["[x]", "d/e.tfrecord", "b c"])
        self.assertEqual(self.paths("a", "--files-from", "list", "--recursive"),
                         ["a", "[x]", "d/e.tfrecord", "d/f/g.tfrecord", "b c"])
        (self.folder / "list").write_bytes(b"a*\n{a,a}\nmissing\na\n")
        result = self.start("verify", "--json", "--files-from", "list")
        self.assertEqual(result.returncode, 2)
        self.assertEqual([json.loads(line)["path"] for line in result.stdout.splitlines()],
                         ["a*", "{a,a}", "missing", "a"])

    def test_standard_input(self):
        self.assertEqual(self.paths("--files-from", "-", input=b"a\nb c\n"), ["a", "b c"])
        # For two passes over the inputs, the list is read once.
        self.summary("convert", "--files-from", "-", "-o", "out", "--shards", "2", input=b"a\nb c\n")
        self.assertEqual(self.paths("out@2"), ["out-00000-of-00002", "out-00001-of-00002"])
        self.expect_failure("standard input can be read once only", "verify", "-", "--files-from",
                            "-", input=b"a")
        # A file with this name, not standard input.
        self.make("-")
        self.assertEqual(self.paths("--files-from", "-", input=b"-\n"), ["./-"])

    def test_null_bytes(self):
        self.make("x\ny")
        names = b"x\ny\0\0b c\0"
        for option in ("--null", "-0"):
            result = self.start("verify", "--json", "--files-from", "-", option, input=names)
            self.assertEqual([json.loads(line)["path"] for line in result.stdout.splitlines()],
                             ["x\ny", "b c"])
        self.expect_failure("null byte", "verify", "--files-from", "-", input=names)
        self.assertIn("--files-from", self.run_it("verify", "a", "--null", status=2))
        found = subprocess.run(["find", ".", "-name", "e.*", "-print0"], cwd=self.folder,
                               capture_output=True, check=True).stdout
        self.assertEqual(self.paths("-0", "--files-from", "-", input=found), ["./d/e.tfrecord"])

    def test_lists_without_files(self):
        self.assertIn("FILE or --files-from is required", self.run_it("verify", status=2))
        self.assertIn("INPUT or --files-from is required",
                      self.run_it("create", "-o", "out", status=2))
        self.expect_failure("the list is empty", "verify", "--files-from", "-", input=b"\n\n")
        self.expect_failure("missing", "verify", "--files-from", "missing")
        self.expect_failure("directory", "verify", "--files-from", "d")


class EveryCommand(InputsTest):
    def test_reads_every_kind_of_name(self):
        self.make("d/s-00000-of-00002", "d/s-00001-of-00002")
        plain = ["d/s-00000-of-00002", "d/s-00001-of-00002"]
        self.run_it("index", "d")
        kinds = {"folder": ["d"], "recursive": [".", "--recursive"], "braces": ["d/s-{00000..00001}-of-00002"],
                 "shards": ["d/s@2"], "globstar": ["**/s-*"], "list": ["--files-from", "list"]}
        (self.folder / "list").write_text("\n".join(plain))

        def results(command, names):
            result = self.start(command, *names, *COMMANDS[command])
            self.assertEqual(result.returncode, 0, result.stderr)
            parts = [result.stdout]
            parts += [path.read_bytes() for path in sorted(self.folder.glob("out*"))]
            for path in self.folder.glob("out*"):
                path.unlink()
            if command == "bench":
                return result.stdout.count(b"records\n")
            return [part.replace(b"./d/s", b"d/s") for part in parts]

        for command in COMMANDS:
            expected = results(command, plain)
            for kind, names in kinds.items():
                with self.subTest(command=command, kind=kind):
                    self.assertEqual(results(command, names), expected)

    def test_diff(self):
        self.make("d/s-00000-of-00002", "d/s-00001-of-00002", "e/f/a.tfrecord", "e/b.tfrecord")
        self.write("both", RECORDS[0], RECORDS[0])
        for side in ("d", "d/s@2", "d/s-{00000,00001}-of-00002", "d/**/*",
                     "d/s-{00000,00000}-of-00002", "d/s-00000-of-00002,d/s-0000{1,1}-of-00002"):
            status = 1 if side.count("1,1") else 0
            result = self.start("diff", "both", side)
            self.assertEqual(result.returncode, status, (side, result.stderr))
        self.run_it("diff", "e", "d", status=1)
        self.assertEqual(self.start("diff", "e", "d", "--recursive").returncode, 0)

    def test_create(self):
        for i in range(3):
            (self.folder / f"j-{i}.jsonl").write_text('{"n": %d}\n' % i)
        (self.folder / "list").write_text("j-0.jsonl\nj-1.jsonl\nj-2.jsonl\n")
        for names in (["j-{0..2}.jsonl"], ["--files-from", "list"], ["**/*.jsonl"]):
            self.summary("create", *names, "-o", "out")
            shown = self.json("show", "--json", "out")
            self.assertEqual([record["features"]["n"] for record in shown], [[0], [1], [2]])
        # A folder is one of images, not of record files.
        self.make("d/a.tfrecord")
        self.expect_failure("no image", "create", "d", "-o", "images")
        self.assertIn("--recursive", self.run_it("create", "d", "--recursive", "-o", "images",
                                                 status=2))


if __name__ == "__main__":
    unittest.main()
