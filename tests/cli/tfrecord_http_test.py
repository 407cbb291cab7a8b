#!/usr/bin/env python3
"""Tests http URLs of a local server as inputs of tfrecord's subcommands."""
import functools
import gzip
import http.server
import os
import re
import subprocess
import threading
import unittest
import zipfile

from tfrecord_create_case import npy
from tfrecord_test_case import TfrecordTest, named_example, record


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves a folder of files, with range support, and records the requests."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range")))
        name, _, query = self.path.lstrip("/").partition("?")
        path = self.server.folder / name
        if self.server.query not in ("", query):
            self.send_error(403)
            return
        if not path.is_file():
            self.send_error(404)
            return
        data, wanted = path.read_bytes(), self.headers.get("Range")
        if not self.server.has_ranges:
            wanted = None
        first, last = 0, len(data) - 1
        if wanted:
            begin, end = wanted.removeprefix("bytes=").split("-")
            first, last = int(begin), min(last, int(end or last))
        if wanted and first > last:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", '"1"')
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[first:last + 1])

    def log_message(self, *_):
        pass


@functools.cache
def long_records():
    return b"".join(record(named_example({"n": [i], "x": [bytes([i]) * 1_000_000]}))
                    for i in range(4))


class UrlTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        self.server.folder, self.server.asked = self.folder, []
        self.server.has_ranges, self.server.query = True, ""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def asked(self):
        asked, self.server.asked[:] = list(self.server.asked), []
        return asked


