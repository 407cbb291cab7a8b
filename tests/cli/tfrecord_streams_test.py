#!/usr/bin/env python3
"""Tests -o with a FIFO, a device or a link, and inputs without data."""
import os
import signal
import stat
import subprocess
import time
import unittest

from started import Started, wait_until_it_waits
from tfrecord_test_case import PROGRAM, TfrecordTest, named_example


class Streams(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.content = self.write("a", named_example({"label": [3]}),
                                  named_example({"label": [4]})).read_bytes()
        self.writers = [["convert", "a"], ["convert", "a", "--shuffle"], ["salvage", "a"]]

    def test_a_fifo_is_written_as_records_come(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for writer in self.writers:
            with self.subTest(writer), subprocess.Popen(
                    [PROGRAM, *writer, "-o", "fifo"], cwd=self.folder,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                content = fifo.read_bytes()
            self.assertEqual(process.returncode, 0)
            self.assertEqual(sorted(content), sorted(self.content))
            self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))
            self.assertEqual(sorted(os.listdir(self.folder)), ["a", "fifo"])

    def test_a_shells_pipe(self):
        for command in (*self.writers, ["show", "a"]):
            read, write = os.pipe()
            with self.subTest(command), open(read, "rb") as pipe:
                try:
                    self.start(*command, "-o", f"/dev/fd/{write}", pass_fds=[write])
                finally:
                    os.close(write)
                self.assertGreater(len(pipe.read()), 10)

    def test_a_device(self):
        for command in (*self.writers, ["show", "a"], ["info", "a"], ["view", "a"],
                        ["export", "a", "--to", "json"], ["export", "a", "--to", "npz"]):
            with self.subTest(command):
                before = os.stat("/dev/null")
                self.run_it(*command, "-o", "/dev/null")
                self.assertEqual(os.stat("/dev/null").st_ino, before.st_ino)
                self.expect_failure("/dev/full: write failed: No space left", *command,
                                    "-o", "/dev/full")
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_standard_output_has_one_name(self):
        for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            self.expect_failure("with -o -", "convert", "a", "-o", path, status=2)
        os.symlink("/proc/self/fd/1", self.folder / "link")
        for path in ("out", "link", "/dev/stdout"):
            with self.subTest(path), open(self.folder / "out", "w") as stdout:
                result = subprocess.run([PROGRAM, "convert", "a", "-o", path], cwd=self.folder,
                                        stdout=stdout, stderr=subprocess.PIPE, timeout=120,
                                        check=False)
                self.assertEqual(result.returncode, 2)
                self.assertIn(b"with -o -", result.stderr)
        self.assertTrue((self.folder / "link").is_symlink())
        self.run_it("show", "a", "-o", "/dev/null")
        with open("/dev/null", "w") as stdout:
            subprocess.run([PROGRAM, "show", "a", "-o", "/dev/null"], cwd=self.folder,
                           stdout=stdout, timeout=120, check=True)

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self):
        (self.folder / "disk").mkdir()
        os.symlink("disk/out", self.folder / "link")
        for writer in self.writers:
            for there in (False, True):
                with self.subTest(writer=writer, there=there):
                    (self.folder / "disk/out").unlink(missing_ok=True)
                    if there:
                        (self.folder / "disk/out").write_bytes(b"old")
                    self.run_it(*writer, "-o", "link")
                    self.assertTrue((self.folder / "link").is_symlink())
                    self.assertEqual(sorted((self.folder / "disk/out").read_bytes()),
                                     sorted(self.content))
                    self.assertEqual(os.listdir(self.folder / "disk"), ["out"])

    def test_errors_name_what_was_given(self):
        for writer in self.writers:
            self.expect_failure(": no/out: open failed: No such file or directory (its folder must",
                                *writer, "-o", "no/out")

    def test_a_silent_input_is_left_at_once(self):
        """The program doesn't wait the seconds after which a stop would kill it."""
        os.mkfifo(self.folder / "fifo")
        for command in (["convert", "-", "-o", "out"], ["convert", "fifo", "-o", "out"],
                        ["create", "--from", "json", "-", "-o", "out"],
                        ["create", "--from", "csv", "--types", "a=int64", "-", "-o", "out"],
                        ["salvage", "-", "-o", "out"], ["show", "-"], ["verify", "fifo"]):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(command=command, number=number), subprocess.Popen(
                        [PROGRAM, *command], cwd=self.folder, stdin=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as process:
                    wait_until_it_waits(process)
                    process.send_signal(number)
                    errors = process.stderr.read().decode()
                self.assertEqual(process.returncode, 128 + number)
                # The message of an orderly end; otherwise only "interrupted" is printed.
                self.assertIn(f"tfrecord {command[0]}: ", errors)
                self.assertIn(": interrupted\n", errors)
                self.assertEqual(sorted(os.listdir(self.folder)), ["a", "fifo"])

    def test_a_fifo_that_nobody_reads_is_left_at_once(self):
        os.mkfifo(self.folder / "fifo")
        for command in (*self.writers, ["show", "a"]):
            with self.subTest(command), subprocess.Popen(
                    [PROGRAM, *command, "-o", "fifo"], cwd=self.folder,
                    stderr=subprocess.PIPE) as process:
                wait_until_it_waits(process)
                process.send_signal(signal.SIGTERM)
                errors = process.stderr.read().decode()
            self.assertEqual(process.returncode, 128 + signal.SIGTERM)
            self.assertIn("fifo: interrupted\n", errors)  # an orderly end, as below

    def test_nohup(self):
        with Started(
                [PROGRAM, "convert", "-", "-o", "out"], cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            wait_until_it_waits(process)
            process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            process.communicate(self.content)
        self.assertEqual(process.returncode, 0)
        self.assertEqual((self.folder / "out").read_bytes(), self.content)

    def test_a_fifo_is_read_as_a_file(self):
        os.mkfifo(self.folder / "fifo")
        with Started([PROGRAM, "convert", "fifo", "-o", "out"], cwd=self.folder,
                     stdout=subprocess.DEVNULL) as process:
            time.sleep(0.1)
            with open(self.folder / "fifo", "wb", buffering=0) as fifo:
                for byte in self.content:
                    fifo.write(bytes([byte]))
        self.assertEqual(process.returncode, 0)
        self.assertEqual((self.folder / "out").read_bytes(), self.content)


if __name__ == "__main__":
    unittest.main()
