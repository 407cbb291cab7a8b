#!/usr/bin/env python3
"""Tests `tfrecord export` to Parquet and Arrow, and `create` from them: what they ask Python for,
and what they make of its answer. tests/python/peers/table_command_test.py has the real package.
"""
import json
import os
import signal
import sys
import time
import unittest

from started import Started
from tfrecord_test_case import PROGRAM, TfrecordTest, named_example

# In place of `python3 -m recordpipe FUNCTION`: notes what it gets, and prints the answer.
INTERPRETER = """#!/bin/sh
echo "$@" > words
cat > asked
cat answer
exit $(cat status)
"""
REPORT = {"files": [{"path": "x.parquet", "records": 1234, "bytes": 5}], "regions_skipped": 0,
          "bytes_skipped": 0, "compressed_bytes_skipped": 0, "records_skipped": 0, "skipped": []}


class TablesTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        interpreter = self.folder / "interpreter"
        interpreter.write_text(INTERPRETER)
        interpreter.chmod(0o755)
        os.environ["RECORDPIPE_PYTHON"] = str(interpreter)
        self.addCleanup(os.environ.pop, "RECORDPIPE_PYTHON")
        self.write("a", named_example({"id": [1]}))
        self.write("b.tfrecord", named_example({"id": [2]}))
        self.answer(REPORT)

    def answer(self, answer, status=0):
        (self.folder / "answer").write_text(json.dumps(answer))
        (self.folder / "status").write_text(str(status))

    def asked(self, function):
        self.assertEqual((self.folder / "words").read_text(), f"-P -m recordpipe {function}\n")
        return json.loads((self.folder / "asked").read_text())


