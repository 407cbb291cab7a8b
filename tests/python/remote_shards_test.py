"""map_shards, executor= and the jobs of many files, on another file system."""

import concurrent.futures
import functools
import json
import multiprocessing
import unittest

import recordpipe as rp
import records
from disk_files import DiskFiles
from support import FilesTest


def processes():
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=context)


def count(files, path):
    return len(rp.tfrecords(path, filesystem=files))


class Unpicklable(DiskFiles):
    def __reduce__(self):
        raise TypeError("has a connection")


class RemoteTest(FilesTest):
    def setUp(self):
        super().setUp()
        (self.folder / "in").mkdir()
        for i, size in enumerate((3, 0, 5, 2, 7)):
            self.examples(size, f"in/train-{i:03}.tfrecord", first=10 * i)
        self.files = DiskFiles(self.folder)

    def path(self, name):
        return self.folder / name

    def names(self, folder):
        return sorted(path.name for path in self.path(folder).iterdir() if path.is_file())

    def damage(self, name):
        path = self.path(name)
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)


class Executors(RemoteTest):
    def test_map_shards(self):
        with processes() as executor:
            for pattern in ("in/train-*", "in", "in/train-{000..004}.tfrecord"):
                found = rp.map_shards(
                    functools.partial(count, self.files),
                    pattern,
                    filesystem=self.files,
                    executor=executor,
                )
                self.assertEqual([shard.value for shard in found], [3, 0, 5, 2, 7])
        with self.assertRaisesRegex(rp.NotFoundError, "in/none: no such file"):
            rp.map_shards(print, "in/none", filesystem=self.files)

    def test_results_are_those_without_executor(self):
        self.damage("in/train-002.tfrecord")
        files = {"filesystem": self.files}
        for executor in (concurrent.futures.ThreadPoolExecutor(2), processes()):
            with self.subTest(executor=executor), executor:
                report = rp.verify("in/*", executor=executor, **files)
                self.assertEqual(report, rp.verify("in/*", **files))
                self.assertFalse(report.intact)
                good = [f"in/train-{i:03}.tfrecord" for i in (0, 1, 3, 4)]
                self.assertEqual(
                    rp.schema(good, executor=executor, **files), rp.schema(good, **files)
                )
                self.assertEqual(rp.stats(good, executor=executor, **files)["id"].int64.count, 12)
                alone = rp.index(good, **files)
                texts = [self.path(f"{name}.idx").read_text() for name in good]
                for name in good:
                    self.path(f"{name}.idx").unlink()
                self.assertEqual(rp.index(good, executor=executor, **files), alone)
                self.assertEqual([self.path(f"{name}.idx").read_text() for name in good], texts)
                checked = rp.index(good, check=True, executor=executor, **files)
                self.assertTrue(all(one.matches for one in checked))
                for name in good:
                    self.path(f"{name}.idx").unlink()

    def test_progress(self):
        calls = []
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            rp.verify(
                "in/*",
                executor=executor,
                filesystem=self.files,
                progress=lambda *call: calls.append(call),
            )
        size = sum(path.stat().st_size for path in self.path("in").iterdir())
        self.assertEqual(calls[-1], (size, size))
        self.assertEqual(len(calls), 5)

    def test_an_index_of_a_given_name(self):
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            (made,) = rp.index(
                "in/train-000.tfrecord", "in/own", executor=executor, filesystem=self.files
            )
        self.assertEqual((made.records, self.names("in")[0]), (3, "own"))

    def test_what_does_not_pickle_is_named(self):
        with processes() as executor, self.assertRaisesRegex(TypeError, "a connection") as caught:
            rp.verify("in/*", executor=executor, filesystem=Unpicklable(self.folder))
        self.assertIn("train-000", "".join(caught.exception.__notes__))


