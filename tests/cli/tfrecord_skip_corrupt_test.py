#!/usr/bin/env python3
"""Tests --skip-corrupt of all commands: what errors say of it, and what a limit leaves unread."""
import gzip
import unittest

from tfrecord_test_case import TfrecordTest, named_example, record
from damaged_files import flipped

COMMANDS = [["view", "-o", "out.html"], ["show"], ["show", "--where", "n >= 0"],
            ["grep", "n >= 0"], ["count", "--where", "n >= 0"], ["schema"], ["stats"],
            ["convert", "-o", "out"], ["convert", "-o", "out", "--where", "n >= 0"],
            ["convert", "-o", "out", "--drop", "m", "--shards", "2"], ["export", "-o", "out.json"],
            ["export", "-o", "out.csv", "--where", "n >= 0"]]
SIZE = len(record(named_example({"n": [0], "m": [0]})))


class SkipCorrupt(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.content = b"".join(record(named_example({"n": [i], "m": [i]})) for i in range(4))

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
        for content in cut, flip, self.content + bytes(20), gzip.compress(self.content)[:-9]:
            (self.folder / "a").write_bytes(content)
            for command in [*COMMANDS, ["convert", "--to-dir", "folder"]]:
                with self.subTest(content=content, command=command):
                    result = self.start(*command, "a")
                    self.assertIn(result.returncode, (1, 2))
                    self.assertIn(way_out, result.stderr.decode())
                    result = self.start(*command, "a", "--skip-corrupt")
                    self.assertEqual(result.returncode, 0, result.stderr.decode())
        (self.folder / "a").write_bytes(cut)  # which headers tell, too
        for command in ["count"], ["convert", "-o", "out", "--shards", 2], \
                       ["convert", "-o", "out", "--dry-run"], ["show", "--range", "1:"]:
            self.expect_failure(way_out, *command, "a")
        for command in ["cat", "-o", "out"], ["schema", "--no-crc"], ["head"]:
            self.assertNotIn(way_out, self.run_it(*command, "a", status=2))


if __name__ == "__main__":
    unittest.main()
