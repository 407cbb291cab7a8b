"""Tests convert_to_dir and salvage_to_dir."""

import concurrent.futures
import gzip
import json
import os
import signal
import unittest
from concurrent.futures.process import BrokenProcessPool

import recordpipe as rp
import records
from shard_files import ShardsTest, Twice, processes


class Jobs(ShardsTest):
    """convert_to_dir and salvage_to_dir."""

    def convert(self, **options):
        options = {"compression": "gzip", **options}
        return rp.convert_to_dir(self.folder / "train-*", self.folder / "out", **options)

    def test_a_file_from_each(self):
        self.shards()
        with processes() as executor:
            report = self.convert(executor=executor)
        self.assertTrue(report)
        self.assertEqual([shard.records for shard in report.shards], [3, 0, 5, 2, 7])
        self.assertEqual(
            list(rp.tfrecords(self.folder / "out/train-*.gz")),
            list(rp.tfrecords(self.folder / "train-*")),
        )
        with open(report.manifest) as manifest:
            lines = list(map(json.loads, manifest))
        self.assertEqual([line["crc32c"] for line in lines], [one.crc32c for one in report.shards])
        self.assertFalse((self.folder / "out/.shards").exists())

    def test_resume_makes_what_is_missing(self):
        self.shards()
        bad = self.folder / "train-003.tfrecord"
        whole = bad.read_bytes()
        bad.write_bytes(whole[:-3])
        report = self.convert(keep_going=True)
        self.assertFalse(report)
        self.assertEqual([one.input for one in report.failed], [str(bad)])
        self.assertIsInstance(report.failed[0].error, rp.DataLossError)
        # The manifest says what is missing, and what is known isn't read again.
        with open(report.manifest) as manifest:
            errors = [json.loads(line).get("error") for line in manifest]
        self.assertEqual([error is None for error in errors], [True] * 3 + [False, True])
        check = rp.verify_manifest(report.manifest)
        self.assertRegex(check.differing[0].difference, "^not made: the file ends inside")
        with self.assertRaisesRegex(rp.DataLossError, "failed in an earlier run"):
            self.convert(resume=True)
        again = self.convert(resume=True, keep_going=True)
        self.assertEqual([one.was_there for one in again.shards], [True] * 4)
        self.assertRegex(str(again.failed[0].error), "has not changed: the file ends inside")
        bad.write_bytes(whole)
        report = self.convert(resume=True)
        self.assertEqual([one.was_there for one in report.shards], [True] * 3 + [False, True])
        self.assertTrue(report.complete)
        self.assertEqual(report.records, 17)
        # Other options are another job.
        report = self.convert(resume=True, level=9)
        self.assertFalse(any(one.was_there for one in report.shards))

    def test_folders_and_compressions_stay(self):
        for name in ("a/x.tfrecord.gz", "b/x.tfrecord", "b/c/x.tfrecord.zst"):
            (self.folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            rp.write_tfrecords(self.folder / "in" / name, [name.encode()] * 3)
        for function in (rp.convert_to_dir, rp.salvage_to_dir):
            out = self.folder / function.__name__
            with processes() as executor:
                report = function(self.folder / "in", out, recursive=True, executor=executor)
            names = ["a/x.tfrecord.gz", "b/c/x.tfrecord.zst", "b/x.tfrecord"]
            self.assertEqual([one.path for one in report.shards], [f"{out}/{n}" for n in names])
            for name, start in zip(names, (0x1F, 0x28, len(names[2])), strict=True):
                self.assertEqual(list(rp.tfrecords(out / name)), [name.encode()] * 3)
                self.assertEqual((out / name).read_bytes()[0], start)
            self.assertTrue(rp.verify_manifest(report.manifest))
        report = function(self.folder / "in", out, recursive=True, compression="none")
        self.assertEqual(report.shards[0].path, f"{out}/a/x.tfrecord")

    def test_a_failure_stops_the_job(self):
        self.shards()
        (self.folder / "train-003.tfrecord").write_bytes(b"x" * 40)
        with self.assertRaises(rp.DataLossError):
            self.convert()
        try:
            self.convert()
            self.fail("a damaged file was converted")
        except rp.DataLossError:  # its traceback exists, and the folder is unlocked nevertheless
            self.assertTrue(self.convert(on_damage="resync", resume=True))

    def test_shuffles_are_reproducible_and_differ_by_name(self):
        for name in ("train-0", "train-1"):
            self.numbered(50, name)
        seen = []
        for _ in range(2):
            self.convert(shuffle=True, seed=3, compression="none")
            seen.append([list(rp.tfrecords(self.folder / f"out/train-{i}")) for i in range(2)])
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0][0], seen[0][1])

    def test_salvage(self):
        self.shards()
        path = self.folder / "train-002.tfrecord"
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)
        report = rp.salvage_to_dir(self.folder / "train-*", self.folder / "fixed")
        self.assertEqual([shard.records for shard in report.shards], [3, 0, 4, 2, 7])
        self.assertTrue(rp.verify(self.folder / "fixed").intact)
        for found in (report, self.convert(on_damage="resync")):
            self.assertEqual([shard.regions_skipped for shard in found.shards], [0, 0, 1, 0, 0])
            self.assertGreater(found.bytes_skipped, 20)
            self.assertRegex(repr(found), f"1 damaged region.* of {found.bytes_skipped:,} bytes")
        again = self.convert(on_damage="resync", resume=True)
        self.assertEqual((again.regions_skipped, again.records), (1, 16))

    def test_a_feature_that_some_files_lack(self):
        (self.folder / "rows").mkdir()
        for name, features in (
            ("a", {"id": [1]}),
            ("b", {"id": [2], "x": [1]}),
            ("c", {"id": [3]}),
        ):
            records.write(self.folder / "rows" / name, [records.example(features)])
        (self.folder / "rows/d").write_bytes(b"")
        with processes() as pool:
            for executor in None, pool:
                for options, counts in (
                    ({"drop": "x"}, [1, 1, 1, 0]),
                    ({"where": "x == 1"}, [0, 1, 0, 0]),
                ):
                    report = rp.convert_to_dir(
                        str(self.folder / "rows/*"),
                        self.folder / "out",
                        executor=executor,
                        **options,
                    )
                    self.assertTrue(report.complete)
                    self.assertEqual([shard.records for shard in report.shards], counts)
                for options in (
                    {"drop": "y"},
                    {"where": "y == 1"},
                    {"select": "y", "keep_going": True},
                ):
                    with self.assertRaisesRegex(rp.NotFoundError, "y.*; there are"):
                        rp.convert_to_dir(
                            str(self.folder / "rows/*"),
                            self.folder / "out",
                            executor=executor,
                            **options,
                        )
        with self.assertWarnsRegex(
            UserWarning, "no record that was read has a feature named y"
        ) as caught:
            rp.convert_to_dir(
                str(self.folder / "rows/*"), self.folder / "out", drop="y", sample=1.0
            )
        self.assertEqual(caught.filename, __file__)

    def test_broken_streams(self):
        path = self.examples(3, "a.tfrecord.gz")
        path.write_bytes(gzip.compress(path.read_bytes()) + b"x" * 99)
        for found in (
            rp.convert_to_dir(path, self.folder / "converted", on_damage="resync"),
            rp.salvage_to_dir(path, self.folder / "salvaged"),
        ):
            self.assertEqual((found.records, found.compressed_bytes_skipped), (3, 99))
            self.assertEqual(found.shards[0].compressed_bytes_skipped, 99)
            self.assertIn("99 compressed bytes lost", repr(found))

    def test_the_same_shard_twice_at_once(self):
        for i in range(6):
            self.numbered(20_000, f"train-{i}")
        with Twice() as executor:
            report = self.convert(executor=executor)
            # A task whose repetition has ended the job finds no folder for its record, or is told
            # while it waits for the repetition, or reads, that the job no longer waits for it.
            expected = (rp.NotFoundError, concurrent.futures.CancelledError, type(None))
            for other in executor.others:
                self.assertIsInstance(other.exception(), expected)
        self.assertEqual([one.records for one in report.shards], [20_000] * 6)
        alone = rp.convert_to_dir(
            self.folder / "train-*", self.folder / "alone", compression="gzip"
        )
        self.assertEqual(
            [one.crc32c for one in report.shards], [one.crc32c for one in alone.shards]
        )
        for name in os.listdir(self.folder / "alone"):
            if name.endswith(".gz"):
                ours, theirs = (self.folder / folder / name for folder in ("out", "alone"))
                self.assertEqual(ours.read_bytes(), theirs.read_bytes())

    def test_a_job_whose_worker_was_killed_is_resumed(self):
        self.shards([2000] * 12)

        def kill(done, total):
            if not executor.killed:
                executor.killed = True
                os.kill(next(iter(executor._processes)), signal.SIGKILL)

        with processes() as executor, self.assertRaises(BrokenProcessPool):
            executor.killed = False
            self.convert(executor=executor, progress=kill)
        self.assertFalse((self.folder / "out/manifest.jsonl").exists())
        with processes() as executor:
            report = self.convert(executor=executor, resume=True)
        self.assertTrue(report.shards[0].was_there)
        self.assertEqual(
            list(rp.tfrecords(self.folder / "out/train-*.gz")),
            list(rp.tfrecords(self.folder / "train-*")),
        )
        self.assertFalse(list((self.folder / "out").glob(".*")))

    def test_refusals(self):
        self.shards()
        with self.assertRaisesRegex(TypeError, "shards"):
            self.convert(shards=3)
        with self.assertRaises(TypeError):
            self.convert(no_such_option=3)
        (self.folder / "out/a").mkdir(parents=True)
        other = self.numbered(3, "out/a/x.tfrecord")
        (self.folder / "in/a").mkdir(parents=True)
        self.numbered(5, "in/a/x.tfrecord")
        before = other.read_bytes()
        for make in rp.convert_to_dir, rp.salvage_to_dir:
            with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
                make(self.folder / "train-*", self.folder)
            with self.assertRaisesRegex(rp.InvalidArgumentError, "x.tfrecord.*would be replaced"):
                make([self.folder / "in", other], self.folder / "out", recursive=True)
        self.assertEqual(other.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