class Export(TablesTest):
    def test_one_table(self):
        self.assertEqual(self.summary("export", "a", "b.tfrecord", "-o", "x.parquet"),
                         "wrote 1,234 records to x.parquet\n")
        self.assertEqual(self.asked("convert"), {
            "check_crc": True, "max_record_size": 2**30, "rename": {},
            "sources": ["a", "b.tfrecord"], "target": "x.parquet"})
        self.assertEqual(self.json("export", "a", "-o", "x.Arrow", "--json"),
                         [{"path": "x.Arrow", "format": "arrow", "records": 1234}])

    def test_options(self):
        region = {"path": "a", "begin": 3, "end": 63, "reason": "length CRC mismatch", "hint": "look"}
        self.answer({**REPORT, "regions_skipped": 2, "bytes_skipped": 70, "skipped": [region]})
        result = self.start(
            "export", "a", "--to", "parquet", "-o", "x.pq", "--where", "id == 1", "--select",
            "id,x", "--rename", "id=key", "--limit", 7, "--skip-corrupt", "--text", "never",
            "--kind", "example", "--threads", 2, "--tmp-dir", ".", "--input-compression", "none",
            "--max-record-size", "1MB", "--json")
        self.assertEqual(result.stderr.decode(), (
            "tfrecord export: a: skipped [3, 63), 60 bytes: length CRC mismatch (look)\n"
            "tfrecord export: and 1 damaged region that are not listed\n"
            "tfrecord export: skipped 2 damaged regions of 70 bytes\n"))
        self.assertEqual(json.loads(result.stdout), {
            "path": "x.pq", "format": "parquet", "records": 1234, "regions_skipped": 2,
            "bytes_skipped": 70, "records_skipped": 0})
        self.assertEqual(self.asked("convert"), {
            "check_crc": True, "max_record_size": 10**6, "rename": {"id": "key"}, "threads": 2,
            "input_compression": "none", "kind": "example", "where": "id == 1",
            "select": ["id", "x"], "limit": 7, "text": "never", "on_damage": "resync",
            "tmp_dir": ".", "sources": ["a"], "target": "x.pq"})

    def test_a_table_of_each_input(self):
        shard = {**REPORT, "input": "a", "path": "out/a.parquet", "records": 1, "bytes": 10,
                 "was_there": True}
        error = {"kind": "corrupted", "path": "b.tfrecord", "offset": 7, "reason": "bad", "hint": ""}
        arguments = ["export", "a", "b.tfrecord", "--to", "parquet", "--to-dir", "out"]
        self.answer({"shards": [shard], "failed": []})
        self.assertEqual(self.summary(*arguments, "--resume"),
                         "wrote 1 record, 10 bytes, to 1 file in out; 1 there already\n")
        self.assertEqual(self.asked("convert_to_dir"), {
            "check_crc": True, "max_record_size": 2**30, "rename": {}, "format": "parquet",
            "sources": ["a", "b.tfrecord"], "folders": [], "folder": "out", "resume": True,
            "keep_going": False})
        self.answer({"shards": [shard], "failed": [{"input": "b.tfrecord", "error": error}]})
        result = self.start(*arguments, "--keep-going", "--json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("tfrecord export: b.tfrecord: bad at 7", result.stderr.decode())
        self.assertEqual([json.loads(line) for line in result.stdout.splitlines()], [
            {"path": "a", "output": "out/a.parquet", "records": 1, "bytes": 10, "was_there": True},
            {"path": "b.tfrecord", "error": self.json_error(result)}])

    def json_error(self, result):
        return json.loads(result.stdout.splitlines()[-1])["error"]

    def test_folders_keep_their_places(self):
        (self.folder / "in/below").mkdir(parents=True)
        for name in ("in/x.tfrecord", "in/below/y.tfrecord"):
            self.write(name, named_example({"id": [1]}))
        self.answer({"shards": [], "failed": []})
        self.run_it("export", "in", "a", "--recursive", "--to", "arrow", "--to-dir", "out")
        asked = self.asked("convert_to_dir")
        self.assertEqual((asked["sources"], asked["folders"]),
                         (["in/below/y.tfrecord", "in/x.tfrecord", "a"], ["in"]))

    def test_folders_without_records(self):
        for folder in "ab":
            (self.folder / "in" / folder).mkdir(parents=True)
        self.write("in/a/x.tfrecord", named_example({"id": [1]}))
        self.answer({"shards": [], "failed": []})
        self.run_it("export", "in/*/", "--recursive", "--to", "arrow", "--to-dir", "out")
        asked = self.asked("convert_to_dir")
        self.assertEqual((asked["sources"], asked["folders"]),
                         (["in/a/x.tfrecord"], ["in/a/", "in/b/"]))

    def test_named_files_that_their_folder_leaves_out(self):
        (self.folder / "in").mkdir()
        (self.folder / "e").mkdir()
        named = ["in/other.bin", "in/_h.tfrecord", "in/.h.tfrecord", "in/../e/z.tfrecord"]
        for name in ("in/x.tfrecord", *named):
            self.write(name, named_example({"id": [1]}))
        self.answer({"shards": [], "failed": []})
        self.run_it("export", "in", *named, "--recursive", "--to", "arrow", "--to-dir", "out")
        self.assertEqual(self.asked("convert_to_dir")["sources"], ["in/x.tfrecord", *named])

    def test_a_folder_named_tilde_is_not_the_home_folder(self):
        (self.folder / "~").mkdir()
        self.write("~/a.tfrecord", named_example({"id": [1]}))
        self.assertEqual(self.summary("export", "~/a.tfrecord", "-o", "~/x.parquet", "--tmp-dir", "~"),
                         "wrote 1,234 records to ~/x.parquet\n")
        asked = self.asked("convert")
        self.assertEqual((asked["sources"], asked["target"], asked["tmp_dir"]),
                         (["./~/a.tfrecord"], "./~/x.parquet", "./~"))
        shard = {**REPORT, "input": "./~/a.tfrecord", "path": "./~/out/a.arrow", "records": 1,
                 "bytes": 10, "was_there": False}
        self.answer({"shards": [shard], "failed": []})
        lines = self.json("export", "~", "--recursive", "--to", "arrow", "--to-dir", "~/out", "--json")
        self.assertEqual(lines[0]["output"], "~/out/a.arrow")
        asked = self.asked("convert_to_dir")
        self.assertEqual((asked["sources"], asked["folders"], asked["folder"]),
                         (["./~/a.tfrecord"], ["./~"], "./~/out"))

    def test_errors(self):
        self.answer({"error": {"kind": "not_found", "path": "a", "offset": None, "reason": "no record has a "
                     "feature 'x'", "hint": "look"}}, status=2)
        self.expect_failure("tfrecord export: a: no record has a feature 'x' (look)", "export", "a",
                            "-o", "x.parquet")
        # It has the package, and ends by itself.
        (self.folder / "interpreter").write_text("#!/bin/sh\ntest $2 = -c || exit 137\n")
        for arguments in (["export", "a", "-o", "x.arrow"], ["create", "t.parquet", "-o", "x"]):
            (self.folder / "t.parquet").touch()
            self.expect_failure("interpreter has ended with exit status 137, and without an answer",
                                *arguments)
        os.environ["RECORDPIPE_PYTHON"] = "no-such-python"
        for arguments in (["export", "a", "-o", "x.arrow"], ["create", "t.parquet", "-o", "x"]):
            self.expect_failure("need the Python package recordpipe, which no-such-python can't run "
                                "(install it with pyarrow", *arguments)
        self.assertEqual(sorted(self.folder.glob("*x*")), [])

    def test_usage(self):
        for words, *arguments in (
                ("should end in .parquet", "-o", "x", "--to", "parquet"),
                ("should end in .arrow", "-o", "-", "--to", "arrow"),
                ("the name of Arrow, and parquet", "-o", "x.arrow", "--to", "parquet"),
                ("the name of Parquet, and csv", "-o", "x.parquet", "--to", "csv"),
                ("--rename and --text are for parquet", "-o", "x.csv", "--rename", "id=key"),
                ("--rename and --text are for parquet", "-o", "x.csv", "--text", "never"),
                *((f"{word} is for CSV" if word == "--delimiter" else " for ", "-o", name, word, value)
                  for name in ("x.parquet", "x.arrow", "x.jsonl", "x.csv")
                  for word, value in (("--label", "id"), ("--labels", "a"), ("--image", "id"),
                                      ("--name", "id"), ("--shape", "2x2"), ("--layout", "chw"),
                                      ("--delimiter", ";")) if (name, word) != ("x.csv", "--delimiter")),
                ("--to-dir is for --to parquet", "--to-dir", "out", "--to", "csv"),
                ("--to-dir is for --to parquet", "--to-dir", "out"),
                ("give -o FILE, or --to-dir DIR",),
                ("two outputs", "-o", "x.parquet", "--to-dir", "out", "--to", "parquet"),
                ("--limit is of all inputs together: it needs -o, not --to-dir", "--limit", 1,
                 "--to-dir", "out", "--to", "parquet"),
                ("should be OLD=NEW", "-o", "x.parquet", "--rename", "id")):
            with self.subTest(arguments):
                self.expect_failure(words, "export", "a", *arguments)
        self.expect_failure("standard input must be read twice", "export", "-", "-o", "x.parquet", input=b"")
        (self.folder / "out").mkdir()
        (self.folder / "out/a.parquet").touch()
        self.expect_failure("out/a.parquet: exists", "export", "a", "--to", "parquet", "--to-dir",
                            "out", "--no-clobber")

    def test_ctrl_c_stops_python(self):
        (self.folder / "interpreter").write_text(
            f"#!{sys.executable}\nimport pathlib, time\n"
            # Within the try: the signal may come as soon as the file is there.
            "try:\n    pathlib.Path('began').touch()\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    pathlib.Path('stopped').touch()\n")
        with Started([PROGRAM, "export", "a", "-o", "x.parquet"], cwd=self.folder) as process:
            while not (self.folder / "began").exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(30), 130)
        self.assertTrue((self.folder / "stopped").exists())


