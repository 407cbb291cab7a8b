#!/usr/bin/env python3
"""generate_cifar10_tfrecords as its users meet it: flags, files, messages, exit codes, signals.

Run by CTest. Environment: RECORDPIPE_GENERATE, the program; RECORDPIPE_SANITIZE, the sanitizers it
was built with, if any; RECORDPIPE_CIFAR10_ARCHIVE, a real archive to convert and compare image by
image (optional).
"""
import contextlib
import hashlib
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import small_archives

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PROGRAM = os.environ["RECORDPIPE_GENERATE"]
SANITIZE = os.environ.get("RECORDPIPE_SANITIZE", "")
SPLITS = ["eval.tfrecords", "train.tfrecords", "validation.tfrecords"]
ROWS = 20
os.environ["no_proxy"] = "*"  # a proxy of the machine is no business of these tests


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False, **options)


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class GenerateTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="recordpipe-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.data = self.root / "data"
        self.archive = self.root / "python.tar.gz"
        small_archives.write_archive(self.archive, small_archives.python_members(ROWS))

    def names(self):
        return sorted(path.name for path in self.data.iterdir())

    def contents(self):
        return {path.name: path.read_bytes() for path in self.data.iterdir() if path.is_file()}

    def generate(self, *arguments, **options):
        return run("--data-dir", self.data, *arguments, **options)

    def expect_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_failure(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("generate_cifar10_tfrecords: "), last)
        self.assertIn(words, last)

    def expect_same_images(self, archive=None):
        check = subprocess.run([sys.executable, HERE / "check_cifar10_tfrecords.py",
                                archive or self.archive, self.data],
                               capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stderr)
        return check.stdout


class Usage(GenerateTest):
    def test_mistakes_are_status_2_and_touch_nothing(self):
        for arguments in (["--no-such-flag"], ["--shards", "0"], ["--shards", "257"],
                          ["--shards", "x"], ["--compression", "zstd"], ["--sha256", "12ab"],
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
        for words in ("--keep-extracted", "Examples:", "Exit status:", "validation"):
            self.assertIn(words, result.stdout)
        self.assertRegex(run("--version").stdout, r"^generate_cifar10_tfrecords \d+\.\d+\.\d+\n$")


class Conversion(GenerateTest):
    def test_makes_three_files_with_the_archives_images(self):
        result = self.generate("--archive", self.archive)
        self.expect_done(result)
        self.assertEqual(self.names(), SPLITS)
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
        for compression, start in (("gzip", b"\x1f\x8b"), ("zlib", b"\x78")):
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

    def test_a_bar_on_a_terminal(self):
        controller, terminal = pty.openpty()
        with subprocess.Popen([PROGRAM, "--data-dir", self.data, "--archive", self.archive],
                              stderr=terminal, stdout=subprocess.DEVNULL) as process:
            os.close(terminal)
            shown = b""
            with contextlib.suppress(OSError):  # EIO where the other side is closed
                while piece := os.read(controller, 4096):
                    shown += piece
        os.close(controller)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(shown.decode(), r"convert: \[[#.]{24}\] +\d+% of ")
        self.assertIn(b"\r\x1b[K", shown)

    def test_the_present_folder_by_default(self):
        self.data.mkdir()
        self.expect_done(run("--archive", self.archive, cwd=self.data))
        self.assertEqual(self.names(), SPLITS)

    def test_an_archive_from_a_pipe(self):
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cp", self.archive, pipe]):
            self.expect_done(self.generate("--archive", pipe))
        self.expect_same_images()

    def test_synthetic(self):
        result = self.generate("--synthetic")
        self.expect_done(result)
        archive = "cifar-10-python-synthetic.tar.gz"
        self.assertEqual(self.names(), [archive, "eval.tfrecords", "synthetic.txt",
                                        "train.tfrecords", "validation.tfrecords"])
        self.assertIn("train.tfrecords: 40000 synthetic records", result.stdout)
        # Figures are called synthetic for as long as the images are, however they came there.
        self.expect_failure(self.generate("--archive", __file__, "--force"), "")
        self.assertIn("synthetic.txt", self.names())
        self.expect_done(self.generate("--archive", self.archive, "--force"))
        self.assertNotIn("synthetic.txt", self.names())
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
        # No lock can be had, as on a disk that is read-only.
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


class Failures(GenerateTest):
    """Nothing under a final name, what was there stays, no temporary files."""

    def setUp(self):
        super().setUp()
        old = self.root / "old.tar.gz"
        small_archives.write_archive(old, small_archives.binary_members(2), "bin")
        self.expect_done(self.generate("--archive", old))
        self.before = self.contents()

    def expect_nothing_changed(self):
        self.assertEqual(self.contents(), self.before)
        self.assertEqual(self.names(), sorted(self.before))  # no folders, either

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
        self.expect_same_images()  # they were made


class Signals(GenerateTest):
    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, "--data-dir", self.data, *map(str, arguments)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number), self.start("--synthetic") as process:
                partial = self.data / ".cifar-10-python-synthetic.tar.gz.partial"
                wait_until(partial.exists, "the drawing to begin")
                process.send_signal(number)
                _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, stderr)
                self.assertIn("interrupted", stderr)
                self.assertEqual(self.names(), [])

    def test_interrupted_while_a_pipe_is_silent(self):
        for number, signals in ((signal.SIGTERM, 1), (signal.SIGINT, 2)):
            pipe = self.root / f"pipe{signals}"
            os.mkfifo(pipe)
            with self.subTest(number), self.start("--archive", pipe) as process, \
                    open(pipe, "wb"):  # a writer that writes nothing
                time.sleep(0.5)  # it should be reading by now
                for _ in range(signals):  # a second one makes it quicker
                    process.send_signal(number)
                    time.sleep(0.1)
                _, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, stderr)
                self.assertIn("interrupted", stderr)
        self.expect_done(self.generate("--archive", self.archive))
        self.assertEqual(self.names(), SPLITS)

    def test_killed_then_run_again(self):
        with self.start("--synthetic") as process:
            wait_until((self.data / ".generate_cifar10_tfrecords.lock").exists, "the lock")
            process.kill()
        self.assertFalse(set(SPLITS) & set(self.names()))
        self.expect_done(self.generate("--archive", self.archive))
        self.expect_same_images()
        self.assertEqual(self.names(), SPLITS)

    def test_two_at_a_time(self):
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with self.start("--archive", pipe) as first:
            wait_until((self.data / ".generate_cifar10_tfrecords.lock").exists, "the lock")
            self.expect_failure(self.generate("--archive", self.archive),
                                "locked by another process")
            pipe.write_bytes(self.archive.read_bytes())
            _, stderr = first.communicate(timeout=60)
            self.assertEqual(first.returncode, 0, stderr)
        self.assertEqual(self.names(), SPLITS)
        self.expect_same_images()


