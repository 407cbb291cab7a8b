#!/usr/bin/env python3
"""Tests what subcommands have in common: destinations of results, and invalid command lines."""
import itertools
import json
import os
import subprocess
import unittest

from tfrecord_test_case import PROGRAM, TfrecordTest, named_example, record

READERS = ["info", "verify", "salvage", "show", "head", "tail", "grep label>0", "count", "cat",
           "schema", "stats", "index", "export --to json", "view", "bench"]


class Output(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.content = self.write("a.tfrecords", named_example({"label": [3]})).read_bytes()
        (self.folder / "a.csv").write_text("label\n3\n")
        os.symlink("a.tfrecords", self.folder / "link")
        os.link(self.folder / "a.tfrecords", self.folder / "same")

    def test_an_input_is_not_replaced_by_something_else(self):
        for command in READERS:
            for given in ("a.tfrecords", "*.tfrecords", "./a.tfrecords", "link", "same"):
                with self.subTest(command=command, given=given):
                    self.expect_failure("-o a.tfrecords is one of the files that are read",
                                        *command.split(), given, "-o", "a.tfrecords", status=2)
                    self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)
        self.expect_failure("is one of the files", "diff", "same", "a.tfrecords", "-o", "link",
                            status=2)
        self.expect_failure("is one of the files", "create", "a.csv", "-o", "a.csv", status=2)

    def test_an_input_is_not_replaced_by_a_part_of_it(self):
        for options in (["--where", "label == 3"], ["--limit", "1"], ["--sample", "1"],
                        ["--sample-count", "1"], ["--select", "label"], ["--drop", "label"],
                        ["--skip-corrupt"]):
            self.expect_failure("-o a.tfrecords is one of the files that are read", "convert",
                                "same", "-o", "a.tfrecords", *options, status=2)
            self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)

    def test_an_input_is_not_replaced_by_a_shard(self):
        shard = self.folder / "out-00000-of-00002"
        shard.write_text("label\n3\n")
        os.symlink(shard.name, self.folder / "out-00001-of-00003")
        for options in (["--shards", "2"], ["--shards", "3"], ["--max-bytes", "1MB"]):
            with self.subTest(options):
                self.expect_failure("is one of the files that are read", "create", shard.name,
                                    "--from", "csv", "-o", "out", *options, status=2)
                self.assertEqual(shard.read_text(), "label\n3\n")
        self.run_it("create", shard.name, "--from", "csv", "-o", "out", "--shards", "4")
        self.expect_failure("no/out-00000-of-00002: open failed", "create", "a.csv",
                            "-o", "no/out", "--shards", "2")

    def test_what_an_option_names_is_not_replaced_either(self):
        (self.folder / "labels").write_text("cat\ndog\n")
        for options in ([], ["--max-bytes", "1MB"]):
            self.expect_failure("-o labels is one of the files", "view", "a.tfrecords", "--labels",
                                "./labels", "-o", "labels", *options, status=2)
        self.assertEqual((self.folder / "labels").read_text(), "cat\ndog\n")

    def test_an_index_is_not_written_over_records(self):
        os.rename(self.folder / "a.tfrecords", self.folder / "same.idx")
        self.expect_failure("same.idx is one of the files that are read", "index", "same",
                            "same.idx", status=2)
        self.assertEqual((self.folder / "same.idx").read_bytes(), self.content)

    def test_an_input_is_not_replaced_by_what_is_made_of_standard_input(self):
        for command in READERS:
            with self.subTest(command), open(self.folder / "a.tfrecords") as stdin:
                self.expect_failure("-o a.tfrecords is one of the files", *command.split(), "-",
                                    "-o", "a.tfrecords", status=2, stdin=stdin)
                self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)

    def test_standard_output_is_not_appended_to_an_input(self):
        for command in [*READERS, "convert"]:
            with self.subTest(command), open(self.folder / "a.tfrecords", "ab") as stdout:
                result = subprocess.run([PROGRAM, *command.split(), "link", "-o", "-"],
                                        cwd=self.folder, stdout=stdout, stderr=subprocess.PIPE,
                                        timeout=120, check=False)
                self.assertEqual(result.returncode, 2)
                self.assertIn(b"standard output goes to one of the files that are read",
                              result.stderr)
                self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)

    def test_records_may_take_the_place_of_records(self):
        self.run_it("convert", "a.tfrecords", "-o", "a.tfrecords")
        self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)

    def test_one_of_several_inputs_is_not_replaced_by_all_of_their_records(self):
        other = self.write("b", named_example({"label": [4]})).read_bytes()
        (self.folder / "list").write_text("b\nsame\n")
        for inputs in (["a.tfrecords", "b"], ["b", "link"], ["same", "same"],
                       ["--files-from", "list"]):
            with self.subTest(inputs):
                self.expect_failure("-o a.tfrecords is one of the files that are read", "convert",
                                    *inputs, "-o", "a.tfrecords")
        self.run_it("convert", "b", "a.tfrecords", "-o", "out", "--shards", 2)
        self.expect_failure("out-00000-of-00002 is one of the files that are read", "convert",
                            "out-0000[01]-of-00002", "-o", "out", "--shards", 2)
        self.assertEqual((self.folder / "a.tfrecords").read_bytes(), self.content)
        self.assertEqual((self.folder / "b").read_bytes(), other)

    def test_no_clobber(self):
        (self.folder / "out").write_bytes(b"old")
        (self.folder / "out-00001-of-00002").write_bytes(b"old")
        os.mkdir(self.folder / "out.d")
        (self.folder / "out.d/a.tfrecords").write_bytes(b"old")
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        for arguments in ([*command.split(), "a.tfrecords", "-o", "out"] for command in READERS):
            with self.subTest(arguments):
                self.expect_failure("out: exists, and would be replaced", *arguments,
                                    "--no-clobber")
        for arguments in (["create", "a.csv", "-o", "out"], ["convert", "same", "-o", "a.tfrecords"],
                          ["convert", "link", "-o", "out", "--shards", 2],
                          ["convert", "a.tfrecords", "--to-dir", "out.d"],
                          ["salvage", "a.tfrecords", "--to-dir", "out.d"]):
            with self.subTest(arguments):
                self.expect_failure("exists, and would be replaced", *arguments, "--no-clobber")
        self.assertEqual(before, {path: path.read_bytes() for path in self.folder.rglob("*")
                                  if path.is_file()})
        self.run_it("convert", "a.tfrecords", "-o", "/dev/null", "--no-clobber")
        self.run_it("convert", "a.tfrecords", "-o", "new", "--no-clobber")
        self.expect_failure("new: exists", "convert", "a.tfrecords", "-o", "new", "--no-clobber")

    def test_the_name_of_another_format(self):
        for name, words in (("out.csv", "the name of CSV, and TFRecords would be written (tfrecord "
                                        "export writes CSV)"),
                            ("out.NPZ", "tfrecord export writes NumPy arrays"),
                            ("out.jsonl.gz", "tfrecord export writes JSON lines"),
                            ("out.tar", "tfrecord export writes a tar archive"),
                            ("out.parquet", "tfrecord export writes Parquet"),
                            ("out.tfrecord.xz", "compressions of TFRecords are NAME.gz"),
                            ("out.h5", "give the TFRecords another name")):
            for command in (["convert", "a.tfrecords"], ["convert", "a.tfrecords", "--shards", 2],
                            ["cat", "a.tfrecords"], ["salvage", "a.tfrecords"],
                            ["create", "a.csv"]):
                with self.subTest(name=name, command=command):
                    self.expect_failure(words, *command, "-o", name)
        for ending in ("html png JPG txt avro orc pkl pt 7z libsvm svm safetensors lmdb arrayrecord mat "
                       "lzma pdf pb").split():
            with self.subTest(ending):
                self.expect_failure("this is the name of", "convert", "a.tfrecords", "-o",
                                    f"out.{ending}")
        for name, format, words in (("out.parquet", "csv", "the name of Parquet, and csv"),
                                    ("out.csv", "json", "the name of CSV, and json"),
                                    ("out.jsonl.gz", "json", "the name of a compressed file"),
                                    ("out.tfrecord", "npz", "tfrecord convert writes TFRecords")):
            with self.subTest(name):
                self.expect_failure(words, "export", "a.tfrecords", "--to", format, "-o", name)
        # Results that are no records, in every command that writes one.
        for command in READERS:
            if command.split()[0] in ("salvage", "cat", "export"):
                continue
            for name in "out.tfrecord", "out.png", "out.csv.gz", "out.parquet":
                with self.subTest(command=command, name=name):
                    self.expect_failure("this is the name of", *command.split(), "a.tfrecords", "-o", name)
        for command, name in (("show", "out.json"), ("show --json", "out.html"), ("view", "out.json"),
                              ("stats --format csv", "out.json"), ("schema --python", "out.csv"),
                              ("convert", "out.idx"), ("convert", "out.md"), ("index", "out.txt.gz"),
                              ("show --format json", "out.tfrecords"), ("diff a.tfrecords", "out.csv")):
            with self.subTest(command=command, name=name):
                self.expect_failure("this is the name of", *command.split(), "a.tfrecords", "-o", name)
        self.assertEqual(list(self.folder.glob("out*")), [])
        for command, name in (("show", "out.txt"), ("show --json", "out.jsonl"), ("view", "out.html"),
                              ("stats --format csv", "out.csv"), ("schema --python", "out.py"),
                              ("index", "out.idx"), ("show --format raw", "out.png"), ("info", "out.md"),
                              ("show --format raw --framed", "out.tfrecord"), ("count", "out")):
            with self.subTest(command=command, name=name):
                self.run_it(*command.split(), "a.tfrecords", "-o", name)
        for path in self.folder.glob("out*"):
            path.unlink()
        os.link(self.folder / "a.tfrecords", self.folder / "records.csv")
        for command in ("convert", "salvage"):
            self.expect_failure("the name of CSV", command, "records.csv", "--to-dir", "out")
        self.expect_failure("the name of a web page", "export", "a.tfrecords", "--to", "csv", "-o",
                            "out.html")
        for format in ("csv", "json"):
            self.run_it("export", "a.tfrecords", "--to", format, "-o", "out.txt")

    def test_no_name(self):
        for command in [*READERS, "convert"]:
            self.expect_failure("-o names no file", *command.split(), "a.tfrecords", "-o", "",
                                status=2)


