#!/usr/bin/env python3
"""Tests --skip-corrupt of all commands: what errors say of it, and what a limit leaves unread."""
import gzip
import unittest

from tfrecord_test_case import TfrecordTest, named_example, record
from damaged_files import flipped

COMMANDS = [["view", "-o", "out.html"], ["show"], ["diff", "b"], ["show", "--where", "n >= 0"],
            ["grep", "n >= 0"], ["count", "--where", "n >= 0"], ["schema"], ["stats"],
            ["convert", "-o", "out"], ["convert", "-o", "out", "--where", "n >= 0"],
            ["convert", "-o", "out", "--drop", "m", "--shards", "2"], ["export", "-o", "out.json"],
            ["export", "-o", "out.csv", "--where", "n >= 0"]]
WITHOUT_LIMIT = [["cat", "-o", "out"], ["head", "-n", 5], ["tail"], ["tail", "--where", "n >= 0"],
                 ["convert", "--to-dir", "folder"]]
SIZE = len(record(named_example({"n": [0], "m": [0]})))


class SkipCorrupt(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.content = b"".join(record(named_example({"n": [i], "m": [i]})) for i in range(4))
        (self.folder / "b").write_bytes(self.content)

    def test_nothing_behind_the_limit_is_read(self):
        for bit in 8 * 2 * SIZE, 8 * (2 * SIZE + 20):  # of the third record's length, and its data
            damaged = flipped(self.content, bit)
            for content in damaged, gzip.compress(damaged):
                (self.folder / "a").write_bytes(content)
                for command in COMMANDS:
                    limit = "-m" if command[0] == "grep" else "--limit"
                    for skip in [], ["--skip-corrupt"]:
                        with self.subTest(bit=bit, command=command, skip=skip):
                            result = self.start(*command, "a", limit, 2, *skip)
                            said = result.stderr.decode()
                            self.assertEqual(result.returncode, 0, said)
                            self.assertNotIn("skipped", said)
                            self.assertNotIn("damaged", said)
                    result = self.start(*command, "a", limit, 3, "--skip-corrupt")
                    self.assertIn(b": skipped [", result.stderr, command)

    def test_errors_name_it(self):
        cut, flip = self.content[:-1], flipped(self.content, 8 * (SIZE + 20))
        way_out = "--skip-corrupt skips what is damaged"
        first = flipped(self.content, 8 * 9)  # of the first length's CRC
        for content in (cut, flip, self.content + bytes(20), gzip.compress(self.content)[:-9], first,
                        gzip.compress(first)):
            (self.folder / "a").write_bytes(content)
            for command in [*COMMANDS, *WITHOUT_LIMIT]:
                with self.subTest(content=content, command=command):
                    result = self.start(*command, "a")
                    self.assertIn(result.returncode, (1, 2))
                    self.assertIn(way_out, result.stderr.decode())
                    result = self.start(*command, "a", "--skip-corrupt")
                    self.assertIn(result.returncode, (0, 1) if command[0] == "diff" else (0,))
                    said = result.stderr.decode()
                    self.assertIn(f"tfrecord {command[0]}: a: skipped [", said)
                    if content[:1] != b"\x1f":  # there, the stream may be damaged
                        self.assertNotIn("probably not a TFRecord file", said)
                    self.assertRegex(said, f"tfrecord {command[0]}: skipped 1 damaged region of ")
        (self.folder / "a").write_bytes(cut)  # which headers tell, too
        for command in ["count"], ["convert", "-o", "out", "--shards", 2], \
                       ["convert", "-o", "out", "--dry-run"], ["show", "--range", "1:"]:
            self.expect_failure(way_out, *command, "a")
        self.assertNotIn(way_out, self.run_it("schema", "--no-crc", "a", status=2))

    def test_what_is_left(self):
        (self.folder / "a").write_bytes(flipped(self.content, 8 * (SIZE + 20)))
        lost = {"regions_skipped": 1, "bytes_skipped": SIZE}
        for command, numbers in ((["head", "-n", 2], [0, 2]), (["tail", "-n", 2], [2, 3]),
                                 (["tail", "-n", 2, "--where", "n < 3"], [0, 2])):
            lines = self.json(*command, "a", "--json", "--skip-corrupt")
            self.assertEqual([line["features"]["n"] for line in lines], [[n] for n in numbers])
        self.assertEqual(self.json("cat", "a", "-o", "out", "--json", "--skip-corrupt"),
                         [{"files": [{"path": "out", "records": 3, "bytes": 3 * SIZE}], **lost}])
        self.assertEqual(self.json("diff", "a", "out", "--json", "--skip-corrupt"), [
            {"same": True, "records_a": 3, "records_b": 3, "records_different": 0,
             "differences": 0, **lost}])
        result = self.start("diff", "a", "a", "--skip-corrupt")  # not "in 2 files"
        self.assertIn(f"skipped 2 damaged regions of {2 * SIZE} bytes\n", result.stderr.decode())
        self.expect_failure("has no --skip-corrupt", "tail", "-f", "a", "--skip-corrupt")


if __name__ == "__main__":
    unittest.main()
