"""Tests --to-dir of convert and salvage: a file from each input, resumed, killed, checked."""
import bz2
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import time
import unittest
import zlib

from tfrecord_test_case import PROGRAM, TfrecordTest, named_example, record
from damaged_files import THREE, flipped


class ToDir(TfrecordTest):
    def setUp(self):
        super().setUp()
        (self.folder / "in").mkdir()
        self.names = [f"train-{i:05}-of-00020.tfrecord" for i in range(20)]
        for i, name in enumerate(self.names):
            content = b"".join(record(bytes([i, j]) * (10 * i + j)) for j in range(i))
            (self.folder / "in" / name).write_bytes(content)

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in (self.folder / folder).iterdir()}

    def manifest(self, folder="out"):
        return [json.loads(line) for line in
                (self.folder / folder / "manifest.jsonl").read_text().splitlines()]

    def times(self, folder="out"):
        return {path.name: path.stat().st_mtime_ns for path in (self.folder / folder).iterdir()
                if path.name != "manifest.jsonl"}

    def test_each_input_becomes_a_file(self):
        result = self.start("convert", "in/*", "--to-dir", "out", "--compression", "gzip")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"190 records", result.stderr)
        self.assertIn(b"to 20 files in out", result.stderr)
        found = self.contents("out")
        self.assertEqual(sorted(found), ["manifest.jsonl", *(f"{name}.gz" for name in self.names)])
        for line, name in zip(self.manifest(), self.names):
            self.assertEqual((line["input"], line["output"]), (f"in/{name}", f"{name}.gz"))
            self.assertEqual(line["bytes"], len(found[line["output"]]))
            content = (self.folder / "in" / name).read_bytes()
            self.assertEqual(gzip.decompress(found[line["output"]]), content)
        self.assertEqual(sum(line["records"] for line in self.manifest()), 190)
        # Back: the extension goes, and the bytes are the same again.
        self.run_it("convert", "out/*.gz", "--to-dir", "back", "--compression", "none")
        back = self.contents("back")
        back.pop("manifest.jsonl")
        self.assertEqual(back, self.contents("in"))
        self.expect_failure("--level with --to-dir: give --compression, too", "convert",
                            "out/*.gz", "--to-dir", "back", "--level", 3)

    def test_a_feature_that_some_files_lack(self):
        (self.folder / "rows").mkdir()
        self.write("rows/a", named_example({"id": [1], "score": [2.5]}))
        self.write("rows/b", named_example({"id": [2]}))
        options = ["--to-dir", "out", "--drop", "score"]
        self.assertNotIn("score", self.notes("convert", "rows/*", *options))
        self.assertEqual([self.json("show", f"out/{name}", "--json")[0]["features"]
                          for name in "ab"], [{"id": [1]}, {"id": [2]}])
        for options in (["--drop", "scores"], ["--where", "scores > 1"]):
            result = self.start("convert", "rows/*", "--to-dir", "out", *options)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr.decode(), "scores.*; there are score, id; did you mean "
                                                     r"score\?; the files in out are written all "
                                                     "the same")

    def test_a_feature_that_all_files_lack(self):
        """Whatever is beside them: a file without records, or with nothing that can be read."""
        (self.folder / "rows").mkdir()
        for name in "abc":
            self.write(f"rows/{name}", named_example({"id": [ord(name)]}))
        to_dir = ["rows/*", "--to-dir", "out"]
        for others in {}, {"d": b""}, {"d": b"", "e": b"no records, only garbage in here"}:
            for name, content in others.items():
                (self.folder / "rows" / name).write_bytes(content)
            skip = ["--skip-corrupt"] if "e" in others else []
            for options in (["--drop", "nope"], ["--select", "nope"], ["--rename", "nope=x"],
                            ["--where", "nope == 1"]):
                with self.subTest(others=others, options=options):
                    error = self.run_it("convert", *to_dir, *options, *skip, status=2)
                    self.assertRegex(error, "nope.*; there is id; .*--resume keeps them")
            # A selection of nothing, and features that other files have.
            self.run_it("convert", *to_dir, *skip, "--where", "id == 0", "--drop", "nope")
            self.run_it("convert", *to_dir, *skip, "--where", "id == 97", "--drop", "id")
        # Each of two features is in one file.
        self.write("rows/b", named_example({"x": [1]}))
        self.run_it("convert", "rows/[ab]", "--to-dir", "out", "--drop", "id,x")
        error = self.run_it("convert", "rows/[ab]", "--to-dir", "out", "--drop", "id,x,y", status=2)
        self.assertIn("no record has a feature named y; there are", error)
        # What is not known is a note.
        said = self.summary("convert", "rows/[ac]", "--to-dir", "out", "--drop", "y", "--sample", "1")
        self.assertIn("no record that was read has a feature named y", said)

    def test_inputs_in_compressions_that_are_only_read(self):
        (self.folder / "some").mkdir()
        for name, content in (("a.tfrecord.bz2", bz2.compress(THREE)), ("b.tfrecord", THREE),
                              ("c.tfrecord.xz", lzma.compress(THREE)),
                              ("d.tfrecord", bz2.compress(THREE)), ("e.tfrecord.bz2", THREE)):
            (self.folder / "some" / name).write_bytes(content)
        for compression, extension in ("gzip", ".gz"), ("none", ""):
            self.run_it("convert", "some", "--to-dir", compression, "--compression", compression)
            self.assertEqual(sorted(self.contents(compression)),
                             [*(f"{name}.tfrecord{extension}" for name in "abcde"), "manifest.jsonl"])
        self.run_it("diff", "gzip", "none")
        plan = self.start("convert", "some", "--to-dir", "kept", "--dry-run")
        self.assertEqual(plan.returncode, 2)
        self.assertIn(b"some/a.tfrecord.bz2: .bz2 is only read, not written", plan.stderr)
        plan = self.start("convert", "some", "--to-dir", "kept", "--dry-run", "--keep-going", "--json")
        self.assertEqual(json.loads(plan.stdout)["outputs"], ["kept/b.tfrecord"])
        self.assertEqual(plan.stderr.count(b"is only read, not written"), 4)
        self.assertFalse((self.folder / "kept").exists())
        result = self.start("convert", "some", "--to-dir", "kept", "--keep-going")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(sorted(self.contents("kept")), ["b.tfrecord", "manifest.jsonl"])
        for name, words in (("a.tfrecord.bz2", ".bz2"), ("c.tfrecord.xz", ".xz"),
                            ("d.tfrecord", "bzip2"), ("e.tfrecord.bz2", ".bz2")):
            self.assertRegex(result.stderr.decode(), f"some/{name}: {words} is only read, not written"
                                                     ".*--compression gzip")

    def test_files_do_not_depend_on_threads(self):
        for threads in "1", "4":
            self.run_it("convert", "in/*", "--to-dir", f"out{threads}", "--sample", "0.5", "--seed",
                        "3", "--threads", threads)
        self.assertEqual(self.contents("out1"), self.contents("out4"))
        taken = sum(line["records"] for line in self.manifest("out1"))
        self.assertTrue(60 < taken < 130, taken)
        # Also alone, a file is the same.
        self.run_it("convert", f"in/{self.names[9]}", "--to-dir", "one", "--sample", "0.5",
                    "--seed", "3")
        self.assertEqual(self.contents("one")[self.names[9]], self.contents("out1")[self.names[9]])

    def test_resume_makes_what_is_missing_or_differs(self):
        convert = ("convert", "in/*", "--to-dir", "out", "--resume")
        self.run_it(*convert)
        before = self.times()
        self.assertIn(b"20 there already", self.start(*convert).stderr)
        self.assertEqual(self.times(), before)
        (self.folder / "out" / self.names[3]).unlink()
        os.truncate(self.folder / "out" / self.names[4], 5)
        with open(self.folder / "in" / self.names[5], "ab") as file:
            file.write(record(b"one more"))
        self.assertIn(b"17 there already", self.start(*convert).stderr)
        after = self.times()
        self.assertEqual({name for name in before if before[name] != after[name]},
                         set(self.names[3:6]))
        self.assertEqual(self.contents("out")[self.names[4]],
                         (self.folder / "in" / self.names[4]).read_bytes())
        self.assertEqual(self.manifest()[5]["records"], 6)
        # Other options: all of them.
        self.assertNotIn(b"there already", self.start(*convert, "--no-crc").stderr)
        # Without --resume, too.
        self.assertNotIn(b"there already", self.start(*convert[:-1], "--no-crc").stderr)

    def test_a_failure_stops_or_is_left_out(self):
        (self.folder / "in" / self.names[7]).write_bytes(b"this is no record at all")
        self.assertEqual(self.start("convert", "in/*", "--to-dir", "out").returncode, 2)
        self.assertFalse((self.folder / "out/manifest.jsonl").exists())
        self.assertFalse((self.folder / "out" / self.names[7]).exists())
        self.assertIn(b"out/manifest.jsonl isn't written: --resume",
                      self.start("convert", "in/*", "--to-dir", "out", "--resume").stderr)
        result = self.start("convert", "in/*", "--to-dir", "out", "--resume", "--keep-going",
                            "--json")
        self.assertEqual(result.returncode, 2)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["path"] for line in lines], [f"in/{name}" for name in self.names])
        self.assertEqual([i for i, line in enumerate(lines) if "error" in line], [7])
        self.assertEqual([line["was_there"] for line in lines[:7]], [True] * 7)
        # The manifest says what is missing, and why.
        self.assertEqual([i for i, line in enumerate(self.manifest()) if "error" in line], [7])
        self.assertEqual(self.manifest()[7].keys(), {"job", "input", "version", "output", "error"})
        self.assertFalse((self.folder / "out/.shards").exists())
        result = self.start("verify", "--manifest", "out/manifest.jsonl")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"out/{self.names[7]}: not made: ".encode(), result.stdout)
        self.assertEqual(result.stderr, b"1 of 20 files differs from the manifest\n")
        # Nothing is read again, whose result is known.
        for options in (["--keep-going"], []):
            result = self.start("convert", "in/*", "--to-dir", "out", "--resume", *options)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"in/{self.names[7]}: failed in an earlier run, and has not changed: "
                          .encode(), result.stderr)
        self.assertEqual([i for i, line in enumerate(self.manifest()) if "error" in line], [7])
        (self.folder / "in" / self.names[7]).write_bytes(THREE)
        result = self.start("convert", "in/*", "--to-dir", "out", "--resume")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"19 there already", result.stderr)
        self.assertFalse((self.folder / "out/.shards").exists())

    def test_a_file_that_is_not_there_is_tried_again(self):
        self.assertEqual(self.start("convert", "in/*", "missing", "--to-dir", "out",
                                    "--keep-going").returncode, 2)
        self.assertIn("No such file", self.manifest()[20]["error"])
        (self.folder / "missing").write_bytes(THREE)
        result = self.start("convert", "in/*", "missing", "--to-dir", "out", "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"20 there already", result.stderr)
        self.assertEqual(self.manifest()[20]["records"], 3)

    def test_outputs_are_compressed_as_their_inputs(self):
        plain = (self.folder / "in" / self.names[19]).read_bytes()
        (self.folder / "more").mkdir()
        for name, content in (("a.tfrecord.gz", gzip.compress(plain)), ("b.tfrecord", plain),
                              ("c.tfrecord", gzip.compress(plain)),
                              ("d.tfrecord.zlib", zlib.compress(plain))):
            (self.folder / "more" / name).write_bytes(content)
        self.run_it("convert", "more/*.gz", "--to-dir", "zst", "--compression", "zstd")
        os.rename(self.folder / "zst/a.tfrecord.zst", self.folder / "more/e.tfrecord.zst")
        for command in ("convert", "salvage"):
            with self.subTest(command):
                self.run_it(command, "more", "--to-dir", command)
                found = self.contents(command)
                del found["manifest.jsonl"]
                self.assertEqual(set(found), set(self.contents("more")))
                self.assertEqual(gzip.decompress(found["a.tfrecord.gz"]), plain)
                self.assertEqual(found["b.tfrecord"], plain)
                self.assertEqual(gzip.decompress(found["c.tfrecord"]), plain)
                self.assertEqual(zlib.decompress(found["d.tfrecord.zlib"]), plain)
                self.assertEqual(found["e.tfrecord.zst"][:4], b"\x28\xb5\x2f\xfd")
                self.run_it(command, "more", "--to-dir", "none", "--compression", "none")
                self.assertEqual((self.folder / "none/a.tfrecord").read_bytes(), plain)

    def test_folders_stay_folders(self):
        for folder in ("deep/train/a", "deep/train/b", "deep/val", "deep/100%2F"):
            (self.folder / folder).mkdir(parents=True)
            (self.folder / folder / "x.tfrecord").write_bytes(record(folder.encode()))
        (self.folder / "deep/x.tfrecord").write_bytes(THREE)
        names = ["100%2F/x.tfrecord", "train/a/x.tfrecord", "train/b/x.tfrecord", "val/x.tfrecord",
                 "x.tfrecord"]
        for folder in ("deep", "deep/", "./de*p/"):
            for command in ("convert", "salvage"):
                out = f"out{command}"
                result = self.start(command, folder, "--recursive", "--to-dir", out, "--resume")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual([line["output"] for line in self.manifest(out)], names)
                for name in names:
                    self.assertEqual((self.folder / out / name).read_bytes(),
                                     (self.folder / "deep" / name).read_bytes())
                self.run_it("verify", "--manifest", f"{out}/manifest.jsonl")
        # Stopped between: what is there stays.
        (self.folder / "deep/x.tfrecord").write_bytes(b"no record at all")
        resume = ["convert", "deep", "--recursive", "--to-dir", "new", "--resume", "--threads", "1"]
        self.start(*resume)
        self.assertTrue((self.folder / "new/.shards/train%2Fa%2Fx.tfrecord.json").exists())
        (self.folder / "deep/x.tfrecord").write_bytes(THREE)
        self.assertIn(b"4 there already", self.start(*resume).stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "new").iterdir()),
                         ["100%2F", "manifest.jsonl", "train", "val", "x.tfrecord"])
        # Without the folder above them, they have one name.
        self.expect_failure("give the folder above them with --recursive", "convert", "deep/val",
                            "deep/train/a", "--to-dir", "flat")

    def test_dots_in_an_input_stay_in_the_folder(self):
        """Whether the output folder is there or not: `kz/../x` exists only if kz does."""
        rows = [named_example({"id": [i]}) for i in range(3)]
        for folder in ("d/in", "e"):
            (self.folder / folder).mkdir(parents=True)
        self.write("d/in/x.tfrecord", *rows)
        before = self.write("e/p.tfrecord", *rows).read_bytes()
        for number, dots in enumerate(("d/in/../../e/p.tfrecord", "d/in/.././in/../../e/p.tfrecord")):
            for command in ("convert", "--where", "id == 1"), ("salvage",):
                out = f"k{number}/{command[0]}"
                self.run_it(*command, "--recursive", "d/in", dots, "--to-dir", out)
                self.assertEqual(sorted(self.contents(out)),
                                 ["manifest.jsonl", "p.tfrecord", "x.tfrecord"])
                self.assertEqual([line["output"] for line in self.manifest(out)],
                                 ["x.tfrecord", "p.tfrecord"])
                self.assertEqual((self.folder / "e/p.tfrecord").read_bytes(), before)
        self.assertEqual(sorted(self.contents("e")), ["p.tfrecord"])
        for same in ("d/in/./x.tfrecord", "d/in//x.tfrecord", "d/in/../in/x.tfrecord"):
            self.expect_failure("would have the name", "convert", "--recursive", "d/in", same,
                                "--to-dir", "out")

    def test_salvage(self):
        (self.folder / "in" / self.names[7]).write_bytes(flipped(THREE, 8 * 40) + THREE)
        result = self.start("salvage", "in/*", "--to-dir", "out")
        self.assertEqual(result.returncode, 1)
        self.assertIn(self.names[7].encode() + b": 1 damaged region of 46 bytes", result.stderr)
        self.assertEqual(self.manifest()[7]["records"], 5)
        self.assertEqual(self.contents("out")[self.names[8]],
                         (self.folder / "in" / self.names[8]).read_bytes())
        (self.folder / "in" / self.names[7]).write_bytes(b"nothing intact in here")
        result = self.start("salvage", "in/*", "--to-dir", "other", "--keep-going")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"no intact record was found", result.stderr)
        self.assertFalse((self.folder / "other" / self.names[7]).exists())
        self.assertTrue((self.folder / "other" / self.names[19]).exists())

    def test_what_is_skipped_is_counted(self):
        for number in 7, 9:
            content = flipped(THREE, 8 * 40) + THREE
            (self.folder / "in" / self.names[number]).write_bytes(content)
        for command in ("convert", "--skip-corrupt"), ("salvage",):
            out = command[0]
            result = self.start(*command, "in/*", "--to-dir", out, "--json")
            self.assertEqual(result.returncode, 1 if out == "salvage" else 0, result.stderr)
            self.assertIn(b"2 damaged regions of 92 bytes", result.stderr)
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            for counts in lines, self.manifest(out):
                skipped = [(line.get("regions_skipped"), line.get("bytes_skipped"))
                           for line in counts]
                expected = [(1, 46) if i in (7, 9) else (None, None) for i in range(20)]
                self.assertEqual(skipped, expected)
                self.assertEqual(counts[7]["records"], 5)
            self.run_it("verify", "--manifest", f"{out}/manifest.jsonl")

    def test_killed_at_any_time_it_ends_with_the_same_files(self):
        for i, name in enumerate(self.names):
            (self.folder / "in" / name).write_bytes(THREE * 20_000 + record(bytes([i])))
        convert = [PROGRAM, "convert", "in/*", "--compression", "gzip", "--resume", "--to-dir"]
        start = time.monotonic()
        subprocess.run([*convert, "whole"], cwd=self.folder, check=True, capture_output=True)
        whole = time.monotonic() - start
        random.seed(1)
        kills = 0
        while True:
            process = subprocess.Popen([*convert, "out"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                # Longer each time: on a busy machine, a run might not get anywhere otherwise.
                wait = random.uniform(0.1, 0.4) * whole * (1 + kills / 10) + 0.02
                self.assertEqual(process.wait(timeout=wait), 0)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
        self.assertGreater(kills, 0)
        self.assertEqual(self.contents("out"), self.contents("whole"))
        self.assertEqual(self.run_it("verify", "--manifest", "out/manifest.jsonl").count("\n"), 20)

    def test_a_second_run_in_the_folder_is_refused(self):
        import fcntl
        self.run_it("convert", "in/*", "--to-dir", "out")
        (self.folder / "out/.shards").mkdir()
        with open(self.folder / "out/.shards/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = self.start("convert", "in/*", "--to-dir", "out")
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"out/.shards/lock", result.stderr)

    def test_names_of_the_job_are_refused(self):
        for name in ("manifest.jsonl", ".shards", ".x.partial", os.fsdecode(b"a\xff")):
            (self.folder / name).write_bytes(THREE)
            result = self.start("convert", name, "--to-dir", "out")
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, b"its output would have the name|is not UTF-8")
        self.assertFalse((self.folder / "out").exists())

    def test_odd_names(self):
        folder = self.folder / os.fsdecode(b"in\xff\xfe")
        folder.mkdir()
        names = ["a b", "a\nb", "a'\"b", "-x", "*?[x]", "\u20ac", "x.json5", "lock"]
        for name in names:
            (folder / name).write_bytes(THREE)
        (self.folder / "list").write_bytes(
            b"".join(os.fsencode(folder / name) + b"\0" for name in names))
        convert = ("convert", "-0", "--files-from", "list", "--to-dir", "out//")
        self.assertIn(b"to 8 files in out\n", self.start(*convert).stderr)
        self.assertEqual(set(self.contents("out")), {*names, "manifest.jsonl"})
        self.assertIn(b"8 there already", self.start(*convert, "--resume").stderr)
        self.assertEqual(len(self.json("verify", "--manifest", "out/manifest.jsonl", "--json")), 8)

    def test_usage(self):
        (self.folder / "more").mkdir()
        (self.folder / "more" / self.names[0]).write_bytes(THREE)
        for words, arguments in (
                ("give -o FILE, or --to-dir DIR", ()),
                ("-o and --to-dir", ("-o", "a", "--to-dir", "out")),
                ("belong to --to-dir", ("-o", "a", "--resume")),
                ("need -o", ("--to-dir", "out", "--shuffle")),
                ("need -o", ("--to-dir", "out", "--shards", "3")),
                ("would be replaced", ("--to-dir", "in")),
                ("would have the name", ("more/*", "--to-dir", "out"))):
            result = self.start("convert", "in/*", *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(words, result.stderr.decode())
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(self.contents("in")[self.names[0]], b"")

    def test_the_manifest_finds_every_difference(self):
        self.run_it("convert", "in/*", "--to-dir", "out")
        result = self.start("verify", "--manifest", "out/manifest.jsonl")
        self.assertEqual((result.returncode, result.stderr), (0, b"20 files are as in the manifest\n"))
        (self.folder / "out" / self.names[2]).unlink()
        os.truncate(self.folder / "out" / self.names[3], 5)
        (self.folder / "out" / self.names[4]).write_bytes(
            (self.folder / "out" / self.names[4]).read_bytes()[:-1] + b"x")
        result = self.start("verify", "--manifest", "out/manifest.jsonl", "--json")
        self.assertEqual(result.returncode, 1)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["intact"] for line in lines],
                         [True] * 2 + [False] * 3 + [True] * 15)
        self.assertEqual(lines[2]["error"], "missing")
        self.assertIn("5 bytes, not the", lines[3]["error"])
        self.assertIn("CRC-32C", lines[4]["error"])
        self.assertEqual(result.stderr, b"")
        result = self.start("verify", "--manifest", "out/manifest.jsonl")
        self.assertEqual(result.stderr, b"3 of 20 files differ from the manifest\n")

    def test_hostile_manifests(self):
        self.run_it("convert", "in/*", "--to-dir", "out")
        good = self.manifest()[0]
        for change in ({"output": "../in/x"}, {"output": ""}, {"output": "a/../../x"},
                       {"output": "/x"}, {"output": "a//b"}, {"error": ""}, {"error": 1}, {"output": ".."}, {"crc32c": "12"},
                       {"crc32c": "0000000g"}, {"bytes": -1}, {"bytes": 1.5}, {"records": "1"},
                       {"job": None}, {"input": [[]]}):
            (self.folder / "bad.jsonl").write_text(json.dumps(good) + "\n" +
                                                   json.dumps(good | change) + "\n")
            result = self.start("verify", "--manifest", "bad.jsonl")
            self.assertIn(b"line 2 is no line of a manifest", result.stderr)
            self.assertEqual(result.returncode, 2)
        (self.folder / "bad.jsonl").write_text("")
        result = self.start("verify", "--manifest", "bad.jsonl")
        self.assertIn(b"the manifest is empty", result.stderr)
        self.assertEqual(result.returncode, 2)
        for text in ("[" * 1_000_000, "{}", "\n", json.dumps(good)[:-3]):
            (self.folder / "bad.jsonl").write_text(text)
            self.assertEqual(self.start("verify", "--manifest", "bad.jsonl").returncode, 2)
        # As the record of an earlier run, it is as good as none.
        (self.folder / "out/manifest.jsonl").write_text("[" * 100)
        self.assertNotIn(b"there already",
                         self.start("convert", "in/*", "--to-dir", "out", "--resume").stderr)


if __name__ == "__main__":
    unittest.main()