class Names(TfrecordTest):
    """File names with terminal control characters: ESC, DEL, U+009B."""
    NAME = "a\x1b]0;title\x07\x7f\u009b2J"
    SHOWN = r"a\x1b]0;title\x07\x7f\xc2\x9b2J"

    def expect_harmless(self, text):
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_what_is_said_of_them(self):
        one = named_example({"label": [3]})
        (self.folder / "rows.csv").write_text("a\n1\n")
        sound, damaged = "sound" + self.NAME, "damaged" + self.NAME
        self.write(sound, one)
        (self.folder / damaged).write_bytes(record(one)[:-1])
        out = "out" + self.NAME
        for arguments, said in (
                (["convert", sound, "-o", out], "wrote 1 record, "),
                (["convert", sound, "-o", out, "--shards", 2], "wrote 1 record, "),
                (["convert", "--skip-corrupt", damaged, "-o", out], "skipped"),
                (["create", "rows.csv", "-o", out], "wrote 1 record, "),
                (["export", sound, "--to", "json", "-o", out], "wrote 1 record "),
                (["view", sound, "-o", out], "wrote 1 record, "),
                (["salvage", damaged, sound, "-o", out], "wrote 1 record "),
                (["index", sound], "1 record"), (["index", "--check", sound], "matches"),
                (["verify", sound, damaged], "intact, 1 record"), (["info", sound], "records "),
                (["show", sound, sound], "record 0"), (["show", damaged], "truncated"),
                (["create", self.NAME, "-o", "out"], "no such file"),
                (["create", sound, "-o", "out"], "give --from"),
                (["convert", sound, "-o", "out", "--rename", self.NAME], "OLD=NEW"),
                (["show", sound, "--feature", self.NAME], "no record has a feature named"),
                (["show", sound, "--range", self.NAME], "invalid --range"),
                (["show", sound, "--format", self.NAME], "json"), (["show", sound, "--" + self.NAME], "--help"),
                (["info", sound, "-o", sound], "would be replaced"), ([self.NAME], "unknown command")):
            with self.subTest(arguments):
                result = self.start(*arguments)
                text = (result.stdout + result.stderr).decode()
                self.expect_harmless(text)
                self.assertIn(said, text)

    def test_a_name_is_recognised(self):
        self.write(self.NAME, named_example({"label": [3]}))
        self.assertEqual(self.summary("convert", self.NAME, "-o", self.NAME),
                         f"wrote 1 record, 34 bytes, to {self.SHOWN}\n")


