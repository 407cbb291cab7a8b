"""Tests recordpipe.verify_manifest."""

import concurrent.futures
import multiprocessing
import os
import pickle
import unittest

import recordpipe as rp
from memory_files import Memory
from support import FilesTest


class Manifest(FilesTest):
    def setUp(self):
        super().setUp()
        for i in range(4):
            self.numbered(i + 1, f"train-{i}", first=10 * i)
        self.job = rp.convert_to_dir(f"{self.folder}/train-*", self.folder / "out")
        self.manifest = self.job.manifest

    def out(self, i):
        return self.folder / f"out/train-{i}"

    def break_them(self):
        """Leaves the first file as it was."""
        self.out(1).unlink()
        rp.write_tfrecords(self.out(2), [b"7", b"8"])
        whole = self.out(3).read_bytes()
        self.out(3).write_bytes(whole[:-20] + b"x" + whole[-19:])

    def test_files_as_they_were_written(self):
        report = rp.verify_manifest(self.manifest)
        self.assertTrue(report)
        self.assertTrue(report.intact)
        self.assertEqual((len(report), report.records, report.differing), (4, 10, ()))
        self.assertEqual(report.bytes, sum(self.out(i).stat().st_size for i in range(4)))
        self.assertEqual(repr(report), "ManifestReport(4 files as in the manifest)")
        for file, made in zip(report, self.job.shards, strict=True):
            self.assertEqual((file.path, file.input), (made.path, made.input))
            self.assertEqual(
                (file.records, file.bytes, file.crc32c), (made.records, made.bytes, made.crc32c)
            )
        self.assertEqual(pickle.loads(pickle.dumps(report)), report)

    def test_files_that_differ(self):
        self.break_them()
        report = rp.verify_manifest(self.manifest)
        self.assertFalse(report)
        self.assertEqual([file.matches for file in report], [True, False, False, False])
        found = [file.difference for file in report]
        self.assertEqual(found[:3], ["", "missing", "34 bytes, not the 54 of the manifest"])
        crc = self.job.shards[3].crc32c
        self.assertRegex(found[3], f"^CRC-32C [0-9a-f]{{8}}, not the {crc} of the manifest$")
        self.assertEqual(len(report.differing), 3)
        self.assertIn("3 of 4 files differ", repr(report))
        # One file in place of another one: intact, and yet not what was written.
        os.replace(self.out(0), self.out(1))
        self.assertEqual(rp.verify(self.out(1)).records, 1)
        self.assertIn("17 bytes, not the 36", rp.verify_manifest(self.manifest)[1].difference)
        os.mkdir(self.out(0))
        self.assertEqual(rp.verify_manifest(self.manifest)[0].difference, "no regular file")

    @unittest.skipIf(os.geteuid() == 0, "root reads all files")
    def test_a_file_that_cannot_be_read(self):
        self.out(2).chmod(0)
        file = rp.verify_manifest(self.manifest).differing[0]
        self.assertIsInstance(file.error, rp.PermissionDeniedError)
        self.assertEqual(file.difference, str(file.error))

    def test_exceptions_of_a_file_system(self):
        files = Memory()
        job = rp.convert_to_dir(f"file://{self.folder}/train-*", "out", filesystem=files)
        raised = {
            "out/train-1": KeyError(),
            "out/train-2": OSError("no cable"),
            "out/train-3": None,
        }
        raised["out/train-3"] = rp.PermissionDeniedError("out/train-3: ask first")

        def before_read(path, start):
            if path in raised:
                raise raised[path]

        files.before_read = before_read
        for threads in (1, 4):
            report = rp.verify_manifest(job.manifest, filesystem=files, threads=threads)
            self.assertEqual([file.matches for file in report], [True, False, False, False])
            self.assertEqual([file.error for file in report.differing], [*raised.values()])
            found = [file.difference for file in report.differing]
            self.assertEqual(found, ["KeyError", "no cable", "out/train-3: ask first"])
            self.assertIn("; out/train-1: KeyError)", repr(report))
        del raised["out/train-1"], raised["out/train-2"]
        report = rp.verify_manifest(job.manifest, filesystem=files)
        self.assertIn("1 of 4 files differ; out/train-3: ask first)", repr(report))

    def test_executors(self):
        self.break_them()
        expected = rp.verify_manifest(self.manifest)
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            self.assertEqual(rp.verify_manifest(self.manifest, executor=executor), expected)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
            self.assertEqual(rp.verify_manifest(self.manifest, executor=executor), expected)
        self.assertEqual(rp.verify_manifest(self.manifest, threads=1), expected)

    def test_paths(self):
        os.rename(self.folder / "out", self.folder / "moved")
        there = self.folder / "moved/manifest.jsonl"
        self.assertTrue(rp.verify_manifest(there).intact)
        second = rp.salvage_to_dir(f"{self.folder}/train-*", self.folder / "second").manifest
        report = rp.verify_manifest([there, second])
        self.assertEqual((report.intact, len(report)), (True, 8))
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder / "moved")
        self.assertEqual(rp.verify_manifest("manifest.jsonl")[0].path, "train-0")

    def test_file_systems(self):
        files = Memory()
        job = rp.convert_to_dir(f"file://{self.folder}/train-*", "out", filesystem=files)
        report = rp.verify_manifest(job.manifest, filesystem=files)
        self.assertEqual((report.intact, report.records), (True, 10))

    def test_progress(self):
        calls = []
        rp.verify_manifest(self.manifest, progress=lambda done, total: calls.append((done, total)))
        total = self.job.bytes
        self.assertEqual(calls[-1], (total, total))

        def stop(done, total):
            raise KeyError

        with self.assertRaises(KeyError):
            rp.verify_manifest(self.manifest, progress=stop)

    def test_what_is_no_manifest(self):
        with self.assertRaisesRegex(rp.MissingFileError, "none.jsonl"):
            rp.verify_manifest(self.folder / "none.jsonl")
        bad = self.folder / "bad.jsonl"
        for text in ("{}", "train-0", '{"job": "", "output": "../a"}'):
            bad.write_text(text)
            with self.assertRaisesRegex(rp.DataLossError, "bad.jsonl: line 1 is no line"):
                rp.verify_manifest(bad)
        with self.assertRaises(ValueError):
            rp.verify_manifest(self.manifest, threads=-1)


if __name__ == "__main__":
    unittest.main()