class Create(TablesTest):
    # Copies the file `a` to where the records are wanted.
    COPYING = """#!/usr/bin/env python3
import json, shutil, sys
asked = json.load(sys.stdin)
json.dump(asked, open("asked", "w"))
shutil.copy("a", asked["target"])
print(open("answer").read())
"""

    def setUp(self):
        super().setUp()
        (self.folder / "interpreter").write_text(self.COPYING)
        (self.folder / "t.parquet").touch()
        self.answer({**REPORT, "files": [{"path": "", "records": 1, "bytes": 0}]})

    def test_all_outputs(self):
        expected = (self.folder / "a").read_bytes()
        self.assertRegex(self.summary("create", "t.parquet", "-o", "x"), "wrote 1 record, .* to x\n")
        self.assertEqual((self.folder / "x").read_bytes(), expected)
        asked = json.loads((self.folder / "asked").read_text())
        self.assertEqual(asked["sources"], ["t.parquet"])
        self.assertFalse(os.path.exists(os.path.dirname(asked["target"])))
        self.assertEqual(self.start("create", "t.parquet", "-o", "-").stdout, expected)
        (self.folder / "~").mkdir()
        (self.folder / "~/t.parquet").touch()
        self.run_it("create", "~/t.parquet", "-o", "~/x")
        asked = json.loads((self.folder / "asked").read_text())
        self.assertEqual(asked["sources"], ["./~/t.parquet"])
        self.assertTrue(asked["target"].startswith("./~/"), asked)
        self.assertEqual((self.folder / "~/x").read_bytes(), expected)
        self.run_it("create", "t.parquet", "--from", "parquet", "-o", "y", "--shards", 1)
        self.assertEqual((self.folder / "y-00000-of-00001").read_bytes(), expected)

    def test_usage(self):
        for words, *arguments in (("of parquet files end in .parquet", "a", "--from", "parquet"),
                                  ("of arrow files end in .arrow", "-", "--from", "arrow"),
                                  ("several formats", "t.parquet", "t.arrow"),
                                  ("--types is for JSON", "t.parquet", "--types", "id=bytes")):
            with self.subTest(arguments):
                self.expect_failure(words, "create", *arguments, "-o", "x")
        for words, *arguments in (("--to-dir is for parquet and arrow", "a.csv", "--to-dir", "out"),
                                  ("they need -o, not --to-dir", "t.parquet", "--to-dir", "out",
                                   "--shards", 2),
                                  ("give --compression", "t.parquet", "--to-dir", "out", "--level", 3),
                                  ("--types is for JSON", "t.parquet", "--to-dir", "out", "--types",
                                   "id=bytes"),
                                  ("two outputs", "t.parquet", "--to-dir", "out", "-o", "x"),
                                  ("give -o FILE, or --to-dir DIR", "t.parquet")):
            with self.subTest(arguments):
                self.expect_failure(words, "create", *arguments)
        (self.folder / "out").mkdir()
        (self.folder / "out/t.tfrecord.gz").touch()
        self.expect_failure("out/t.tfrecord.gz: exists", "create", "t.parquet", "--to-dir", "out",
                            "--compression", "gzip", "--no-clobber")

    def test_a_file_of_each_table(self):
        (self.folder / "interpreter").write_text(INTERPRETER)
        shard = {**REPORT, "input": "t.parquet", "path": "out/t.tfrecord.gz", "records": 1, "bytes": 10,
                 "was_there": False}
        error = {"kind": "corrupted", "path": "u.pq", "offset": None, "reason": "bad", "hint": ""}
        self.answer({"shards": [shard], "failed": [{"input": "u.pq", "error": error}]})
        (self.folder / "u.pq").touch()
        result = self.start("create", "t.parquet", "u.pq", "--to-dir", "out", "--compression", "gzip",
                            "--level", "fast", "--threads", 2, "--tmp-dir", "~", "--keep-going",
                            "--resume")
        self.assertEqual(result.returncode, 2)
        self.assertIn("tfrecord create: u.pq: bad\n", result.stderr.decode())
        self.assertIn("wrote 1 record, 10 bytes, to 1 file in out; 1 failed\n", result.stderr.decode())
        self.assertEqual(self.asked("convert_to_dir"), {
            "compression": "gzip", "level": "fast", "threads": 2, "tmp_dir": "./~", "sources": ["t.parquet", "u.pq"],
            "folders": [], "folder": "out", "resume": True, "keep_going": True})


if __name__ == "__main__":
    unittest.main()
