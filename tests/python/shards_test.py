"""Tests recordpipe.map_shards."""

import concurrent.futures
import functools
import os
import pickle
import signal
import threading
import unittest
from concurrent.futures.process import BrokenProcessPool

import recordpipe as rp
from shard_files import Counting, ShardsTest, count, count_or_fail, processes


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


if __name__ == "__main__":
    unittest.main()
