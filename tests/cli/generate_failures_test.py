#!/usr/bin/env python3
"""Tests generate_cifar10_tfrecords with wrong usage, damaged archives and limits of the system.

Run by CTest. Environment: RECORDPIPE_GENERATE, the program; RECORDPIPE_SANITIZE, the sanitizers
that it was built with, if any.
"""
import gzip
import lzma
import os
import resource
import subprocess
import unittest

import small_archives
from generate_test_case import PROGRAM, ROWS, GenerateTest, run

SANITIZE = os.environ.get("RECORDPIPE_SANITIZE", "")


class Usage(GenerateTest):
    def test_mistakes_are_status_2_and_touch_nothing(self):
        for arguments in (["--no-such-flag"], ["--shards", "0"], ["--shards", "257"],
                          ["--shards", "x"], ["--compression", "xz"], ["--sha256", "12ab"],
                          ["--url", "ftp://example.org/a.tar.gz"], ["--url", "file:///etc/passwd"],
                          ["--url", "http://localhost/a", "--synthetic"],
                          ["--archive", "a", "--synthetic"], ["--archive", "a", "--url", "http://h/a"],
                          ["--synthetic-fallback", "--synthetic"],
                          ["--synthetic-fallback", "--archive", "a"],
                          ["--synthetic-seed", "3"], ["extra"], ["--archive"],
                          ["--archive", ""]):
            with self.subTest(arguments):
                result = self.generate(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertIn("--help", result.stderr)
                self.assertFalse(self.data.exists())

    def test_an_empty_name_is_not_the_present_folder(self):
        self.data.mkdir()
        result = run("--data-dir", "", "--archive", self.archive, cwd=self.data)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--data-dir: the name is empty", result.stderr)
        self.assertEqual(self.names(), [])

    def test_help_and_version(self):
        result = run("--help")
        self.expect_done(result)
        for words in ("none|gzip|zlib|zstd", "--keep-extracted", "Examples:", "Exit status:", "validation"):
            self.assertIn(words, result.stdout)
        self.assertRegex(run("--version").stdout, r"^generate_cifar10_tfrecords \d+\.\d+\.\d+\n$")


class Failures(GenerateTest):
    """A failure leaves no new file under a final name, no changed files and no temporary files."""

    def setUp(self):
        super().setUp()
        old = self.root / "old.tar.gz"
        small_archives.write_archive(old, small_archives.binary_members(2), "bin")
        self.expect_done(self.generate("--archive", old))
        self.before, self.names_before = self.contents(), self.names()

    def expect_nothing_changed(self):
        self.assertEqual(self.contents(), self.before)
        self.assertEqual(self.names(), self.names_before)  # no folders either

    def test_damaged_archives(self):
        good = self.archive.read_bytes()
        members = small_archives.python_members(ROWS)
        hostile = dict(members)
        hostile["data_batch_2"] = b"\x80\x02cos\nsystem\nU\x04true\x85R."
        missing = dict(members)
        del missing["data_batch_5"]
        empty = dict(members, test_batch=b"")
        cases = {
            "cut": (good[:-100], "gzip stream ends before its trailer"),
            "cut in the trailer": (good[:-3], "gzip stream ends before its trailer"),
            "checksum": (good[:-8] + bytes([good[-8] ^ 1]) + good[-7:], "incorrect data check"),
            "garbage": (good + b"garbage", "garbage after the end"),
            "xz": (lzma.compress(gzip.decompress(good)), "damaged.tar.gz: an xz file, not a .tar.gz"),
            "html": (b"<!DOCTYPE html><html>404", "not a whole tar archive"),
            "empty": (b"", "not a whole tar archive"),
            "hostile": (hostile, "damaged.tar.gz:cifar-10-batches-py/data_batch_2: the global "
                                 "os.system at 2 ("),
            "missing": (missing, "missing in the archive: data_batch_5"),
            "empty batch": (empty, "cifar-10-batches-py/test_batch: an empty batch"),
        }
        damaged = self.root / "damaged.tar.gz"
        for name, (content, words) in cases.items():
            with self.subTest(name):
                if isinstance(content, dict):
                    small_archives.write_archive(damaged, content)
                else:
                    damaged.write_bytes(content)
                result = self.generate("--archive", damaged, "--force", "--keep-extracted")
                self.expect_failure(result, words)
                self.assertIn("damaged.tar.gz", result.stderr)
                self.expect_nothing_changed()

    def test_no_archive(self):
        self.expect_failure(self.generate("--archive", self.root / "none", "--force"),
                            "No such file or directory")
        self.expect_failure(self.generate("--archive", self.root, "--force"), str(self.root))
        self.expect_nothing_changed()

    def test_a_file_in_place_of_the_folder(self):
        result = run("--data-dir", self.archive, "--archive", self.archive)
        self.expect_failure(result, str(self.archive))

    def test_something_else_in_place_of_a_file(self):
        train = self.data / "train.tfrecords"
        for make, words in ((os.mkfifo, "not a regular file"), (os.mkdir, "is a folder"),
                            (lambda path: path.symlink_to("nowhere"), "leads nowhere")):
            with self.subTest(words):
                train.rename(self.root / "train")
                make(train)
                self.expect_failure(self.generate("--archive", self.archive), words)
                train.rename(self.root / f"odd {words}")
                (self.root / "train").rename(train)
                self.expect_nothing_changed()

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_may_not_be_written(self):
        self.data.chmod(0o500)
        self.addCleanup(self.data.chmod, 0o700)
        self.expect_failure(self.generate("--archive", self.archive, "--force"), "Permission denied")
        self.expect_nothing_changed()

    def test_a_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        result = self.generate("--archive", self.archive, "--force", preexec_fn=limit)
        self.expect_failure(result, "File too large")
        self.assertIn("free some space", result.stderr)
        self.expect_nothing_changed()

    @unittest.skipIf("undefined" in SANITIZE,
                     "UndefinedBehaviorSanitizer's vptr check opens a pipe and fails without it")
    def test_few_file_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

        result = self.generate("--archive", self.archive, "--force", "--shards", 50,
                               preexec_fn=limit)
        self.expect_failure(result, "Too many open files")
        self.expect_nothing_changed()

    def test_standard_output_is_full(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([PROGRAM, "--data-dir", self.data, "--force", "--archive",
                                     self.archive], stdout=full, stderr=subprocess.PIPE, text=True,
                                    check=False)
        self.assertEqual(result.returncode, 1)
        self.expect_same_images()  # the files were made


if __name__ == "__main__":
    unittest.main(verbosity=2)
