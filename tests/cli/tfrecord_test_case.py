"""What the tests of tfrecord's subcommands have in common: the program in a folder of the test's
own, and TFRecord files written by code that shares nothing with recordpipe's.

Environment: RECORDPIPE_TFRECORD, the program.
"""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "data"
PROGRAM = os.environ["RECORDPIPE_TFRECORD"]
# Shells have SIGINT ignored in what they start in the background, as these tests may be, and the
# programs leave it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.append(str(DATA))
from make_golden import bytes_feature, example, int64_feature, masked, record  # noqa: E402
from started import Started  # noqa: E402

__all__ = ["DATA", "PROGRAM", "TfrecordTest", "bytes_feature", "example", "float_feature",
           "int64_feature", "masked", "named_example", "record"]
os.environ["no_proxy"] = "*"  # a proxy of the machine is no business of these tests


def float_feature(*values):
    packed = b"".join(struct.pack("<f", value) for value in values)
    assert len(packed) < 128
    return b"\x12" + bytes([len(packed) + 2]) + b"\x0a" + bytes([len(packed)]) + packed


def named_example(features):
    """An Example of {name: [values]}: bytes or text, ints, or floats."""
    def feature(values):
        if all(isinstance(value, int) for value in values):
            return int64_feature(*values)
        if all(isinstance(value, float) for value in values):
            return float_feature(*values)
        return bytes_feature(*[value.encode() if isinstance(value, str) else value
                               for value in values])
    return example(**{name: feature(values) for name, values in features.items()})


class TfrecordTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, *payloads):
        """A plain TFRecord file of these records, in the test's folder."""
        path = self.folder / name
        path.write_bytes(b"".join(record(payload) for payload in payloads))
        return path

    def start(self, *arguments, input=None, **options):
        """The finished process; output as bytes. Paths are relative to the test's folder."""
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, input=input,
                              cwd=self.folder, timeout=120, check=False, **options)

    def run_it(self, *arguments, status=0, **options):
        """Standard output as text, or standard error where it should fail."""
        result = self.start(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return (result.stdout if status == 0 else result.stderr).decode()

    def summary(self, *arguments, **options):
        """What is said on standard error of a result that was written elsewhere."""
        result = self.start(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr.decode())
        return result.stderr.decode()

    def notes(self, *arguments, status=0, **options):
        """What is said on standard error before the summary of a result, which stands last."""
        result = self.start(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        lines = result.stderr.decode().splitlines(True)
        self.assertTrue(lines.pop().startswith("wrote "), lines)
        return "".join(lines)

    def peak(self, *arguments, status=0):
        """The most memory that the program takes, in bytes, mapped pages included. What this process
        takes counts, too, if it is more: it must stay small."""
        with Started([PROGRAM, *map(str, arguments)], cwd=self.folder,
                     stdout=subprocess.DEVNULL) as process:
            _, exit_status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(exit_status)
        self.assertEqual(process.returncode, status)
        return usage.ru_maxrss * 1024

    def json(self, *arguments, status=0):
        """Standard output as a list of JSON values, one a line, whatever the exit status."""
        result = self.start(*arguments)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return [json.loads(line) for line in result.stdout.splitlines()]

    def expect_failure(self, words, *arguments, status=2, **options):
        """The last line of standard error names the subcommand and says `words`."""
        last = self.run_it(*arguments, status=status, **options).strip().splitlines()[-1]
        self.assertTrue(last.startswith(f"tfrecord {arguments[0]}: "), last)
        self.assertIn(words, last)
