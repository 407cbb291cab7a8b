#!/usr/bin/env python3
"""Tests commands that read several files at a time: outputs and reports are those of one file after
the other, at any number of threads.
"""
import functools
import gzip
import http.server
import random
import threading
import unittest

from tfrecord_test_case import TfrecordTest, named_example, record

THREADS = (1, 2, 4)


@functools.cache  # CRCs are slow in Python
def some_files():
    """Returns the names, the contents, and whether each is intact."""
    source = random.Random(5)
    files = []
    for number in range(40):
        content = b"".join(record(named_example({"id": [number * 100 + i],
                                                 "x": [source.randbytes(source.choice([9, 3000]))]}))
                           for i in range(source.randrange(30)))
        kind = number % 4 if content else 0
        if kind == 1:
            content = gzip.compress(content, 1)
        elif kind == 2:
            content = content[:len(content) // 2] + b"?" + content[len(content) // 2:]
        elif kind == 3:
            content = content[:-5]
        files.append((f"f{number:02}", content, kind < 2))
    return files


class ManyFiles(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.all = [name for name, _, _ in some_files()]
        self.intact = [name for name, _, is_intact in some_files() if is_intact]
        for name, content, _ in some_files():
            (self.folder / name).write_bytes(content)

    def expect_same(self, *arguments, status=0):
        """The results of the command with any number of threads; returns them."""
        results = []
        for threads in THREADS:
            result = self.start(*arguments, "--threads", threads)
            self.assertEqual(result.returncode, status, result.stderr)
            output = self.folder / "out"
            results.append((result.stdout, result.stderr,
                            output.read_bytes() if output.exists() else None))
            output.unlink(missing_ok=True)
        for result in results[1:]:
            self.assertEqual(result, results[0])
        return results[0]

    def test_salvage(self):
        reports, records = [], []
        for name in self.all:
            result = self.start("salvage", "--json", name, "-o", "one")
            reports.append(result.stdout)
            if (self.folder / "one").exists():
                records.append((self.folder / "one").read_bytes())
                (self.folder / "one").unlink()
        found = self.expect_same("salvage", "--json", *self.all, "-o", "out", status=1)
        self.assertEqual(found, (b"".join(reports), b"", b"".join(records)))

    def test_salvage_of_more_than_may_be_ahead(self):
        """Threads wait until it is their files' turn."""
        content = record(bytes(1000)) * 12_000
        for name in "abc":
            (self.folder / name).write_bytes(gzip.compress(content, 1))
        self.assertEqual(self.expect_same("salvage", "a", "b", "c", "-o", "out")[2], content * 3)
        # They don't wait for an output that failed.
        for threads in THREADS:
            result = self.start("salvage", "a", "b", "c", "-o", "/dev/full", "--threads", threads)
            self.assertEqual(result.returncode, 2)

    def test_salvage_with_a_file_that_is_missing(self):
        for threads in THREADS:
            result = self.start("salvage", *self.intact[:5], "none", *self.intact[5:], "-o", "out",
                                "--threads", threads)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.decode().count("intact, "), 5)
            self.assertIn(b"none: open failed", result.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_salvage_with_standard_input(self):
        expected = b"".join(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
                            for data in ((self.folder / name).read_bytes()
                                         for name in [*self.intact[:3], "f20", *self.intact[3:]]))
        with open(self.folder / "f20", "rb") as file:
            self.run_it("salvage", *self.intact[:3], "-", *self.intact[3:], "-o", "out", "--threads",
                        3, stdin=file)
        self.assertEqual((self.folder / "out").read_bytes(), expected)

    def test_export(self):
        _, _, found = self.expect_same("export", "--to", "json", *self.intact, "-o", "out")
        self.run_it("cat", *self.intact, "-o", "one")
        self.assertEqual(found.decode(), self.run_it("export", "--to", "json", "one", "-o", "-"))
        self.expect_same("export", "--to", "csv", *self.intact, "-o", "out")
        self.expect_same("export", "--to", "npz", "--select", "id", *self.intact, "-o", "out")

    def test_diff(self):
        self.run_it("cat", *self.intact, "-o", "one")
        found, _, _ = self.expect_same("diff", "one", ",".join(self.intact))
        self.assertTrue(found.startswith(b"the same "))
        self.expect_same("diff", ",".join(self.intact), ",".join(reversed(self.intact)), status=1)

    def test_several_urls_are_asked_for_at_a_time(self):
        served = str(self.folder)

        class Handler(http.server.SimpleHTTPRequestHandler):
            asked, several = 0, threading.Event()
            lock = threading.Lock()

            def __init__(self, *arguments):
                super().__init__(*arguments, directory=served)

            def do_GET(self):
                if "," in self.path:  # diff asks whether the list is a file
                    super().do_GET()
                    return
                with self.lock:
                    Handler.asked += 1
                    if Handler.asked > 1:
                        self.several.set()
                self.several.wait(20)
                with self.lock:
                    Handler.asked -= 1
                super().do_GET()

            do_HEAD = http.server.SimpleHTTPRequestHandler.do_HEAD

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        urls = [f"http://127.0.0.1:{server.server_port}/{name}" for name in self.intact[:8]]
        for command in (["salvage", *urls, "-o", "out"],
                        ["export", "--to", "json", *urls, "-o", "out"],
                        ["diff", ",".join(urls), ",".join(urls)]):
            with self.subTest(command[0]):
                Handler.several.clear()
                self.start(*command, "--threads", 4)
                self.assertTrue(Handler.several.is_set())

    def test_damage_comes_at_its_place(self):
        damaged = self.all.index("f03")
        first = self.expect_same("diff", ",".join(self.all), ",".join(self.all), status=2)
        self.assertIn(b": f02:", first[1])
        result = self.start("export", "--to", "json", *self.all[damaged:], "-o", "out")
        self.assertIn(b": f03:", result.stderr)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
