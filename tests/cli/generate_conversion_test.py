#!/usr/bin/env python3
"""Tests generate_cifar10_tfrecords: the files made from an archive, and the messages.

Run by CTest. Environment: RECORDPIPE_GENERATE, the program; RECORDPIPE_CIFAR10_ARCHIVE, a real
archive to convert and compare image by image (optional).
"""
import contextlib
import hashlib
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import termios
import threading
import time
import unittest

import small_archives
from generate_test_case import FILES, PROGRAM, ROWS, SOURCE, SPLITS, GenerateTest, run
from started import Started


class Conversion(GenerateTest):
    def test_makes_three_files_with_the_archives_images(self):
        result = self.generate("--archive", self.archive)
        self.expect_done(result)
        self.assertEqual(self.names(), FILES)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        size = (self.data / "train.tfrecords").stat().st_size
        self.assertRegex(lines[0], rf"^{self.data}/train\.tfrecords: {4 * ROWS} records, {size} "
                                   r"bytes, \d+\.\d\d s, \d+\.\d MB/s$")
        self.assertIn("not one of the published archives", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.expect_same_images()

    def test_a_binary_archive_gives_the_same_bytes(self):
        self.expect_done(self.generate("--archive", self.archive))
        from_python = self.contents()
        binary = self.root / "binary.tar.gz"
        small_archives.write_archive(binary, small_archives.binary_members(ROWS), "bin")
        self.expect_done(self.generate("--archive", binary, "--force"))
        self.assertEqual(self.contents(), from_python)

    def test_a_second_run_says_what_is_there_and_does_nothing(self):
        self.expect_done(self.generate("--archive", self.archive))
        before = {name: (self.data / name).stat() for name in SPLITS}
        result = self.generate("--archive", self.archive)
        self.expect_done(result)
        self.assertIn("train.tfrecords: 250080 bytes, there already", result.stdout)
        sha256 = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.assertIn(f"They were made from {self.archive} (SHA-256 {sha256})\n", result.stdout)
        self.assertIn("--force", result.stdout)
        for name in SPLITS:
            self.assertEqual((self.data / name).stat().st_ino, before[name].st_ino)
        result = self.generate("--archive", self.archive, "--force")
        self.expect_done(result)
        self.assertNotEqual((self.data / SPLITS[0]).stat().st_ino, before[SPLITS[0]].st_ino)

    def test_a_damaged_file_is_not_there_already(self):
        self.expect_done(self.generate("--archive", self.archive))
        before = self.contents()
        os.truncate(self.data / "train.tfrecords", 100_000)
        self.expect_failure(self.generate("--archive", self.archive),
                            "damaged (the file ends inside the ")
        self.expect_done(self.generate("--archive", self.archive, "--force"))
        self.assertEqual(self.contents(), before)

    def test_some_files_missing_all_are_written(self):
        self.expect_done(self.generate("--archive", self.archive))
        before = self.contents()
        (self.data / "eval.tfrecords").unlink()
        self.expect_done(self.generate("--archive", self.archive))
        self.assertEqual(self.contents(), before)

    def test_shards(self):
        self.expect_done(self.generate("--archive", self.archive))
        whole = self.contents()
        self.expect_failure(self.generate("--archive", self.archive, "--shards", 3),
                            "of another number of shards (--force replaces it)")
        self.expect_done(self.generate("--archive", self.archive, "--shards", 3, "--force"))
        shards = self.contents()
        self.assertEqual(len(shards), 9)
        for split in ("train", "validation", "eval"):
            self.assertEqual(b"".join(shards[f"{split}-{i:05}-of-00003.tfrecords"]
                                      for i in range(3)), whole[f"{split}.tfrecords"])
        self.expect_same_images()
        self.expect_done(self.generate("--archive", self.archive, "--force"))
        self.assertEqual(self.contents(), whole)

    def test_compression(self):
        for compression, start in (("gzip", b"\x1f\x8b"), ("zlib", b"\x78"),
                                   ("zstd", b"\x28\xb5\x2f\xfd")):
            with self.subTest(compression):
                self.expect_done(self.generate("--archive", self.archive, "--force",
                                               "--compression", compression, "--shards", 2))
                for content in self.contents().values():
                    self.assertTrue(content.startswith(start))
                self.expect_same_images()
                self.expect_failure(self.generate("--archive", self.archive, "--shards", 2),
                                    "compressed in another way")

    def test_keep_extracted(self):
        result = self.generate("--archive", self.archive, "--keep-extracted")
        self.expect_done(result)
        folder = self.data / "cifar-10-batches-py"
        self.assertIn(f"{folder}: the extracted files", result.stdout)
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()},
                         small_archives.python_members(ROWS))

    def test_an_archive_in_the_data_folder_is_used(self):
        self.data.mkdir()
        binary = self.data / "cifar-10-binary.tar.gz"
        small_archives.write_archive(binary, small_archives.binary_members(ROWS + 1), "bin")
        self.expect_done(self.generate())
        self.expect_same_images(binary)
        python = shutil.copy(self.archive, self.data / "cifar-10-python.tar.gz")
        self.expect_done(self.generate("--force"))
        self.expect_same_images(python)

    def test_checksums(self):
        sha256 = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        result = self.generate("--archive", self.archive, "--sha256", "0" * 64)
        self.expect_failure(result, f"its SHA-256 is {sha256}, not 000000")
        self.assertEqual(self.names(), [])
        result = self.generate("--archive", self.archive, "--sha256", sha256.upper())
        self.expect_done(result)
        self.assertEqual(result.stderr, "")
        result = self.generate("--archive", self.archive, "--sha256", "none", "--force")
        self.expect_done(result)
        self.assertEqual(result.stderr, "")

    def test_quiet(self):
        result = self.generate("--archive", self.archive, "--quiet")
        self.expect_done(result)
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        self.assertEqual(self.generate("--quiet").stdout, "")

    def on_terminal(self, *arguments):
        """Returns the output on a terminal of the usual width, and standard output."""
        controller, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (24, 80))
        with Started([PROGRAM, "--data-dir", self.data, *arguments], stderr=terminal,
                     stdout=subprocess.PIPE, text=True) as process:
            os.close(terminal)
            shown = b""
            with contextlib.suppress(OSError):  # EIO if the other side is closed
                while piece := os.read(controller, 4096):
                    shown += piece
            printed = process.stdout.read()
        os.close(controller)
        self.assertEqual(process.returncode, 0)
        return shown.decode(), printed

    def test_progress_on_a_terminal(self):
        """A bar appears if the work takes over a second, here because the archive arrives
        slowly."""
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        content = self.archive.read_bytes()

        def feed():
            with open(pipe, "wb", buffering=0) as file:
                file.write(content[:len(content) // 2])
                time.sleep(1.2)
                file.write(content[len(content) // 2:])
        feeder = threading.Thread(target=feed)
        feeder.start()
        shown, _ = self.on_terminal("--archive", pipe)
        feeder.join()
        self.assertRegex(shown, r"\r\x1b\[Kconvert: \d+\.\d MB, \d+\.\d MB/s\r\x1b\[K")

    def test_the_present_folder_by_default(self):
        self.data.mkdir()
        self.expect_done(run("--archive", self.archive, cwd=self.data))
        self.assertEqual(self.names(), FILES)

    def test_an_archive_from_a_pipe(self):
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with Started(["cp", self.archive, pipe]):
            self.expect_done(self.generate("--archive", pipe))
        self.expect_same_images()

    def test_synthetic(self):
        shown, printed = self.on_terminal("--synthetic")
        # Drawing takes some seconds; converting may be finished before a bar is due.
        self.assertRegex(shown, r"\r\x1b\[Kdraw synthetic: \[[#.]+\] +\d+% of .* MB/s")
        self.assertNotIn("draw:", shown)
        self.assertNotIn("convert:", shown)
        for line in shown.split("\r\x1b[K"):
            self.assertRegex(line, r"^$|MB/s$|s left$")  # no line is truncated
        archive = "cifar-10-python-synthetic.tar.gz"
        self.assertEqual(self.names(), sorted([archive, "synthetic.txt", *FILES]))
        self.assertIn("train.tfrecords: 40000 synthetic records", printed)
        # synthetic.txt exists as long as the images are synthetic, whatever options made them.
        self.expect_failure(self.generate("--archive", __file__, "--force"), "")
        self.assertIn("synthetic.txt", self.names())
        self.expect_done(self.generate("--archive", self.archive, "--force"))
        self.assertNotIn("synthetic.txt", self.names())
        # Such an archive is recognized by its name; a small one is converted faster.
        shutil.copy(self.archive, self.data / archive)
        self.expect_done(self.generate("--archive", self.data / archive, "--force"))
        self.assertIn("synthetic.txt", self.names())

    def test_names_are_printed_on_one_line(self):
        odd = os.fsencode(self.root) + b"/a\nb\xff"
        shutil.copy(self.archive, odd + b".tar.gz")
        for _ in range(2):
            result = subprocess.run([PROGRAM, "--data-dir", odd, "--archive", odd + b".tar.gz"],
                                    capture_output=True, text=True, check=False)
            self.expect_done(result)
            for line in (result.stderr + result.stdout).splitlines()[:3]:
                self.assertIn("/a\\x0ab\\xff", line)

    def test_what_is_done_needs_no_right_to_write(self):
        self.expect_done(self.generate("--archive", self.archive))
        # No lock can be taken, as on a read-only disk.
        (self.data / ".generate_cifar10_tfrecords.lock").mkdir()
        result = self.generate("--archive", self.archive)
        self.expect_done(result)
        self.assertIn("Nothing to do", result.stdout)
        self.assertIn("Nothing was extracted", self.generate("--keep-extracted").stdout)
        self.expect_failure(self.generate("--archive", self.archive, "--force"), ".lock: ")

    def test_a_folder_with_slashes_at_its_end(self):
        result = run("--data-dir", f"{self.data}//", "--archive", self.archive)
        self.expect_done(result)
        self.assertIn(f"{self.data}/train.tfrecords: ", result.stdout)


class SmallRealArchives(GenerateTest):
    """CIFAR-10's images, 200 per batch, if the tools for packing them are available."""

    def test_every_label_and_pixel(self):
        build = SOURCE.parent / "shared/data/cifar10/build_archives"
        if not build.exists():
            self.skipTest("no CIFAR-10 to make small archives of, in shared/ beside this folder")
        # Made once for a build folder: 60,000 JPEG files are decoded for them.
        real = pathlib.Path(os.environ["RECORDPIPE_SMALL_REAL_ARCHIVES"])
        if not real.exists():
            new = self.root / "real"
            for python in (sys.executable, "/usr/bin/python3"):
                made = subprocess.run([python, "-B", build, new, "--per-batch", "200"],
                                      capture_output=True, text=True, check=False)
                if made.returncode == 0:
                    break
            else:
                self.skipTest(f"{build} failed: {made.stderr}")
            shutil.move(new, real)
        for name in ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz"):
            with self.subTest(name):
                self.expect_done(self.generate("--archive", real / name, "--force"))
                self.expect_same_images(real / name)


class GivenArchive(GenerateTest):
    def test_every_label_and_pixel(self):
        archive = os.environ.get("RECORDPIPE_CIFAR10_ARCHIVE")
        if not archive:
            self.skipTest("RECORDPIPE_CIFAR10_ARCHIVE names no archive to compare with")
        self.expect_done(self.generate("--archive", archive))
        self.expect_same_images(archive)


if __name__ == "__main__":
    unittest.main(verbosity=2)