class Values(TfrecordTest):
    def test_what_went_wrong_is_said_of_the_command(self):
        for arguments, words in ((["show", "a", "--nope"], "tfrecord show: "),
                                 (["show"], "tfrecord show: "), (["nope"], "tfrecord: "),
                                 ([], "tfrecord: ")):
            result = self.start(*arguments)
            self.assertEqual(result.returncode, 2)
            first, last = result.stderr.decode().splitlines()
            self.assertTrue(first.startswith(words), first)
            self.assertIn(words[:-2] + " --help", last)
        self.assertIn("unknown command 'inof'; did you mean 'info'?",
                      self.run_it("inof", "a", status=2))
        self.assertIn("unknown command 'a.tfrecords'; commands: info, verify, ",
                      self.run_it("a.tfrecords", status=2))
        self.assertIn("missing command; commands: info, ", self.run_it(status=2))

    def test_help_as_a_word(self):
        self.assertEqual(self.run_it("help"), self.run_it("--help"))
        self.assertEqual(self.run_it("help", "show"), self.run_it("show", "--help"))
        self.assertIn("unknown command 'nope'; commands: info",
                      self.run_it("help", "nope", status=2))

    def test_sizes(self):
        self.write("a", named_example({"label": [3]}))
        for size in ("12x", "0", "-1", "many"):
            self.assertIn(f"--max-bytes: {size} is not a size, for example 4096, 100MB or 1GiB",
                          self.run_it("convert", "a", "-o", "out", f"--max-bytes={size}", status=2))
        for size in ("1MB", "1mb", "2KiB", "4096"):
            self.run_it("convert", "a", "-o", "out", "--max-bytes", size)

    def expect_no_warning(self, *arguments, status=0):
        result = self.start(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr.decode(), r"\A(wrote .*\n)?\Z")

    def test_a_name_that_no_record_has_is_noticed(self):
        self.write("a", named_example({"label": [3]}), named_example({"label": [4], "rare": [1]}))
        for command in (["show", "-o", "out"], ["convert", "-o", "out"],
                        ["export", "-o", "out.jsonl"]):
            result = self.start(*command, "a", "--where",
                                "label == 3 or lable == 3 or len(boxes) > 0")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.decode(),
                             f"tfrecord {command[0]}: --where names boxes, which no record has; "
                             "there are label, rare\n")
            self.assertEqual(list(self.folder.glob("out*")), [])
        for command in (["show", "-o", "out"], ["convert", "-o", "out"],
                        ["export", "-o", "out.jsonl"]):
            for expression in ("rare == 1", "not has(mask)", "label == 5"):
                self.expect_no_warning(*command, "a", "--where", expression)

    def expect_a_note(self, note, *arguments):
        result = self.start(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.decode().count(note), 1, result.stderr)

    def test_records_that_were_not_read_may_have_what_was_asked_for(self):
        note = "--where names rare, which no record that was read has; there are label, x"
        self.write("a", named_example({"label": [3], "x": [bytes(300_000)]}))
        self.write("b", named_example({"label": [4], "rare": [1]}))
        # (The threads of the others may have seen the next records.)
        for command in (["convert", "-o", "out"], ["export", "-o", "out.jsonl"]):
            self.run_it(*command, "a", "b", "--limit", 1, "--where", "rare == 1 or label == 3")
        for command in (["show"], ["show", "-o", "out"], ["view", "-o", "out.html"]):
            with self.subTest(command):
                self.expect_a_note(note, *command, "a", "b", "--limit", 1, "--where",
                                   "rare == 1 or label == 3")
        for options in (["--range", ":1"], ["--record", 0]):
            self.expect_a_note(note, "show", "a", *options, "--where", "rare == 1 or label == 3")
        for seed in range(8):
            self.run_it("convert", "a", "b", "-o", "out", "--sample", "0.5", "--seed", seed,
                        "--where", "rare == 1 or label > 2")
        for shards in ([], ["--shards", 1]):
            # "no record that was taken", if the thread that reads has seen the next one.
            self.expect_a_note(" has a feature named rare", "convert", "a", "b", "-o", "out",
                               "--limit", 1, "--drop", "rare", *shards)

    def test_a_feature_that_only_other_records_have(self):
        """--where may select exactly the records without it."""
        without = named_example({"label": [3]})
        self.write("a", without, named_example({"label": [4], "mask": ["x"]}))
        # A record that is too large for a block, and whose CRC would take Python seconds.
        (self.folder / "large.jsonl").write_text(json.dumps({"label": 4, "mask": "x" * (4 << 20)}))
        self.run_it("create", "large.jsonl", "-o", "large")
        large = (self.folder / "large").read_bytes()
        small = (self.folder / "a").read_bytes()
        for content in (small, record(without) + large, large + record(without)):
            (self.folder / "a").write_bytes(content)
            for edit, expected in (("--drop", without), ("--select", b"\n\0"), ("--rename", without)):
                name = "mask=m" if edit == "--rename" else "mask"
                for shards in ([], ["--shards", 1], ["--shuffle"]):
                    self.run_it("convert", "a", "-o", "out", "--where", "not has(mask)", edit, name,
                                *shards)
                    out = "out-00000-of-00001" if "--shards" in shards else "out"
                    self.assertEqual((self.folder / out).read_bytes(), record(expected))
            self.run_it("export", "a", "-o", "out.jsonl", "--where", "not has(mask)", "--select", "mask")
            self.assertEqual((self.folder / "out.jsonl").read_text(), '{"record": 0, "features": {}}\n')
            for option in ("--image", "--label"):
                text = self.run_it("view", "a", "-o", "out.html", "--where", "not has(mask)", option,
                                   "mask", status=2 if option == "--image" else 0)
                self.assertNotIn("no record has", text)
            for command in (["convert", "--drop"], ["export", "--to", "json", "--select"],
                            ["view", "--label"]):
                self.expect_failure("has a feature named masc", command[0], "a", "-o", "nothing",
                                    "--where", "not has(mask)", *command[1:], "masc")

    def test_a_condition_that_nothing_could_satisfy_writes_nothing(self):
        self.write("a", named_example({"label": [3], "name": ["cat"], "x": [0.5]}),
                   named_example({"label": [4], "name": ["dog"], "x": [1.5]}), b"text")
        outputs = (["show"], ["show", "-o", "out"], ["show", "--format", "raw", "-o", "out"],
                   ["convert", "-o", "out"], ["convert", "-o", "out", "--shuffle"],
                   ["convert", "-o", "out", "--shards", 2], ["export", "-o", "out.jsonl"],
                   ["export", "-o", "out.csv"], ["export", "-o", "out.npz"],
                   ["export", "--to", "images", "-o", "out"], ["view", "-o", "out"])
        for expression, words in (
                ("lable == 3", "--where names lable, which no record has; there are label, name, x"),
                ("len(lable) > 0", "--where names lable, which no record has"),
                ("label == 7 or lable in [3]", "--where names lable, which no record has"),
                ("not has(mask) and lable == 3", "--where names lable, which no record has"),
                ("label == '3'", "--where compares label with a string, but its values are int64 (a "
                                 "number stands without quotes)"),
                ("x in ['3', '4']", "compares x with a string, but its values are float"),
                ("name == 3", "--where compares name with a number, but its values are bytes (a "
                              "string stands in quotes)")):
            for command in outputs:
                with self.subTest(expression, command=command):
                    result = self.start(*command, "a", "--where", expression)
                    self.assertEqual((result.returncode, result.stdout), (2, b""))
                    self.assertIn(words, result.stderr.decode())
                    self.assertEqual(list(self.folder.glob("*out*")), [])
        (self.folder / "out").write_bytes(b"what was there")
        self.run_it("convert", "a", "-o", "out", "--where", "lable == 3", status=2)
        self.assertEqual((self.folder / "out").read_bytes(), b"what was there")
        # An existing feature that doesn't match is not a mistake; neither are these conditions on a
        # missing feature.
        for expression in ("label == 7", "label in [7, '3']", "has(mask)",
                           "has(mask) and mask == 3", "label == 7 and not has(lable)"):
            with self.subTest(expression):
                self.run_it("show", "a", "--where", expression)
                self.run_it("convert", "a", "-o", "out", "--where", expression)
                self.assertEqual((self.folder / "out").read_bytes(), b"")
        self.write("nothing")
        self.run_it("show", "nothing", "--where", "lable == 3")
        self.assertIn("column 13: len() is a number", self.run_it(
            "show", "a", "--where", "len(name) > '3'", status=2))

    def test_a_feature_that_no_record_has_is_not_exported(self):
        self.write("a", named_example({"label": [3]}))
        for name, names in itertools.product(("out.csv", "out.jsonl", "out.npz"),
                                             ("label,lable", "lable")):
            self.expect_failure("no record has a feature named lable", "export", "a", "-o", name,
                                "--select", names)
            self.assertEqual(list(self.folder.glob("*out*")), [])

    def test_an_empty_expression_is_no_wish_for_everything(self):
        self.write("a", named_example({"label": [3]}))
        for command in (["show"], ["convert", "-o", "out"], ["export", "-o", "out.csv"]):
            result = self.start(*command, "a", "--where", "")
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"--where: an empty expression", result.stderr)

    def test_what_is_no_number_or_out_of_range(self):
        self.write("a", named_example({"label": [3]}))
        for arguments in (["bench", "a", "--seconds", "nan"], ["bench", "a", "--seconds", "0"],
                          ["convert", "a", "-o", "out", "--sample", "nan"],
                          ["convert", "a", "-o", "out", "--sample", "1.5"],
                          ["convert", "a", "-o", "out.gz", "--level", "10"],
                          ["convert", "a", "-o", "out.zst", "--level", "0"],
                          ["diff", "a", "a", "--tolerance", "nan"],
                          ["diff", "a", "a", "--tolerance", "-1"],
                          ["verify", "a", "--threads", "-1"],
                          ["verify", "a", "--threads", "100000"]):
            with self.subTest(arguments=arguments):
                result = self.start(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertFalse(list(self.folder.glob("out*")))


if __name__ == "__main__":
    unittest.main()