class Jobs(RemoteTest):
    def convert(self, **options):
        options = {"compression": "gzip", "filesystem": self.files, **options}
        return rp.convert_to_dir("in/train-*", "out/", **options)

    def test_a_file_from_each(self):
        with processes() as executor:
            report = self.convert(executor=executor)
        self.assertTrue(report)
        self.assertEqual(report.folder, "out")
        self.assertEqual(report.shards[0].path, "out/train-000.tfrecord.gz")
        self.assertEqual([shard.records for shard in report.shards], [3, 0, 5, 2, 7])
        self.assertEqual(
            list(rp.tfrecords(self.path("out/train-*.gz"))),
            list(rp.tfrecords(self.path("in/train-*"))),
        )
        self.assertEqual(report.manifest, "out/manifest.jsonl")
        lines = list(map(json.loads, self.path("out/manifest.jsonl").read_text().splitlines()))
        self.assertEqual([line["crc32c"] for line in lines], [one.crc32c for one in report.shards])
        self.assertEqual(self.names("out/.shards"), [])

    def test_the_bytes_are_those_of_a_local_job(self):
        report = self.convert(shuffle=True, seed=3)
        local = rp.convert_to_dir(
            self.path("in/train-*"), self.path("local"), compression="gzip", shuffle=True, seed=3
        )
        self.assertEqual(
            [one.crc32c for one in report.shards], [one.crc32c for one in local.shards]
        )

    def test_resume_makes_what_is_missing(self):
        bad = self.path("in/train-003.tfrecord")
        whole = bad.read_bytes()
        bad.write_bytes(whole[:-3])
        report = self.convert(keep_going=True)
        self.assertEqual([one.input for one in report.failed], ["in/train-003.tfrecord"])
        self.assertIsInstance(report.failed[0].error, rp.DataLossError)
        self.assertFalse(rp.verify_manifest("out/manifest.jsonl", filesystem=self.files))
        bad.write_bytes(whole)
        with processes() as executor:
            report = self.convert(resume=True, executor=executor)
        self.assertEqual([one.was_there for one in report.shards], [True] * 3 + [False, True])
        self.assertTrue(report.complete)
        self.assertTrue(all(one.was_there for one in self.convert(resume=True).shards))
        self.assertFalse(any(one.was_there for one in self.convert(resume=True, level=9).shards))

    def test_a_changed_input_is_made_again(self):
        self.convert()
        self.examples(4, "in/train-001.tfrecord")
        report = self.convert(resume=True)
        self.assertEqual([one.was_there for one in report.shards], [True, False, True, True, True])
        self.assertEqual(report.records, 21)

    def test_salvage(self):
        self.damage("in/train-002.tfrecord")
        report = rp.salvage_to_dir("in/train-*", "out", filesystem=self.files)
        self.assertEqual(report.records, 16)
        self.assertTrue(rp.verify("out", filesystem=self.files).intact)

    def test_from_there_to_here(self):
        report = self.convert()
        here = rp.convert_to_dir(
            "in/train-*", f"file://{self.folder}/here", filesystem=self.files, compression="gzip"
        )
        self.assertEqual([one.crc32c for one in here.shards], [one.crc32c for one in report.shards])
        self.assertFalse(self.path("here/.shards").exists())

    def test_a_file_system_that_cannot_remove(self):
        class Keeps(DiskFiles):
            remove = property()

        report = self.convert(filesystem=Keeps(self.folder))
        self.assertTrue(report.complete)
        self.assertEqual(len(self.names("out/.shards")), 5)
        self.assertTrue(all(one.was_there for one in self.convert(resume=True).shards))

    def test_a_writer_that_fails_leaves_nothing(self):
        class Full(DiskFiles):
            def open_writer(self, path):
                writer = super().open_writer(path)
                if "train-002" in path:

                    def fail(data):
                        raise OSError(28, "the bucket is full")

                    writer.write = fail
                return writer

        report = self.convert(filesystem=Full(self.folder), keep_going=True)
        (failed,) = report.failed
        self.assertIn("the bucket is full", str(failed.error))
        self.assertIn("train-002", "".join(failed.error.__notes__))
        self.assertEqual(len(self.names("out")), 5)  # 4, and the manifest, which names the other

    def test_strange_names(self):
        names = ["ü ö.tfrecord", "a%41?b#c.tfrecord", "new\nline.tfrecord", "x=1&y=2.tfrecord"]
        for name in names:
            records.write(self.path("in") / name, [b"1", b"2"])
        report = rp.convert_to_dir([f"in/{name}" for name in names], "out", filesystem=self.files)
        self.assertEqual([one.path for one in report.shards], [f"out/{name}" for name in names])
        self.assertEqual(report.records, 8)
        again = rp.convert_to_dir(
            [f"in/{name}" for name in names], "out", filesystem=self.files, resume=True
        )
        self.assertTrue(all(one.was_there for one in again.shards))


if __name__ == "__main__":
    unittest.main()