class ServedTest(GenerateTest):
    """With a server that has the archive."""

    NAME = "cifar.tar.gz"

    def setUp(self):
        super().setUp()
        self.served = self.root / "served"
        (self.served / "files").mkdir(parents=True)
        shutil.copy(self.archive, self.served / "files" / self.NAME)
        self.sha256 = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        server = subprocess.Popen(
            [sys.executable, SOURCE / "tests/support/http_server.py", self.served],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        self.url = f"http://127.0.0.1:{int(server.stdout.readline())}/{self.NAME}"

    def requests(self):
        return (self.served / "log").read_text(encoding="utf-8").splitlines()


class Download(ServedTest):
    def test_downloads_and_converts(self):
        result = self.generate("--url", self.url)
        self.expect_done(result)
        self.assertEqual(self.names(), sorted([self.NAME, *SPLITS]))
        self.expect_same_images()
        self.assertIn(f"its SHA-256 is {self.sha256}", result.stderr)
        # What is there is not downloaded again.
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
        with subprocess.Popen([PROGRAM, "--data-dir", self.data, "--url",
                               f"{self.url}?drip=20000"], stderr=subprocess.PIPE,
                              text=True) as process:
            wait_until(lambda: part.exists() and part.stat().st_size >= 20000, "a part")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        there = part.stat().st_size
        self.assertGreaterEqual(there, 20000)
        self.assertEqual([name for name in self.names() if "part" not in name], [])
        self.expect_done(self.generate("--url", f"{self.url}?drip=20000"))
        self.expect_same_images()
        self.assertIn(f"bytes={there}-", self.requests()[-1])
        self.assertEqual(self.names(), sorted([self.NAME, *SPLITS]))

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
        for _ in range(2):  # downloaded, then found there
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
    """--synthetic-fallback: where the network is at fault, and only there."""

    # Nothing listens on port 1, and no other machine is asked.
    UNREACHABLE = dict(os.environ, https_proxy="http://127.0.0.1:1", no_proxy="localhost")

    def test_the_published_archive_cannot_be_reached(self):
        result = self.generate("--synthetic-fallback", env=self.UNREACHABLE)
        self.expect_done(result)
        said = [line for line in result.stderr.splitlines() if "synthetic" in line]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertRegex(said[0], r"^https://\S+/cifar-10-python\.tar\.gz can't be reached \(.+\): "
                                  r"going on with synthetic images$")
        self.assertIn("train.tfrecords: 40000 synthetic records", result.stdout)
        self.assertIn("synthetic.txt", self.names())

        # The next run tries again, and keeps what is there only if that fails, too.
        before = (self.data / "train.tfrecords").stat()
        result = self.generate("--synthetic-fallback", env=self.UNREACHABLE)
        self.expect_done(result)
        self.assertIn("going on with synthetic images, those that are there", result.stderr)
        self.assertIn("bytes of synthetic images, there already", result.stdout)
        self.assertEqual((self.data / "train.tfrecords").stat().st_ino, before.st_ino)
        self.expect_done(self.generate("--synthetic-fallback", "--url", self.url))
        self.expect_same_images()
        self.assertNotIn("synthetic.txt", self.names())

    def test_quiet_or_not_it_is_said(self):
        result = self.generate("--synthetic-fallback", "--quiet", env=self.UNREACHABLE)
        self.expect_done(result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^https://\S+ can't be reached .*synthetic images\n$")

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


class SmallRealArchives(GenerateTest):
    """CIFAR-10's images, packed with 200 to a batch where there are means to do that."""

    def test_every_label_and_pixel(self):
        build = SOURCE.parent / "shared/data/cifar10/build_archives"
        if not build.exists():
            self.skipTest(f"no {build}, which makes small archives of CIFAR-10's images")
        real = self.root / "real"
        for python in (sys.executable, "/usr/bin/python3"):
            made = subprocess.run([python, "-B", build, real, "--per-batch", "200"],
                                  capture_output=True, text=True, check=False)
            if made.returncode == 0:
                break
        else:
            self.skipTest(f"{build} failed: {made.stderr}")
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
