#!/usr/bin/env python3
"""Tests tfrecord create for any format: how the format is detected, interruption, and output."""
import json
import os
import signal
import subprocess
import threading
import time
import unittest
import zipfile

from tfrecord_create_case import CreateTest, npy, png
from tfrecord_test_case import PROGRAM


class Interrupted(CreateTest):
    """SIGINT ends the program at once, and no file is left."""

    def expect_end(self, process, before):
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
        process.wait(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertTrue(errors.splitlines()[-1].startswith("tfrecord create: "), errors)
        self.assertIn("interrupted", errors)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def start_create(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, "create", *map(str, arguments), "-o", "out"],
                                cwd=self.folder, stderr=subprocess.PIPE, bufsize=0, **options)

    def wait_for_output(self):
        deadline = time.monotonic() + 60
        partial = self.folder / ".out.partial"
        while not partial.exists():
            self.assertLess(time.monotonic(), deadline, "it writes nothing")
            time.sleep(0.01)

    def test_a_slow_pipe(self):
        for options, line in ((["--from", "json"], b'{"i": 1}\n'),
                              (["--from", "csv", "--types", "i=int64"], b"i\n")):
            before = sorted(os.listdir(self.folder))
            with self.start_create("-", *options, stdin=subprocess.PIPE) as process:
                stop = threading.Event()

                def feed(pipe=process.stdin, line=line, stop=stop):
                    try:
                        while not stop.wait(0.05):
                            pipe.write(line)
                            line = line if line.startswith(b"{") else b"1\n"
                    except BrokenPipeError:
                        pass
                feeder = threading.Thread(target=feed)
                feeder.start()
                try:
                    self.wait_for_output()
                    begun = time.monotonic()
                    self.expect_end(process, before)
                    # The program was not ended by the alarm that kills a hanging program.
                    self.assertLess(time.monotonic() - begun, 4.5)
                finally:
                    stop.set()
                    feeder.join()

    def test_arrays(self):
        header = npy("'|u1'", "(40000000, 1, 100)", b"")
        with open(self.folder / "x.npy", "wb") as file:  # 4 GB in a sparse file
            file.write(header)
            file.truncate(len(header) + 4_000_000_000)
        with self.start_create("x.npy") as process:
            self.wait_for_output()
            self.expect_end(process, ["x.npy"])

    def test_an_archive_that_is_inflated(self):
        with zipfile.ZipFile(self.folder / "x.npz", "w", zipfile.ZIP_DEFLATED, True, 1) as archive:
            with archive.open("x.npy", "w", force_zip64=True) as file:
                file.write(npy("'|u1'", "(1000000, 1, 100)", b""))
                for _ in range(100):
                    file.write(bytes(1_000_000))
        with self.start_create("x.npz") as process:
            self.wait_for_output()
            self.expect_end(process, ["x.npz"])

    def test_images(self):
        folder = self.folder / "images" / "cat"
        folder.mkdir(parents=True)
        (folder / "0.png").write_bytes(png(3, 2, bytes(2_000_000)))
        for i in range(1, 5000):
            os.link(folder / "0.png", folder / f"{i}.png")
        with self.start_create("images") as process:
            self.wait_for_output()
            self.expect_end(process, ["images"])


class Usage(CreateTest):
    def test_formats(self):
        self.text("a.xyz", "")
        self.refused("from its name: give --from", "a.xyz", status=2)
        self.refused("none/: no such file or folder", "none/")
        self.refused("can't detect the format of standard input", "-", status=2)
        self.text("a.csv", "a\n1\n")
        self.text("a.json", "{}")
        self.refused("inputs of several formats", "a.csv", "a.json", status=2)
        self.refused("No such file", "missing.csv")
        self.assertEqual(self.start("create", "a.csv").returncode, 2)

    def test_full_disk_and_json(self):
        self.text("a.csv", "a\n1\n")
        with open("/dev/full", "wb"):
            self.expect_failure("/dev/full", "create", "a.csv", "-o", "/dev/full")
        self.assertEqual(json.loads(self.run_it("create", "a.csv", "-o", "b.gz", "--json")),
                         {"files": [{"path": "b.gz", "records": 1,
                                     "bytes": (self.folder / "b.gz").stat().st_size}]})


if __name__ == "__main__":
    unittest.main()
