#!/usr/bin/env python3
"""cifar10_batches as its users meet it: digests, places saved and restored, options, exit codes.

Run by CTest. Environment: RECORDPIPE_GENERATE and RECORDPIPE_CIFAR10_BATCHES, the programs.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import small_archives

GENERATE = os.environ["RECORDPIPE_GENERATE"]
PROGRAM = os.environ["RECORDPIPE_CIFAR10_BATCHES"]
ROWS = 40  # in each of the six batches: 160 images to train on


def setUpModule():
    global ROOT, DATA
    ROOT = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
    DATA = ROOT / "data"
    archive = ROOT / "cifar.tar.gz"
    small_archives.write_archive(archive, small_archives.python_members(ROWS))
    subprocess.run([GENERATE, "--data-dir", DATA, "--archive", archive, "--quiet"], check=True)


def tearDownModule():
    shutil.rmtree(ROOT)


def crc32c(data, crc=0):
    """Bit by bit, as the polynomial says."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def records(path):
    """image (planes) and label of each, by searching for what is known of these files."""
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack_from("<Q", data)
        example, data = data[12:12 + length], data[16 + length:]
        image_at = example.index(b"image") + 5
        pixels_at = example.index(b"\x80\x18", image_at) + 2  # the length 3072, as a varint
        last = re.search(rb"label\x12.*\x1a.\x0a.(.)$", example, re.DOTALL)
        yield example[pixels_at:pixels_at + 3072], last.group(1)[0]


class BatchesTest(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, "--data-dir", DATA, *map(str, arguments)],
                              capture_output=True, text=True, timeout=60, check=False)

    def lines(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout.splitlines()


class Digests(BatchesTest):
    def test_they_are_those_of_the_files(self):
        lines = self.lines("--digest", "--batch-size", 16, "--shuffle", "none", "--distort",
                           "false", "--dtype", "uint8", "--layout", "nchw", "--batches", 3)
        images = list(records(DATA / "train.tfrecords"))
        total = b""
        for k in range(3):
            batch = images[16 * k:16 * k + 16]
            content = b"".join(pixels for pixels, _ in batch)
            content += b"".join(struct.pack("<i", label) for _, label in batch)
            labels = " ".join(str(label) for _, label in batch[:4])
            self.assertEqual(lines[k], f"batch {k} crc32c {crc32c(content):08x} labels {labels}")
            total += content
        self.assertEqual(lines[3], f"total batches 3 images 48 crc32c {crc32c(total):08x}")

    def test_layout_and_type(self):
        pixels, label = next(records(DATA / "train.tfrecords"))
        (line, _) = self.lines("--digest", "--batch-size", 1, "--shuffle", "none", "--distort",
                               "false", "--batches", 1)
        values = [pixels[1024 * c + p] for p in range(1024) for c in range(3)]
        content = struct.pack("<3072f", *values) + struct.pack("<i", label)
        self.assertEqual(line, f"batch 0 crc32c {crc32c(content):08x} labels {label}")

    def test_the_same_with_any_threads_and_prefetch(self):
        expected = self.lines("--digest", "--epochs", 3, "--batch-size", 7)
        self.assertEqual(len(expected), 3 * 160 // 7 + 2)
        for threads, prefetch in ((1, 0), (2, 1), (3, 9), (8, 2)):
            self.assertEqual(self.lines("--digest", "--epochs", 3, "--batch-size", 7, "--threads",
                                        threads, "--prefetch", prefetch), expected)

    def test_seeds_and_epochs_differ(self):
        lines = self.lines("--digest", "--batch-size", 160, "--epochs", 2)
        other = self.lines("--digest", "--batch-size", 160, "--epochs", 2, "--seed", 8)
        crcs = [line.split()[3] for line in lines[:2] + other[:2]]
        self.assertEqual(len(set(crcs)), 4)


class Places(BatchesTest):
    def test_going_on_is_the_same_as_never_having_stopped(self):
        common = ("--digest", "--epochs", 3, "--batch-size", 8)
        expected = self.lines(*common)[:-1]
        place = ROOT / "place"
        lines = self.lines(*common, "--batches", 13, "--save-state", place)[:-1]
        while len(lines) < len(expected):
            threads = len(lines) % 3 + 1
            lines += self.lines(*common, "--batches", 17, "--restore-state", place, "--save-state",
                                place, "--threads", threads, "--prefetch", len(lines) % 4)[:-1]
        self.assertEqual(lines, expected)
        self.assertEqual(self.lines(*common, "--restore-state", place),
                         ["total batches 0 images 0 crc32c 00000000"])

    def test_another_plan_is_refused(self):
        place = ROOT / "place"
        self.lines("--batches", 3, "--save-state", place)
        result = self.run_program("--restore-state", place, "--seed", 8)
        self.assertEqual(result.returncode, 1)
        self.assertIn("seed=7", result.stderr)
        self.assertIn("seed=8", result.stderr)

    def test_no_state_and_no_file(self):
        place = ROOT / "place"
        place.write_bytes(b"something else")
        self.assertEqual(self.run_program("--restore-state", place).returncode, 1)
        result = self.run_program("--restore-state", ROOT / "missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing", result.stderr)


class Usage(BatchesTest):
    def test_explain(self):
        lines = self.lines("--explain", "--batch-size", 32)
        self.assertEqual([line.split("(")[0] for line in lines],
                         ["tfrecord_files", "shuffle", "repeat", "map", "map_with_random", "batch",
                          "prefetch"])
        self.assertIn("batch(batch_size=32, drop_remainder=false)", lines)

    def test_stats(self):
        (line,) = self.lines("--stats")
        self.assertRegex(line, r"^\d+ images/s, [\d.]+ CPU seconds per million images, "
                               r"peak memory [\d.]+ MiB$")

    def test_wrong_usage(self):
        for arguments in (("--batch-size", 0), ("--shuffle", "twice"), ("--dtype", "int4"),
                          ("--no-such-option",)):
            self.assertEqual(self.run_program(*arguments).returncode, 2, arguments)
        self.assertEqual(subprocess.run([PROGRAM], capture_output=True, check=False).returncode, 2)

    def test_no_data(self):
        result = subprocess.run([PROGRAM, "--data-dir", ROOT / "nothing"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("generate_cifar10_tfrecords", result.stderr)


if __name__ == "__main__":
    unittest.main()
