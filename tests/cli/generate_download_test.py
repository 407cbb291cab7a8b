#!/usr/bin/env python3
"""Tests generate_cifar10_tfrecords with archives from a server, and with synthetic images if there
is no server.

Run by CTest. Environment: RECORDPIPE_GENERATE, the program.
"""
import os
import resource
import signal
import subprocess
import unittest

from generate_test_case import FILES, PROGRAM, ServedTest, wait_until
from started import Started


class Download(ServedTest):
    def test_downloads_and_converts(self):
        result = self.generate("--url", self.url)
        self.expect_done(result)
        self.assertEqual(self.names(), sorted([self.NAME, *FILES]))
        self.expect_same_images()
        self.assertIn(f"its SHA-256 is {self.sha256}", result.stderr)
        # An existing archive is not downloaded again.
        result = self.generate("--url", self.url, "--force")
        self.expect_done(result)
        self.assertIn("not downloaded again", result.stderr)
        self.assertEqual(len(self.requests()), 1)

    def test_a_cut_transfer_goes_on(self):
        self.expect_done(self.generate("--url", f"{self.url}?cut=20000&times=1", "--sha256",
                                       self.sha256))
        self.expect_same_images()
        self.assertIn("bytes=20000-", self.requests()[1])

    def test_an_interrupted_download_is_resumed_by_the_next_run(self):
        part = self.data / f"{self.NAME}.part"
        url = f"{self.url}?stall=20000&times=1"
        with Started([PROGRAM, "--data-dir", self.data, "--url", url],
                     stderr=subprocess.PIPE, text=True) as process:
            wait_until(lambda: part.exists() and part.stat().st_size >= 20000, "a part")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        there = part.stat().st_size
        self.assertEqual(there, 20000)
        self.assertEqual([name for name in self.names() if "part" not in name], [])
        self.expect_done(self.generate("--url", url))
        self.expect_same_images()
        self.assertIn(f"bytes={there}-", self.requests()[-1])
        self.assertEqual(self.names(), sorted([self.NAME, *FILES]))

    def test_failures_leave_nothing(self):
        for query, words in (("?status=404", "404"), ("?type=text/html", "")):
            with self.subTest(query):
                result = self.generate("--url", self.url + query)
                self.expect_failure(result, words)
                self.assertEqual([name for name in self.names() if ".part" not in name], [])
        result = self.generate("--url", self.url, "--sha256", "1" * 64)
        self.expect_failure(result, "SHA-256")
        self.assertEqual(self.names(), [])

    def test_a_bad_archive_in_the_data_folder_is_said_to_stay(self):
        (self.served / "files" / self.NAME).write_bytes(b"not an archive")
        for _ in range(2):  # downloaded, then reused
            result = self.generate("--url", self.url)
            self.expect_failure(result, "not a whole tar archive")
            self.assertIn(f"{self.data / self.NAME}: remove it to have it downloaded again\n",
                          result.stderr)
        self.assertEqual(len(self.requests()), 1)
        result = self.generate("--archive", self.data / self.NAME)
        self.assertNotIn("remove it", result.stderr)

    def test_a_url_without_a_file_name(self):
        for path in ("", "..", ".hidden", "a%2fb", "?x=y"):
            with self.subTest(path):
                result = self.generate("--url", self.url.removesuffix(self.NAME) + path)
                self.expect_failure(result, "doesn't end in a plain file name")
        self.expect_failure(self.generate("--url", "http://localhost"),
                            "doesn't end in a plain file name")


class SyntheticFallback(ServedTest):
    """--synthetic-fallback applies to network errors only."""

    # Nothing listens on port 1, and no other machine is contacted.
    UNREACHABLE = dict(os.environ, https_proxy="http://127.0.0.1:1", no_proxy="localhost")

    def test_the_published_archive_cannot_be_reached(self):
        # --quiet or not, it is said, in one line. (Conversion draws images that are not quiet.)
        line = (r"https://\S+/cifar-10-python\.tar\.gz can't be reached \(.+\): "
                r"going on with synthetic images")
        result = self.generate("--synthetic-fallback", "--quiet", env=self.UNREACHABLE)
        self.expect_done(result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, f"^{line}\n$")
        self.assertIn("synthetic.txt", self.names())

        # The next run tries to download again, and keeps the existing files only if that fails too.
        before = (self.data / "train.tfrecords").stat()
        result = self.generate("--synthetic-fallback", env=self.UNREACHABLE)
        self.expect_done(result)
        said = [printed for printed in result.stderr.splitlines() if "synthetic" in printed]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertRegex(said[0], f"^{line}, those that are there$")
        self.assertIn("bytes of synthetic images, there already", result.stdout)
        self.assertEqual((self.data / "train.tfrecords").stat().st_ino, before.st_ino)
        self.expect_done(self.generate("--synthetic-fallback", "--url", self.url))
        self.expect_same_images()
        self.assertNotIn("synthetic.txt", self.names())

    def test_other_images_are_not_replaced_unasked(self):
        self.expect_done(self.generate("--archive", self.archive))
        (self.data / "train.tfrecords").unlink()
        before = self.names()
        self.expect_failure(self.generate("--synthetic"), "is there already, and is not synthetic")
        self.expect_failure(self.generate("--synthetic-fallback", env=self.UNREACHABLE),
                            "cifar-10-python.tar.gz: ")
        self.assertEqual(self.names(), before)

    def test_without_it_nothing_is_drawn(self):
        result = self.generate(env=self.UNREACHABLE)
        self.expect_failure(result, "cifar-10-python.tar.gz: ")
        self.assertIn("--synthetic draws one", result.stderr)
        self.assertEqual(self.names(), [])

    def test_other_failures_stay_failures(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

        for words, arguments, options in (
                ("SHA-256", ["--url", self.url, "--sha256", "1" * 64], {}),
                ("404", ["--url", self.url + "?status=404"], {}),
                ("a web page", ["--url", self.url + "?type=text/html"], {}),
                ("File too large", ["--url", self.url], {"preexec_fn": limit})):
            with self.subTest(words):
                result = self.generate("--synthetic-fallback", *arguments, **options)
                self.expect_failure(result, words)
                self.assertNotIn("synthetic", result.stderr)
                self.assertEqual([name for name in self.names() if ".part" not in name], [])

    def test_what_is_there_or_can_be_reached_is_used(self):
        for _ in range(2):
            self.expect_done(self.generate("--synthetic-fallback", "--url", self.url, "--force"))
            self.expect_same_images()
            self.assertNotIn("synthetic.txt", self.names())


if __name__ == "__main__":
    unittest.main(verbosity=2)
