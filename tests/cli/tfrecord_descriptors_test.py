#!/usr/bin/env python3
"""Tests standard input, output and error that are closed, full, or pipes without a reader."""
import fcntl
import itertools
import os
import signal
import subprocess
import time
import unittest

from started import Started
from tfrecord_test_case import PROGRAM, TfrecordTest, named_example, record

CLOSED_PIPE = 128 + signal.SIGPIPE


class DescriptorsTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.records = [named_example({"label": [number]}) for number in range(3)]
        self.sound = b"".join(map(record, self.records))
        self.write("a", *self.records)
        # This file causes a warning while the result is being written.
        (self.folder / "damaged").write_bytes(
            record(self.records[0]) + b"damage" + self.sound[len(record(self.records[0])):])

    def shell(self, redirection, *arguments):
        """Runs the program through a shell with this redirection."""
        return subprocess.run(
            ["sh", "-c", f'exec "$0" "$@" {redirection}', PROGRAM, *arguments],
            capture_output=True, stdin=subprocess.DEVNULL, cwd=self.folder, timeout=120,
            check=False)

    def expect_sound_result(self):
        self.assertEqual((self.folder / "out").read_bytes(), self.sound)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "damaged", "out"])
        (self.folder / "out").unlink()


class Closed(DescriptorsTest):
    def test_nothing_is_written_into_a_result(self):
        for count in (1, 2, 3):
            for closed in itertools.combinations(("<&-", ">&-", "2>&-"), count):
                for command in (["convert", "--skip-corrupt"], ["salvage"]):
                    with self.subTest(command=command, closed=closed):
                        self.shell(" ".join(closed), *command, "damaged", "-o", "out")
                        self.expect_sound_result()

    def test_results_for_a_closed_standard_output_are_not_lost_unnoticed(self):
        for command in (["convert", "a", "-o", "-"], ["show", "a"], ["info", "a"], ["verify", "a"],
                        ["info", "--json", "a"], ["index", "--json", "a", "-o", "out"],
                        ["--help"], ["--version"], ["help", "show"]):
            with self.subTest(command):
                result = self.shell(">&-", *command)
                self.assertEqual(result.returncode, 2)
                self.assertIn(b"Bad file descriptor", result.stderr)
                self.assertEqual(self.shell(">&- 2>&-", *command).returncode, 2)

    def test_a_closed_standard_input_is_not_empty(self):
        result = self.shell("<&-", "convert", "-", "-o", "out")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"standard input: read failed: Bad file descriptor", result.stderr)
        self.assertFalse((self.folder / "out").exists())


class Full(DescriptorsTest):
    def test_the_exit_status_tells_what_standard_error_cant(self):
        for command, status in ((["show", "nope"], 2), (["verify", "damaged"], 1),
                                (["show", "a", "--nope"], 2), (["nope"], 2),
                                (["show", "a", "-o", "a"], 2)):
            for redirection in ("2>/dev/full", "2>&-"):
                with self.subTest(command=command, redirection=redirection):
                    self.assertEqual(self.shell(redirection, *command).returncode, status)

    def test_a_lost_warning_is_no_reason_to_stop(self):
        for command, status in ((["convert", "--skip-corrupt"], 0), (["salvage"], 1)):
            with self.subTest(command):
                result = self.shell("2>/dev/full", *command, "damaged", "-o", "out")
                self.assertEqual(result.returncode, status)
                self.expect_sound_result()

    def test_a_full_standard_output_is_a_failure(self):
        for command in (["convert", "a", "-o", "-"], ["show", "a"], ["index", "--json", "a"],
                        ["--help"]):
            with self.subTest(command):
                result = self.shell(">/dev/full", *command)
                self.assertEqual(result.returncode, 2)
                self.assertIn(b"No space left", result.stderr)


class Pipes(DescriptorsTest):
    def run_closed(self, *arguments, name):
        """Runs the program with a pipe without a reader as `name`, "stdout" or "stderr"."""
        read, write = os.pipe()
        os.close(read)
        other = "stderr" if name == "stdout" else "stdout"
        try:
            return subprocess.run([PROGRAM, *arguments], cwd=self.folder, timeout=120, check=False,
                                  **{name: write, other: subprocess.PIPE})
        finally:
            os.close(write)

    def test_a_file_is_finished_though_nobody_listens(self):
        for command, status in ((["convert", "--skip-corrupt"], 0), (["salvage"], 1)):
            with self.subTest(command):
                result = self.run_closed(*command, "damaged", "-o", "out", name="stderr")
                self.assertEqual(result.returncode, status)
                self.expect_sound_result()
        for option in ([], ["--json"]):
            self.run_closed("convert", "a", "-o", "out", *option, name="stdout")
            self.expect_sound_result()

    def test_who_has_seen_enough_hears_no_complaint(self):
        for command in (["show", "a"], ["convert", "a", "-o", "-"], ["info", "a"], ["--help"],
                        ["verify", "a", "a"], ["info", "--json", "a"],
                        ["export", "a", "--to", "csv", "-o", "-"]):
            with self.subTest(command):
                result = self.run_closed(*command, name="stdout")
                self.assertEqual((result.returncode, result.stderr), (CLOSED_PIPE, b""))

    def test_a_shells_pipe(self):
        read, write = os.pipe()
        os.close(read)
        self.addCleanup(os.close, write)
        for command in ("convert", "show", "salvage"):
            result = self.start(command, "a", "-o", f"/dev/fd/{write}", pass_fds=[write])
            self.assertEqual(result.returncode, CLOSED_PIPE)
            self.assertNotIn(b"Broken pipe", result.stderr)


class NonBlocking(DescriptorsTest):
    """O_NONBLOCK belongs to the open file: any process that shares it (a shell, node, ssh) may set
    it."""

    def result(self, *arguments):
        """Returns standard output, a non-blocking pipe that is read when the program waits for
        space."""
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(write, False)
        with Started([PROGRAM, *arguments], cwd=self.folder, stdout=write,
                     stderr=subprocess.PIPE) as process:
            # The program's pipe is full before it is read.
            os.close(write)
            time.sleep(0.3)
            with open(read, "rb") as pipe:
                output = pipe.read()
            errors = process.stderr.read()
        self.assertEqual((process.returncode, errors), (0, b""))
        return output

    def test_results_are_whole(self):
        for name in range(40):
            self.write(f"{name:02}-" + 100 * "x", *self.records)
        self.write("large", *[named_example({"label": [number]}) for number in range(3000)])
        for arguments in (["show", "--json", "large"], ["convert", "large", "-o", "-"],
                          ["verify", "--json", *sorted(map(str, self.folder.glob("*x")))],
                          ["salvage", "--json", *sorted(map(str, self.folder.glob("*x"))), "-o", "out"],
                          ["index", "--json", *sorted(map(str, self.folder.glob("*x")))],
                          ["create", "--help"]):
            with self.subTest(arguments[0]):
                expected = subprocess.run([PROGRAM, *arguments], cwd=self.folder, check=True,
                                          capture_output=True, timeout=120).stdout
                self.assertGreater(len(expected), 4096)
                self.assertEqual(self.result(*arguments), expected)


if __name__ == "__main__":
    unittest.main()
