#!/usr/bin/env python3
"""Tests cifar10_batches as a user runs it: digests, saved and restored states, options, exit codes.

Run by CTest. Environment: RECORDPIPE_GENERATE and RECORDPIPE_CIFAR10_BATCHES, the programs.
"""
import json
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
    DATA = small_archives.convert_in(ROOT, GENERATE, ROWS)


def tearDownModule():
    shutil.rmtree(ROOT)


def crc32c(data, crc=0):
    """Computes the CRC bit by bit, from the polynomial."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def records(path):
    """Yields image (planes) and label of each record. Finds them by known byte patterns of these
    files."""
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

    def test_a_global_shuffle_is_another_order_of_the_same_images(self):
        common = ("--digest", "--batch-size", 1, "--distort", "false")
        crcs = {shuffle: [line.split()[3] for line in self.lines(*common, "--shuffle", shuffle)[:-1]]
                for shuffle in ("none", "buffer", "global")}
        self.assertEqual(len({tuple(order) for order in crcs.values()}), 3)
        self.assertEqual(len({tuple(sorted(order)) for order in crcs.values()}), 1)

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
        self.lines("--batches", 5, "--batch-size", 8, "--save-state", place)
        for option, here in (("--dtype", "uint8"), ("--layout", "nchw")):
            result = self.run_program("--restore-state", place, "--batch-size", 8, option, here)
            self.assertEqual(result.returncode, 1)
            self.assertIn("dtype=float32, layout=nhwc", result.stderr)
            self.assertIn(f"{option[2:]}={here}", result.stderr)

    def test_no_state_and_no_file(self):
        place = ROOT / "place"
        place.write_bytes(b"something else")
        self.assertEqual(self.run_program("--restore-state", place).returncode, 1)
        result = self.run_program("--restore-state", ROOT / "missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing", result.stderr)


class Shards(BatchesTest):
    def labels(self, *arguments):
        lines = self.lines("--digest", "--dtype", "uint8", *arguments)[:-1]
        return [line.split("labels ")[1].split() for line in lines]

    def test_batches_of_all_workers_are_the_global_batch(self):
        for shuffle in ("buffer", "global", "none"):
            common = ("--shuffle", shuffle, "--epochs", 2)
            whole = self.labels("--batch-size", 16, *common)
            self.assertEqual(len(whole), 20)
            for worker in range(2):
                part = self.labels("--batch-size", 8, "--shard", f"{worker}/2", *common)
                self.assertEqual([labels[:2] for labels in part],
                                 [labels[worker::2] for labels in whole])

    def test_what_four_workers_save_two_resume(self):
        common = ("--shuffle", "global", "--epochs", 2)
        whole = self.labels("--batch-size", 32, *common)
        place = ROOT / "place"
        self.labels("--batch-size", 8, "--shard", "3/4", "--batches", 4, "--save-state", place,
                    *common)
        self.assertEqual(self.labels("--batch-size", 32, "--shard", "0/1", "--restore-state",
                                     place, *common), whole[4:])
        for worker in range(2):
            part = self.labels("--batch-size", 16, "--shard", f"{worker}/2", "--restore-state",
                               place, *common)
            self.assertEqual([labels[:2] for labels in part],
                             [labels[worker::2] for labels in whole[4:]])


class Usage(BatchesTest):
    def test_explain(self):
        lines = self.lines("--explain", "--batch-size", 32)
        self.assertEqual([line.split("(")[0] for line in lines],
                         ["tfrecord_files", "shuffle", "repeat", "map", "map_with_random", "batch",
                          "prefetch"])
        self.assertIn("map_with_random(seed=7, pad=4)", lines)
        self.assertIn("batch(batch_size=32, drop_remainder=false, image=32x32x3, dtype=float32, "
                      "layout=nhwc)", lines)

    def test_says_how_much_there_was_where_nothing_else_is_asked_for(self):
        self.assertEqual(self.lines("--batch-size", 16, "--batches", 2),
                         ["total batches 2 images 32"])

    def test_stats(self):
        lines = self.lines("--stats", "--batch-size", 16, "--epochs", 2)
        self.assertRegex(lines[0], r"^\d+ images/s, [\d.]+ CPU seconds per million images, "
                                   r"peak memory [\d.]+ MiB$")
        self.assertRegex(lines[1], r"^[\d.]+ MiB of it for batches and buffers "
                                   r"\(mapped files are not\)$")
        self.assertEqual([(line.split()[0], line.split()[1]) for line in lines[3:-1]],
                         [("tfrecord_files", "320"), ("shuffle", "320"), ("repeat", "320"),
                          ("map", "320"), ("map_with_random", "320"), ("batch", "20"),
                          ("prefetch", "20"), ("consumer", "20")])
        self.assertRegex(lines[-1], r"^bottleneck: [a-z_]+, at \d+% of what \d+ threads? can give")

    def test_stats_of_nothing(self):
        lines = self.lines("--stats", "--batches", 0)
        self.assertEqual(lines[-1], "bottleneck: none yet")
        self.assertRegex(lines[0], r"^0 images/s, [\d.]+ CPU seconds per million images, ")

    def test_trace(self):
        trace = ROOT / "trace.json"
        self.lines("--trace", trace)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertLessEqual({"tfrecord_files", "shuffle", "map", "batch", "prefetch", "consumer"},
                             {event["name"] for event in events})
        names = {event["name"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual(names["process_name"], "cifar10_batches")
        for event in events:
            self.assertIn("dur" if event["ph"] == "X" else "args", event)

    def test_files_that_cannot_be_written_are_refused_before_the_work(self):
        present = sorted(ROOT.iterdir())
        for option in ("--trace", "--save-state"):
            for path in (ROOT / "missing" / "file", ROOT):
                result = self.run_program("--digest", option, path)
                self.assertEqual(result.returncode, 1, option)
                self.assertIn(str(path.parent), result.stderr)
                self.assertEqual(result.stdout, "")
            result = self.run_program(option, ROOT / "unwritten", "--restore-state", ROOT / "none")
            self.assertEqual(result.returncode, 1, option)
        self.assertEqual(sorted(ROOT.iterdir()), present)

    def test_numbers_at_their_limits(self):
        self.lines("--seed", 2**64 - 1, "--memory-limit", 2**64 - 1, "--batches", 1)
        self.lines("--shard", "65535/65536", "--batch-size", 1, "--batches", 1)

    def test_memory_limit(self):
        unlimited = self.lines("--digest", "--batch-size", 16, "--epochs", 3)
        self.assertEqual(self.lines("--digest", "--batch-size", 16, "--epochs", 3, "--memory-limit",
                                    "1500K"), unlimited)
        result = self.run_program("--batch-size", 16, "--epochs", 100, "--memory-limit", 100_000)
        self.assertEqual(result.returncode, 1)
        self.assertIn("memory_limit=100000", result.stderr)

    def test_wrong_usage(self):
        for arguments in (("--batch-size", 0), ("--shuffle", "twice"), ("--dtype", "int4"),
                          ("--shard", "2/2"), ("--shard", "1"), ("--shard", "a/b"),
                          ("--memory-limit", "much"), ("--memory-limit", "-5"),
                          ("--memory-limit", 2**64), ("--batches", "-1"), ("--batches", 2**64),
                          ("--seed", "-1"), ("--seed", 2**64), ("--epochs", 2**63),
                          ("--shard", "0/65537"), ("--shard", "0/99999"), ("--no-such-option",)):
            self.assertEqual(self.run_program(*arguments).returncode, 2, arguments)
        self.assertEqual(subprocess.run([PROGRAM], capture_output=True, check=False).returncode, 2)

    def test_no_data(self):
        result = subprocess.run([PROGRAM, "--data-dir", ROOT / "nothing"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("generate_cifar10_tfrecords", result.stderr)


if __name__ == "__main__":
    unittest.main()
