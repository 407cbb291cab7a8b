#!/usr/bin/env python3
"""Tests the output and the errors of the programs in examples/.

Run by CTest. Environment: RECORDPIPE_EXAMPLES, the folder with the programs.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import records  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["RECORDPIPE_EXAMPLES"])
GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "data/golden"


class Example(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, program, *arguments, status=0):
        result = subprocess.run([PROGRAMS / program, *arguments], capture_output=True, text=True,
                                check=False, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr if status else result.stdout

    def batches(self, *arguments):
        """Returns the output lines of save_and_resume."""
        return self.run_it("save_and_resume", self.folder / "points", *arguments).splitlines()


class Usage(Example):
    # Arguments that each takes.
    ARGUMENTS = {
        "own_hook": ("job",),
        "pack_tokens": ("tokens",),
        "photographs": ("photos",),
        "read_tfrecords": ("points",),
        "records_to_batches": ("points",),
        "save_and_resume": ("points", "state", "3"),
    }

    def test_each_program_is_here(self):
        sources = pathlib.Path(__file__).resolve().parents[2] / "examples"
        self.assertEqual(sorted(self.ARGUMENTS), sorted(path.stem for path in sources.glob("*.cc")))

    def test_help_says_what_it_shows(self):
        for program in self.ARGUMENTS:
            with self.subTest(program):
                text = self.run_it(program, "--help")
                self.assertRegex(text, rf"^usage: {program} [A-Z_. ]+\n\n\w[\w\W]{{60,}}\.\n$")
                self.assertEqual(text, self.run_it(program, "--help", "more"))

    def test_wrong_arguments_get_the_usage(self):
        for program, right in self.ARGUMENTS.items():
            with self.subTest(program):
                usage = self.run_it(program, "--help")
                self.assertEqual(self.run_it(program, status=2), usage)
                self.assertEqual(self.run_it(program, "--wrong", *right[1:], status=2), usage)
                if program not in ("photographs", "read_tfrecords"):
                    self.assertEqual(self.run_it(program, *right, "more", status=2), usage)
        for count in ("x", "0", "-1"):
            self.run_it("save_and_resume", "points", "state", count, status=2)
        self.assertEqual(list(self.folder.iterdir()), [])


class OwnHook(Example):
    def train(self):
        lines = self.run_it("own_hook", "job").splitlines()
        return lines, int(re.fullmatch(r"accurate 20 times in a row: ends at step (\d+)",
                                       lines[-1])[1])

    def test_ends_the_training_and_goes_on_from_there(self):
        lines, stopped = self.train()
        # A few lucky batches don't end the run, but the hook ends it before the last step.
        self.assertGreater(stopped, 20)
        self.assertLess(stopped, 2000)
        self.assertRegex(lines[0], r"^loss = [\d.]+$")
        self.assertTrue((self.folder / f"job/checkpoint-{stopped}.safetensors").exists())
        lines, resumed = self.train()
        self.assertEqual(lines[0], f"resumed from job/checkpoint-{stopped}.safetensors "
                                   f"at step {stopped}")
        self.assertGreaterEqual(resumed, stopped + 20)

    def test_what_cant_be_written_is_an_error(self):
        (self.folder / "job").write_bytes(b"")
        self.assertIn("job", self.run_it("own_hook", "job", status=1))


class Photographs(Example):
    def test_leaves_broken_images_out(self):
        images = GOLDEN.parent / "images"
        files = [(images / name).read_bytes() for name in ("rgb420.jpg", "rgb8.png", "rgb444.jpg")]
        files[1] = files[1][:-200]
        records.write(self.folder / "photos", [
            records.example({"image/encoded": [file], "image/class/label": [i]})
            for i, file in enumerate(files)])
        lines = self.run_it("photographs", "photos").splitlines()
        self.assertRegex(lines[0], r"^2 images, first label [02], mean -?[\d.]+$")
        self.assertRegex(lines[1], "^skipped: image 'image/encoded': PNG: ")
        self.assertEqual(len(lines), 2)

    def test_errors_name_the_file(self):
        self.assertIn("nowhere", self.run_it("photographs", "nowhere", status=1))


class PackTokens(Example):
    def test_hardly_any_place_is_padding(self):
        text = self.run_it("pack_tokens", "tokens")
        packed = re.search(r"packed: (\d+) sequences in (\d+) rows, (\d+) of (\d+) places used", text)
        sequences, rows, used, places = map(int, packed.groups())
        self.assertEqual(sequences, 1000)
        self.assertEqual(used, sum(1 + i * i % 40 for i in range(1000)))
        self.assertEqual(places, 64 * rows)
        self.assertGreater(used, 0.95 * places)
        batches, padded = map(int, re.search(r"bucketed: (\d+) batches, (\d+) places",
                                             text).groups())
        self.assertLess(batches, 60)
        self.assertGreater(used, 0.8 * padded)
        self.assertEqual(self.run_it("pack_tokens", "tokens"), text)

    def test_what_cant_be_written_is_an_error(self):
        self.assertIn("none/", self.run_it("pack_tokens", "none/tokens", status=1))


class ReadTfrecords(Example):
    def test_shows_what_is_in_the_records(self):
        self.run_it("records_to_batches", "points")
        text = self.run_it("read_tfrecords", "points")
        self.assertIn("  label: 1 int64s (0 ...)\n  point: 2 floats (0 ...)\n", text)
        self.assertTrue(text.endswith("points: 1000 records\n"))
        self.assertIn("examples.tfrecords: ", self.run_it("read_tfrecords",
                                                          GOLDEN / "examples.tfrecords"))

    def test_says_where_a_file_is_damaged(self):
        self.run_it("records_to_batches", "points")
        whole = (self.folder / "points").read_bytes()
        (self.folder / "cut").write_bytes(whole[:-1])
        self.assertRegex(self.run_it("read_tfrecords", "cut", status=1),
                         r"^cut: .*truncated record at \d+")
        self.assertIn("missing", self.run_it("read_tfrecords", "missing", status=1))


class RecordsToBatches(Example):
    def test_every_run_gives_the_same_batches(self):
        text = self.run_it("records_to_batches", "points")
        lines = text.splitlines()
        self.assertEqual(len(lines), 2 * 1000 // 128)
        for number, line in enumerate(lines):
            self.assertRegex(line, rf"^batch {number}: 128 points, the first \(\d+, \d+\), [\d.]+ %")
        self.assertEqual(self.run_it("records_to_batches", "points"), text)

    def test_what_cant_be_written_is_an_error(self):
        self.assertIn("none/", self.run_it("records_to_batches", "none/points", status=1))


class SaveAndResume(Example):
    def setUp(self):
        super().setUp()
        self.run_it("records_to_batches", "points")

    def test_goes_on_where_it_stopped(self):
        whole = self.batches("whole", "600")
        self.assertEqual(len(whole), 500 + 1)
        self.assertEqual(whole[-1], "the end")
        parts = [line for count in ("1", "200", "49", "600")
                 for line in self.batches("parts", count)]
        self.assertEqual(parts, whole)

    def test_refuses_the_state_of_other_data(self):
        self.batches("state", "3")
        shutil.copy(GOLDEN / "examples.tfrecords", self.folder / "points")
        message = self.run_it("save_and_resume", self.folder / "points", "state", "3", status=1)
        self.assertRegex(message, re.compile("points.*chang|chang.*points", re.DOTALL))


if __name__ == "__main__":
    unittest.main()
