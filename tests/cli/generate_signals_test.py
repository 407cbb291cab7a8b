#!/usr/bin/env python3
"""Tests generate_cifar10_tfrecords when it is interrupted, killed, or run twice at the same time.

Run by CTest. Environment: RECORDPIPE_GENERATE, the program.
"""
import os
import signal
import subprocess
import time
import unittest

from generate_test_case import FILES, PROGRAM, SPLITS, GenerateTest, wait_until
from started import wait_until_it_waits


class Signals(GenerateTest):
    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, "--data-dir", self.data, *map(str, arguments)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number), self.start("--synthetic") as process:
                partial = self.data / ".cifar-10-python-synthetic.tar.gz.partial"
                wait_until(partial.exists, "the drawing to begin")
                process.send_signal(number)
                _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, stderr)
                self.assertIn("interrupted", stderr)
                self.assertEqual(self.names(), [])

    def test_interrupted_while_a_pipe_is_silent(self):
        for number, signals in ((signal.SIGTERM, 1), (signal.SIGINT, 2)):
            pipe = self.root / f"pipe{signals}"
            os.mkfifo(pipe)
            with self.subTest(number), self.start("--archive", pipe) as process, \
                    open(pipe, "wb"):  # a writer without data
                wait_until_it_waits(process)
                for _ in range(signals):  # a second signal ends it faster
                    process.send_signal(number)
                    time.sleep(0.7)  # sooner, it would be the same signal
                _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, stderr)
                self.assertIn("interrupted", stderr)
        self.expect_done(self.generate("--archive", self.archive))
        self.assertEqual(self.names(), FILES)

    def test_killed_then_run_again(self):
        with self.start("--synthetic") as process:
            wait_until((self.data / ".generate_cifar10_tfrecords.lock").exists, "the lock")
            process.kill()
        self.assertFalse(set(SPLITS) & set(self.names()))
        self.expect_done(self.generate("--archive", self.archive))
        self.expect_same_images()
        self.assertEqual(self.names(), FILES)

    def test_two_at_a_time(self):
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with self.start("--archive", pipe) as first:
            wait_until((self.data / ".generate_cifar10_tfrecords.lock").exists, "the lock")
            self.expect_failure(self.generate("--archive", self.archive),
                                "locked by another process")
            pipe.write_bytes(self.archive.read_bytes())
            _, stderr = first.communicate(timeout=60)
            self.assertEqual(first.returncode, 0, stderr)
        self.assertEqual(self.names(), FILES)
        self.expect_same_images()


if __name__ == "__main__":
    unittest.main(verbosity=2)