class Streams(UrlTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("a", *[named_example({"n": [i], "x": [b"\0" * i]}) for i in range(300)])

    def test_are_read_like_files(self):
        for data in (self.path.read_bytes(), gzip.compress(self.path.read_bytes())):
            self.path.write_bytes(data)
            local = self.run_it("view", "a").replace("<h1>a<", "<h1>URL<")
            remote = self.run_it("view", self.url("a")).replace("<h1>a<", "<h1>URL<")
            self.assertEqual(remote.replace(self.url("a"), "a"), local)
            self.assertEqual(self.asked(), [("/a", None)])

    def test_only_what_is_needed_is_kept_of_the_transfer(self):
        page = self.run_it("view", "--limit", "3", self.url("a"))
        self.assertIn("The first 3 records", page)

    def test_several_and_local_ones_beside(self):
        page = self.run_it("view", self.url("a"), "a", self.url("a"))
        self.assertIn("900 records read", page)

    def test_braces_and_sets_of_shards(self):
        for name in ("s-00000-of-00002", "s-00001-of-00002"):
            self.write(name, named_example({"n": [7]}))
        for name in ("s@2", "s-{00000..00001}-of-00002", "s@2?token={secret,x}"):
            with self.subTest(name=name):
                found = self.json("verify", "--json", self.url(name))
                self.assertEqual([file["records"] for file in found], [1, 1])
                # Files are verified at a time, so the requests have no order.
                self.assertEqual(sorted(path.split("?")[0] for path, _ in self.asked()),
                                 ["/s-00000-of-00002", "/s-00001-of-00002"])
        text = self.run_it("verify", self.url("none@2?token=secret"), status=2)
        self.assertIn(self.url("none-00001-of-00002?...") + ": the server answered 404", text)
        self.assertNotIn("secret", text)

    def test_can_be_converted(self):
        self.run_it("convert", self.url("a"), "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), self.path.read_bytes())

    def test_have_rates_too(self):
        found, = self.json("bench", "--json", "--seconds", "2", self.url("a"))
        self.assertEqual(found["records"], 300)
        self.assertNotIn("cold_limit", found)

    def test_damage_is_named_with_the_url(self):
        self.path.write_bytes(self.path.read_bytes()[:-1])
        notes = self.notes("view", self.url("a"), "-o", "page.html", status=1)
        self.assertTrue(notes.startswith("tfrecord view: " + self.url("a") + ": "), notes)

    def test_messages_hold_no_passwords(self):
        url = self.url("none?token=secret").replace("http://", "http://me:secret@")
        text = self.run_it("view", url, status=2)
        self.assertIn(self.url("none?...") + ": the server answered 404, not found", text)
        self.assertNotIn("secret", text)

    def test_a_missing_libcurl_is_named(self):
        (self.folder / "libcurl.so.4").write_text("")
        without = {**os.environ, "LD_LIBRARY_PATH": str(self.folder)}
        self.expect_failure("libcurl.so.4: can't be loaded", "info", self.url("a"), env=without)
        self.expect_failure("install libcurl", "info", self.url("a"), env=without)
        self.run_it("info", "a", env=without)

    def test_are_not_written_to(self):
        self.expect_failure("can't write to a URL", "view", "a", "-o", self.url("page.html"))


class Ranges(UrlTest):
    """Only the necessary parts of a file of long records are fetched."""

    def setUp(self):
        super().setUp()
        (self.folder / "a").write_bytes(long_records())
        self.run_it("index", "a")

    def fetched(self):
        """Returns the number of requested bytes, which exceeds the sent bytes if the client stopped
        early."""
        total = 0
        for name, wanted in self.asked():
            size = (self.folder / name.lstrip("/")).stat().st_size
            first, last = (wanted or "bytes=0-").removeprefix("bytes=").split("-")
            total += min(size, int(last or size) + 1) - int(first)
        return total

    def test_info_reads_headers_or_the_index(self):
        local, = self.json("info", "--json", "a")
        remote, = self.json("info", "--json", self.url("a"))
        self.assertEqual(remote["records"], 4)
        self.assertEqual({**remote, "path": "a"}, local)
        self.assertLess(self.fetched(), 2_500_000)  # the first record is examined

    def test_a_record_in_the_middle(self):
        shown = self.run_it("show", "--json", "--record", "2", "--feature", "n", self.url("a"))
        self.assertEqual(shown, self.run_it("show", "--json", "--record", "2", "--feature", "n", "a"))
        self.assertLess(self.fetched(), 1_500_000)

    def test_shards_take_one_pass_with_an_index(self):
        size = (self.folder / "a").stat().st_size
        arguments = ["convert", self.url("a"), "-o", "s", "--shards", 2]

        def plan():
            found, = self.json(*arguments, "--dry-run", "--json")
            return found["records"], len(found["read_twice"])
        self.assertEqual(plan(), (4, 0))
        self.assertLess(self.fetched(), size / 10)
        self.run_it(*arguments)
        self.assertLess(self.fetched(), size * 1.1)
        (self.folder / "a.idx").write_text("")  # fits nothing
        self.assertEqual(plan(), (None, 1))
        self.assertLess(self.fetched(), size / 10)
        self.run_it(*arguments)
        self.assertGreater(self.fetched(), size * 1.9)

    def test_an_index_is_written_here(self):
        self.run_it("index", self.url("a"), "-o", "remote.idx")
        self.assertEqual((self.folder / "remote.idx").read_bytes(),
                         (self.folder / "a.idx").read_bytes())


class Presigned(Ranges):
    """URLs with a query that the server requires."""
    QUERY = "X-Amz-Date=20260101T000000Z&X-Amz-Signature=a/b.c"

    def setUp(self):
        super().setUp()
        self.server.query = self.QUERY

    def url(self, name):
        return super().url(name) + "?" + self.QUERY

    def fetched(self):
        self.server.asked[:] = [(name.partition("?")[0], wanted) for name, wanted in self.server.asked]
        return super().fetched()

    def test_the_index_is_found(self):
        shown = self.run_it("show", "--json", "--record", "3", "--feature", "n", self.url("a"))
        self.assertEqual(shown, self.run_it("show", "--json", "--record", "3", "--feature", "n", "a"))
        self.assertIn(f"/a.idx?{self.QUERY}", [name for name, _ in self.asked()])
        found, = self.json("info", "--json", self.url("a"))
        self.assertTrue(found["indexed"])
        self.run_it("index", "--check", self.url("a"))


class Arrays(UrlTest):
    def setUp(self):
        super().setUp()
        with zipfile.ZipFile(self.folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", npy("'|u1'", "(2,)", b"\5\6"))
        (self.folder / "b.npy").write_bytes(npy("'|u1'", "(2,)", b"\7\x08"))

    def expect_records(self, url, name, values):
        self.run_it("create", url, "-o", "out")
        self.assertEqual((self.folder / "out").read_bytes(),
                         b"".join(record(named_example({name: [value]})) for value in values))

    def test_are_read_at_their_urls(self):
        for query in ("", "X-Amz-Signature=a/b.c"):
            self.server.query = query
            suffix = "?" + query if query else ""
            self.expect_records(self.url("a.npz" + suffix), "x", [5, 6])
            self.expect_records(self.url("b.npy" + suffix), "b", [7, 8])

    def test_from_a_server_without_ranges(self):
        self.server.has_ranges = False
        self.expect_records(self.url("a.npz"), "x", [5, 6])

    def test_failures_name_the_url_and_no_secret(self):
        self.expect_failure("the server answered 404", "create", self.url("none.npz?secret=1"), "-o",
                            "out")
        (self.folder / "bad.npz").write_bytes(b"PK\3\4 and nothing")
        (self.folder / "bad.npy").write_bytes(b"no array")
        for name, words in (("bad.npz", self.url("bad.npz?...") + ": "),
                            ("bad.npy", self.url("bad.npy?...") + ": not a .npy file"),
                            ("a.what", "give --from")):
            text = self.run_it("create", self.url(name) + "?token=secret", "-o", "out", status=2)
            self.assertIn(words, text)
            self.assertNotIn("secret", text)
        self.assertFalse((self.folder / "out").exists())


class Secrets(UrlTest):
    """No command prints or writes the secrets of a URL: user name, password, query."""

    def setUp(self):
        super().setUp()
        (self.folder / "a").write_bytes(long_records())
        self.write("small", *[named_example({"x": ["text"], "label": [i]}) for i in range(3)])
        small = (self.folder / "small").read_bytes()
        (self.folder / "damaged").write_bytes(small[:60] + b"\xff" + small[61:])
        (self.folder / "small.gz").write_bytes(gzip.compress(small))
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "no.idx").write_text("0 1\n")
        (self.folder / "t.csv").write_text("n,x\n1,a\n")
        (self.folder / "t.json").write_text('{"n": 1}\n')
        (self.folder / "b.npy").write_bytes(npy("'|u1'", "(2,)", b"\7\x08"))
        with zipfile.ZipFile(self.folder / "a.npz", "w") as archive:
            archive.writestr("x.npy", npy("'|u1'", "(2,)", b"\5\6"))
        self.run_it("index", "a")
        self.served = {path.name for path in self.folder.iterdir()}

    def secret(self, name):
        url = self.url(name).replace("http://", "http://SECRET:SECRET@")
        return url + "?X-Amz-Signature=SECRET/SECRET,SECRET"

    # The arguments of each command. Words with a slash are secret URLs of the file after the slash.
    RUNS = {
        "info": [["/a"], ["--json", "/a", "/small.gz"], ["/a", "/damaged", "/none"],
                 ["--json", "/damaged", "/none", "/empty"], ["/a", "-o", "/a"]],
        "verify": [["/a"], ["/small.gz", "/damaged", "/none"], ["/a", "-o", "out"],
                   ["--json", "/a", "/damaged", "/none"]],
        "show": [["/small"], ["/small", "/small.gz"], ["--json", "/small", "/small", "/damaged"],
                 ["--record", "9", "/small"], ["/none"], ["--json", "/a", "/a", "-o", "out"]],
        "head": [["/small"], ["/small", "/small.gz"], ["--json", "/small", "/small", "/none"],
                 ["/damaged", "/none"], ["/a", "-o", "/a"]],
        "tail": [["/small"], ["/small", "/small.gz"], ["--json", "/small", "/small", "/none"],
                 ["/damaged", "/none"], ["/a", "-o", "/a"]],
        "grep": [["label >= 0", "/small"], ["-c", "label >= 0", "/small", "/small.gz"],
                 ["-l", "contains(record.path, 'http')", "/small", "/none"],
                 ["--json", "label >= 0", "/small", "/damaged"], ["none == 1", "/small"]],
        "count": [["/a"], ["/small", "/small.gz"], ["--json", "/a", "/none", "/damaged"],
                  ["--format", "csv", "/small", "/small"], ["/a", "-o", "/a"]],
        "cat": [["/small"], ["/small", "/small.gz", "-o", "out"], ["--json", "/a", "-o", "out"],
                ["/damaged", "-o", "out"], ["/none", "-o", "out"], ["/a", "-o", "/a"]],
        "schema": [["/a"], ["--json", "/a", "/a"], ["--cpp", "/small"], ["--python", "/small"],
                   ["/damaged"], ["/none"]],
        "stats": [["/a"], ["--json", "/a", "/small"], ["/damaged"], ["/none"]],
        "index": [["/a"], ["/a", "-o", "out"], ["--json", "/a", "-o", "out"], ["--check", "/a"],
                  ["--json", "--check", "/a", "/none", "/damaged"], ["--check", "/small"],
                  ["--json", "/damaged", "-o", "out"], ["/small.gz", "-o", "out"],
                  ["--check", "/a", "-o", "/no.idx"], ["a", "-o", "/a"]],
        "convert": [["/a", "-o", "out"], ["--json", "/a", "/small.gz", "-o", "out"],
                    ["--skip-corrupt", "/small", "/damaged", "-o", "out"],
                    ["--skip-corrupt", "--json", "/small", "/damaged", "-o", "out"],
                    ["/damaged", "-o", "out"], ["/none", "-o", "out"], ["/a", "-o", "/a"],
                    ["/a", "--shards", "2", "--json", "-o", "out"],
                    ["/a", "--shuffle", "-o", "out"], ["/a", "--where", "none == 1", "-o", "out"]],
        "salvage": [["/a", "-o", "out"], ["--json", "/small", "/damaged", "-o", "out"],
                    ["/damaged", "/none", "-o", "out"], ["/damaged", "-o", "/a"]],
        "diff": [["/a", "/a"], ["--json", "/a", "/small"], ["/damaged", "/small"], ["/none", "/a"],
                 ["/a", "/none"], ["-", "/a"]],
        "create": [["/t.csv", "-o", "out"], ["--json", "/t.json", "-o", "out"],
                   ["/a.npz", "-o", "out"], ["/b.npy", "-o", "out"], ["/small", "-o", "out"],
                   ["/small", "--from", "json", "-o", "out"],
                   ["/t.csv", "--from", "json", "-o", "out"],
                   ["/small", "--from", "csv", "-o", "out"],
                   ["/small", "--from", "numpy", "-o", "out"],
                   ["/small", "--from", "cifar", "-o", "out"],
                   ["/small", "--from", "images", "-o", "out"], ["/none.csv", "-o", "out"],
                   ["/t.csv", "--shards", "2", "-o", "out"], ["/t.csv", "/t.json", "-o", "out"]],
        "export": [["--to", "json", "/small", "-o", "-"], ["--to", "csv", "/small", "-o", "out"],
                   ["--to", "npz", "/small", "-o", "out.npz", "--json"],
                   ["--to", "images", "/small", "-o", "pages"],
                   ["--to", "csv", "/damaged", "-o", "-"],
                   ["--to", "json", "/none", "-o", "-"], ["--to", "json", "/small", "-o", "/out"]],
        "view": [["/a", "-o", "page.html"], ["--json", "/small", "/small.gz", "-o", "page.html"],
                 ["/damaged", "-o", "page.html"], ["/none", "-o", "page.html"],
                 ["small", "--labels", "/none", "-o", "page.html"],
                 ["small", "--labels", "/t.csv", "-o", "page.html"], ["small", "-o", "/page.html"]],
        "bench": [["--seconds", "0.1", "/small"], ["--json", "--seconds", "0.1", "/small.gz"],
                  ["--json", "--seconds", "0.1", "/damaged", "/none", "/empty"]],
        "completion": [["/a"]],
        "man": [["/a"], ["-o", "/a"], ["--all", "/a"]],
    }

    def test_are_in_no_output(self):
        help_text = self.run_it("--help")
        commands = re.findall(r"^  (\w+)  ", help_text.partition("Commands:")[2], re.MULTILINE)
        self.assertEqual(set(self.RUNS), set(commands))
        for command, runs in self.RUNS.items():
            for words in runs:
                with self.subTest(command=command, words=words):
                    given = [self.secret(word[1:]) if word.startswith("/") else word
                             for word in words]
                    result = self.start(command, *given, stdin=subprocess.DEVNULL)
                    self.assertIn(result.returncode, (0, 1, 2))
                    self.assertNotIn(b"SECRET", result.stdout)
                    self.assertNotIn(b"SECRET", result.stderr)
                    for path in list(self.folder.rglob("*")):
                        self.assertNotIn("SECRET", path.name)
                        if path.is_file():
                            self.assertNotIn(b"SECRET", path.read_bytes())
                            if path.name not in self.served:
                                path.unlink()

    def test_are_in_no_usage_error(self):
        for words in ("http://h/a,http://u:SECRET@h/b", "http://u:a SECRET@h/x",
                      "http://u:a,SECRET@h/x", "http://h/x?sig=a SECRET",
                      "http://h/x?sig=a,SECRET", "http://h/x?a=b&http://h/y?SECRET"):
            for arguments in (["show", "--record", words, "small"],
                              ["show", f"--record={words}", "small"], [words],
                              ["show", f"--{words}", "small"],
                              ["stats", "--where", words, "small"]):
                with self.subTest(arguments):
                    result = self.start(*arguments, stdin=subprocess.DEVNULL)
                    self.assertEqual(result.returncode, 2)
                    self.assertNotIn(b"SECRET", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
