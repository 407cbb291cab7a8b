"""Provides the tests of tfrecord's subcommands with a test folder for the program, and with
TFRecord files written by independent code.

Environment: RECORDPIPE_TFRECORD, the program.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["RECORDPIPE_TFRECORD"]
# Shells start background commands, such as these tests, with SIGINT ignored, and the programs don't
# change that.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from example_bytes import (DATA, bytes_feature, example, float_feature,  # noqa: E402
                           int64_feature, masked, named_example, record)
from started import Started  # noqa: E402

__all__ = ["DATA", "PROGRAM", "TfrecordTest", "bytes_feature", "example", "float_feature",
           "int64_feature", "masked", "named_example", "record"]
os.environ["no_proxy"] = "*"  # the machine's proxy must not be used


class TfrecordTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, *payloads):
        """Writes a plain TFRecord file of these records in the test's folder."""
        path = self.folder / name
        path.write_bytes(b"".join(record(payload) for payload in payloads))
        return path

    def start(self, *arguments, input=None, **options):
        """Returns the finished process, with output as bytes. Paths are relative to the test's
        folder."""
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, input=input,
                              cwd=self.folder, timeout=120, check=False, **options)

    def run_it(self, *arguments, status=0, **options):
        """Returns standard output as text, or standard error if the program should fail."""
        result = self.start(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return (result.stdout if status == 0 else result.stderr).decode()

    def summary(self, *arguments, **options):
        """Returns the summary on standard error, for a result written elsewhere."""
        result = self.start(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr.decode())
        return result.stderr.decode()

    def notes(self, *arguments, status=0, **options):
        """Returns the lines on standard error before the summary of a result, which comes last."""
        result = self.start(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        lines = result.stderr.decode().splitlines(True)
        self.assertTrue(lines.pop().startswith("wrote "), lines)
        return "".join(lines)

    def peak(self, *arguments, status=0):
        """Returns the maximum memory of the program in bytes, including mapped pages. If this
        process uses more, returns that instead: keep this process small."""
        with Started([PROGRAM, *map(str, arguments)], cwd=self.folder,
                     stdout=subprocess.DEVNULL) as process:
            _, exit_status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(exit_status)
        self.assertEqual(process.returncode, status)
        return usage.ru_maxrss * 1024

    def json(self, *arguments, status=0, **options):
        """Returns standard output as a list of JSON values, one per line, for any exit status."""
        result = self.start(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return [json.loads(line) for line in result.stdout.splitlines()]

    def expect_failure(self, words, *arguments, status=2, **options):
        """Checks that the last line of standard error has the subcommand's name and `words`."""
        last = self.run_it(*arguments, status=status, **options).strip().splitlines()[-1]
        self.assertTrue(last.startswith(f"tfrecord {arguments[0]}: "), last)
        self.assertIn(words, last)
