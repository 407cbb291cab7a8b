#!/usr/bin/env python3
"""Tests the progress bar of tfrecord's subcommands on a terminal: one bar for all inputs of a
command."""
import concurrent.futures
import gzip
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest

from started import Started
from terminal import Terminal
from tfrecord_test_case import PROGRAM, TfrecordTest

BAR = re.compile(rb"\r\x1b\[K(\w+: (?:\[|[\d.]+ MB)[^\r\n]*)")
MEBIBYTE = 1 << 20


class ProgressTest(TfrecordTest):
    """A bar is drawn after the first second of work, but small inputs take less. Therefore the
    program is stopped (SIGSTOP) for that time whenever it has opened the next input."""

    def opened(self, process, path):
        """Waits until the program has `path` open. Returns False if the program ended before."""
        inode = os.stat(path).st_ino
        while process.poll() is None:
            try:
                with os.scandir(f"/proc/{process.pid}/fd") as descriptors:
                    if any(each.stat().st_ino == inode for each in descriptors):
                        return True
            except OSError:
                pass  # closed in the meantime
            time.sleep(0.001)
        return False

    def drawn(self, arguments, inputs):
        terminal = Terminal()
        with Started([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                     stderr=terminal.end) as process:
            terminal.begin()
            results = threading.Thread(target=process.stdout.read)
            results.start()
            for path in inputs:
                if not self.opened(process, self.folder / path):
                    break
                process.send_signal(signal.SIGSTOP)
                time.sleep(1.1)
                process.send_signal(signal.SIGCONT)
            results.join()
            shown = terminal.shown()
        self.assertEqual(process.returncode, 0, shown)
        return [bar.decode() for bar in BAR.findall(shown)]

    def expect_bars(self, arguments, inputs, total):
        """Checks the bars of a command that makes one pass over its inputs. Tries again if the
        program could not be stopped."""
        for _ in range(10):
            bars = self.drawn(arguments, inputs)
            fractions = []
            for bar in bars:
                parts = re.match(r"\w+: \[[#.]*\] +(\d+)% of ([\d.]+) MB, ([\d.]+) MB/s", bar)
                self.assertIsNotNone(parts, bar)
                self.assertEqual(parts[2], f"{total / 1e6:.1f}", bar)
                self.assertGreater(float(parts[3]), 0, bar)
                fractions.append(int(parts[1]))
            self.assertEqual(fractions, sorted(fractions), bars)
            if fractions and fractions[0] < 50 and any(50 <= each for each in fractions):
                return
        self.fail(f"drawn was {bars}")


class Records(ProgressTest):
    def setUp(self):
        super().setUp()
        noise = os.urandom(1 << 18).hex()
        (self.folder / "one.jsonl").write_text(
            "\n".join(json.dumps({"x": noise, "n": n}) for n in range(4)))
        self.run_it("create", "one.jsonl", "-o", "one")

    def write_both(self, content):
        for name in ("a", "b"):
            (self.folder / name).write_bytes(content)

    def size(self, *names):
        return sum((self.folder / name).stat().st_size for name in names)

    def expect_bars_of_each(self, *commands):
        """Runs the commands at the same time: each is stopped for two seconds."""
        def expect(command):
            self.expect_bars([*command, "a", "b"], ["a", "b"], self.size("a", "b"))
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            done = [(command, pool.submit(expect, command)) for command in commands]
        for command, result in done:
            with self.subTest(command):
                result.result()

    def test_one_bar_for_all_files(self):
        self.write_both((self.folder / "one").read_bytes() * 32)
        self.expect_bars_of_each(["stats"], ["schema"], ["convert", "-o", "converted"],
                                 ["salvage", "-o", "salvaged"],
                                 ["export", "--to", "json", "-o", "exported"], ["show", "--json"],
                                 ["view", "-o", "viewed"])

    def test_compressed_files_count_as_they_are_stored(self):
        self.write_both(gzip.compress((self.folder / "one").read_bytes() * 16, 1))
        self.expect_bars_of_each(["verify"], ["info"], ["stats"])
        self.expect_bars(["diff", "a", "b"], ["a"], self.size("a", "b"))

    def test_what_has_no_size_is_counted_on(self):
        """Bytes of the second input are added to the bytes of the first, and a rate is shown."""
        data = (self.folder / "one").read_bytes()
        for name in ("p", "q"):
            os.mkfifo(self.folder / name)
        terminal = Terminal()
        with Started([PROGRAM, "stats", "p", "q"], cwd=self.folder, stdout=subprocess.DEVNULL,
                     stderr=terminal.end) as process:
            terminal.begin()
            with open(self.folder / "p", "wb") as first:
                first.write(data * 4)
                time.sleep(1.1)
            with open(self.folder / "q", "wb") as second:
                time.sleep(0.2)
                second.write(data * 4)
            shown = terminal.shown()
        self.assertEqual(process.returncode, 0)
        last = BAR.findall(shown)[-1].decode()
        done, rate = re.match(r"count: ([\d.]+) MB, ([\d.]+) MB/s", last).groups()
        self.assertGreater(float(done), 4 * len(data) / 1e6)
        self.assertGreater(float(rate), 0)


class Text(ProgressTest):
    def test_rows_and_lines_count_as_bytes_of_their_files(self):
        rows = "".join(f"{n},{n / 2}\n" for n in range(200_000))
        lines = "".join(f'{{"id": {n}, "x": {n / 2}}}\n' for n in range(100_000))
        types = ["--types", "id=int64,x=float"]

        def bars(ending, content):
            inputs = ["a" + ending, "b" + ending]
            for name in inputs:
                (self.folder / name).write_text(content)
            return self.drawn(["create", *inputs, "-o", "out" + ending[1:], *types], inputs)
        contents = {".csv": "id,x\n" + rows, ".jsonl": lines}
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each is stopped for two seconds
            drawn = dict(zip(contents, pool.map(bars, contents, contents.values())))
        for ending, content in contents.items():
            with self.subTest(ending):
                self.assertTrue(drawn[ending])
                for bar in drawn[ending]:
                    self.assertIn(f"% of {2 * len(content) / 1e6:.1f} MB, ", bar)


if __name__ == "__main__":
    unittest.main()
