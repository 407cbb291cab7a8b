"""Tests recordpipe.map_shards and the functions that are written on it."""

import concurrent.futures
import dataclasses
import functools
import gzip
import json
import math
import multiprocessing
import os
import pickle
import signal
import threading
import unittest
from concurrent.futures.process import BrokenProcessPool

import recordpipe as rp
import records
from support import FilesTest


def count(path):
    return len(rp.tfrecords(path))


def count_or_fail(bad, path):
    if path.endswith(bad):
        raise ValueError("bad luck")
    return count(path)


class RefusesNotes(Exception):
    __slots__ = ()

    def add_note(self, note):
        raise TypeError("no notes")


def refuse_notes(path):
    raise RefusesNotes(path)


def die(bad, path):
    """Ends the worker in one of the files."""
    if path.endswith(bad):
        os.kill(os.getpid(), signal.SIGKILL)
    return count(path)


def processes():
    # Not fork: threads of other tests may hold locks.
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=context)


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Remembers how many tasks were submitted and have not ended at a time."""

    def __init__(self):
        super().__init__(2)
        self.running = self.most = 0
        self.lock = threading.Lock()

    def submit(self, *arguments):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        future = super().submit(*arguments)
        future.add_done_callback(self.ended)
        return future

    def ended(self, _):
        with self.lock:
            self.running -= 1


class Twice(concurrent.futures.ThreadPoolExecutor):
    """Runs each task twice, at the same time; the caller waits now for the first of the two, now
    for the second one."""

    def __init__(self):
        super().__init__(8)
        self.others = []

    def submit(self, *arguments):
        two = [super().submit(*arguments), super().submit(*arguments)]
        self.others.append(two.pop(len(self.others) % 2))
        return two[0]


class ShardsTest(FilesTest):
    def shards(self, counts=(3, 0, 5, 2, 7)):
        for i, size in enumerate(counts):
            self.examples(size, f"train-{i:03}.tfrecord", first=10 * i)
        return str(self.folder / "train-*")


class MapShards(ShardsTest):
    def test_results_are_in_the_order_of_the_inputs(self):
        for executor in (None, Counting(), processes()):
            with self.subTest(executor=executor):
                shards = list(rp.map_shards(count, self.shards(), executor=executor))
                self.assertEqual([shard.value for shard in shards], [3, 0, 5, 2, 7])
                self.assertEqual([shard.number for shard in shards], list(range(5)))
                self.assertTrue(shards[4].path.endswith("train-004.tfrecord"))
            if executor:
                executor.shutdown()

    def test_unordered_results_come_as_tasks_end(self):
        pattern = self.shards()
        may_end = threading.Event()

        def wait_in_the_first(path):
            if "000" in path:
                may_end.wait(60)
            return path

        found = rp.map_shards(wait_in_the_first, pattern, executor=Counting(), ordered=False)
        first = next(found)
        self.assertNotEqual(first.number, 0)
        may_end.set()
        self.assertEqual(sorted([first.number] + [one.number for one in found]), list(range(5)))

    def test_tasks_in_flight_are_bounded(self):
        with Counting() as executor:
            shards = rp.map_shards(count, self.shards([1] * 50), executor=executor, max_in_flight=3)
            self.assertEqual(sum(shard.value for shard in shards), 50)
        self.assertLessEqual(executor.most, 3)

    def test_errors_name_the_shard(self):
        function = functools.partial(count_or_fail, "002.tfrecord")
        for executor in (None, processes()):
            with self.subTest(executor=executor), self.assertRaises(ValueError) as caught:
                list(rp.map_shards(function, self.shards(), executor=executor))
            (note,) = [note for note in caught.exception.__notes__ if note.startswith("shard")]
            self.assertRegex(note, r"^shard 2 of 5: .*train-002\.tfrecord$")
            if executor:
                executor.shutdown()

    def test_keep_going(self):
        function = functools.partial(count_or_fail, "002.tfrecord")
        shards = list(rp.map_shards(function, self.shards(), on_error="keep_going"))
        self.assertEqual([shard.value for shard in shards], [3, 0, None, 2, 7])
        self.assertEqual(str(shards[2].error), "bad luck")

    def test_an_exception_that_refuses_notes_is_raised_as_it_is(self):
        with self.assertRaises(RefusesNotes):
            list(rp.map_shards(refuse_notes, self.shards()))

    def test_an_error_cancels_tasks_that_have_not_begun(self):
        pattern = self.shards([1] * 30)
        called = []

        def fail(path):
            called.append(path)
            raise ValueError

        with (
            concurrent.futures.ThreadPoolExecutor(1) as executor,
            self.assertRaises(ValueError),
        ):
            list(rp.map_shards(fail, pattern, executor=executor))
        self.assertLess(len(called), 30)

    def test_a_worker_that_dies_is_an_error_that_names_the_shard(self):
        function = functools.partial(die, "003.tfrecord")
        with processes() as executor, self.assertRaises(BrokenProcessPool) as caught:
            list(rp.map_shards(function, self.shards(), executor=executor, max_in_flight=1))
        self.assertRegex(caught.exception.__notes__[0], r"^shard 3 of 5: .*train-003\.tfrecord$")
        with processes() as executor:
            found = rp.map_shards(function, self.shards(), executor=executor, on_error="keep_going")
            values = [shard.value for shard in found]
        self.assertEqual(len(values), 5)
        self.assertIsNone(values[3])

    def test_missing_files_are_found_before_anything_begins(self):
        with self.assertRaises(rp.NotFoundError):
            rp.map_shards(count, self.folder / "none")

    def test_arguments(self):
        for options in ({"on_error": "skip"}, {"max_in_flight": 0}):
            with self.subTest(options), self.assertRaises(ValueError):
                rp.map_shards(count, self.shards(), **options)

    def test_errors_of_the_package_pickle(self):
        with self.assertRaises(rp.NotFoundError) as caught:
            rp.verify(self.folder / "none")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(str(error), str(caught.exception))
        for name in ("kind", "path", "offset", "reason", "hint", "filename", "errno"):
            self.assertEqual(getattr(error, name), getattr(caught.exception, name), name)


class Merged(ShardsTest):
    """What is read by tasks equals what is read at once."""

    def setUp(self):
        super().setUp()
        self.executor = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(self.executor.shutdown)

    def test_verify(self):
        pattern = self.shards()
        path = self.folder / "train-002.tfrecord"
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)
        seen = []
        report = rp.verify(
            pattern, executor=self.executor, progress=lambda done, total: seen.append((done, total))
        )
        self.assertEqual(report, rp.verify(pattern))
        self.assertFalse(report.intact)
        self.assertEqual(seen[-1][0], seen[-1][1])

    def test_index(self):
        pattern = self.shards()
        alone = rp.index(pattern)
        texts = [(self.folder / f"train-{i:03}.tfrecord.idx").read_text() for i in range(5)]
        for i in range(5):
            (self.folder / f"train-{i:03}.tfrecord.idx").unlink()
        self.assertEqual(rp.index(pattern, executor=self.executor), alone)
        self.assertEqual(
            [(self.folder / f"train-{i:03}.tfrecord.idx").read_text() for i in range(5)], texts
        )
        (self.folder / "train-003.tfrecord.idx").write_text("")
        checked = rp.index(pattern, check=True, executor=self.executor)
        self.assertEqual([one.matches for one in checked], [True, True, True, False, True])

    def test_schema(self):
        pattern = self.shards()
        with_others = [records.example({"id": [0.5], "other": [b"x"]})]
        records.write(self.folder / "train-9.tfrecord", with_others)
        found = rp.schema(pattern, executor=self.executor)
        self.assertEqual(found, rp.schema(pattern))
        self.assertEqual(found.fields["id"].kind, "mixed")

    def test_records_of_no_known_kind_are_counted(self):
        pattern = self.shards()
        records.write(self.folder / "train-9.tfrecord", [b"foo", b"bar"])
        for function in (rp.schema, rp.stats):
            for executor in (None, self.executor):
                with self.assertWarnsRegex(UserWarning, "2 records are of no known kind"):
                    function(pattern, where="has(id)", executor=executor)

    def assert_same_stats(self, ours, theirs):
        def compare(a, b, name):
            if dataclasses.is_dataclass(a):
                for field in dataclasses.fields(a):
                    compare(getattr(a, field.name), getattr(b, field.name), f"{name}.{field.name}")
            elif isinstance(a, dict):
                self.assertEqual(a.keys(), b.keys(), name)
                for key in a:
                    compare(a[key], b[key], f"{name}[{key}]")
            elif name.endswith((".mean", ".sd")) and a is not None:
                self.assertTrue(math.isclose(a, b, rel_tol=1e-12), name)
            else:
                self.assertEqual(a, b, name)

        compare(ours, theirs, "stats")

    def test_stats(self):
        pattern = self.shards([300, 0, 5, 2000, 7])
        special = {"id": [2**62], "box": [math.nan, math.inf, -0.0], "name": [b"long" * 20, b""]}
        records.write(self.folder / "train-9.tfrecord", [records.example(special)])
        lists = {"steps": [[1], [2, 3], []]}
        records.write(self.folder / "train-a", [records.sequence_example({"id": [1]}, lists)])
        alone = rp.stats(pattern)
        self.assert_same_stats(rp.stats(pattern, executor=self.executor), alone)
        self.assertEqual(alone["id"].int64.count, 2314)
        with processes() as executor:
            self.assert_same_stats(rp.stats(pattern, executor=executor), alone)

    def test_stats_of_many_different_values(self):
        # More than are counted exactly, in one file and in all.
        for i in range(4):
            values = [records.example({"n": [i * 3000 + j]}) for j in range(3000)]
            records.write(self.folder / f"many-{i}", values)
        pattern = str(self.folder / "many-*")
        found = rp.stats(pattern, executor=self.executor)["n"].int64
        alone = rp.stats(pattern)["n"].int64
        self.assertEqual(found.quantiles, alone.quantiles)
        self.assertEqual(found.histogram, alone.histogram)
        self.assertEqual((found.min, found.max, found.count), (0, 11999, 12000))
        self.assertFalse(found.distinct_is_exact)

    def test_stats_do_not_depend_on_the_executor(self):
        pattern = self.shards([100, 50, 3, 999])
        with concurrent.futures.ThreadPoolExecutor(1) as one:
            expected = rp.stats(pattern, executor=one)
        self.assertEqual(rp.stats(pattern, executor=self.executor), expected)

    def test_where(self):
        pattern = self.shards()
        # "other" is in one file only, which is no error; "none" in no file.
        records.write(self.folder / "train-9", [records.example({"id": [1], "other": [1]})])
        where = "other == 1 or id < 12"
        ours = rp.stats(pattern, where=where, executor=self.executor)
        self.assert_same_stats(ours, rp.stats(pattern, where=where))
        self.assertEqual(ours.records, 4)
        self.assertEqual(rp.schema(pattern, where=where, executor=self.executor).records, 4)
        for function in (rp.stats, rp.schema):
            with self.assertRaises(rp.NotFoundError) as alone:
                function(pattern, where="none == 1")
            with self.assertRaises(rp.NotFoundError) as caught:
                function(pattern, where="none == 1", executor=self.executor)
            self.assertEqual(str(caught.exception), str(alone.exception))
            with self.assertRaises(rp.InvalidArgumentError):
                function(pattern, where="id ==", executor=self.executor)

    def test_names_of_features(self):
        pattern = self.shards()
        records.write(self.folder / "train-9", [records.example({"id": [1], "other": [1]})])
        found = rp.stats(pattern, ["other", "id"], executor=self.executor)
        self.assertEqual(set(found.features), {"id", "other"})
        with self.assertRaisesRegex(rp.NotFoundError, "feature named nme; there are name"):
            rp.stats(pattern, "nme", executor=self.executor)

    def test_a_limit_is_refused(self):
        for function in (rp.stats, rp.schema):
            with self.assertRaisesRegex(ValueError, "limit"):
                function(self.shards(), limit=3, executor=self.executor)

    def test_damage_names_the_file(self):
        pattern = self.shards()
        (self.folder / "train-002.tfrecord").write_bytes(b"damage" * 10)
        with self.assertRaises(rp.DataLossError) as caught:
            rp.stats(pattern, executor=self.executor)
        self.assertTrue(caught.exception.path.endswith("train-002.tfrecord"))

    def test_a_damaged_state_is_refused(self):
        path = self.examples(20)
        files = rp.filesystem.files_on(None)
        state = rp._native.statistics_part(
            files, str(path), [], ("", True, 2**30, ""), None, 1, None
        )
        rp._native.StatisticsMerge([], None).add(state)
        for end in range(len(state)):
            with self.assertRaises(rp.DataLossError):
                rp._native.StatisticsMerge([], None).add(state[:end])
        with self.assertRaises(rp.DataLossError):
            rp._native.StatisticsMerge([], None).add(state + b"x")


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
            self.assertTrue(self.convert(skip_corrupt=True, resume=True))

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
        for found in (report, self.convert(skip_corrupt=True)):
            self.assertEqual([shard.regions_skipped for shard in found.shards], [0, 0, 1, 0, 0])
            self.assertGreater(found.bytes_skipped, 20)
            self.assertRegex(repr(found), f"1 damaged region.* of {found.bytes_skipped:,} bytes")
        again = self.convert(skip_corrupt=True, resume=True)
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
            rp.convert_to_dir(path, self.folder / "converted", skip_corrupt=True),
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
        with self.assertRaisesRegex(rp.InvalidArgumentError, "would be replaced"):
            rp.convert_to_dir(self.folder / "train-*", self.folder, where="id == 1")


if __name__ == "__main__":
    unittest.main()
