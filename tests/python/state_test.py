"""state_dict() and load_state_dict(): everything after a restore equals an uninterrupted pass."""

import json
import unittest

import numpy as np
import recordpipe as rp
from support import FilesTest


class State(FilesTest):
    def pipelines(self):
        path = self.examples(40)
        parsed = rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], "int64")})
        numbers = rp.from_list(range(30))
        return {
            "records": rp.tfrecords(path),
            "rows": parsed,
            "batches": parsed.shuffle(16, seed=3).repeat(2).batch(7).prefetch(),
            "global shuffle": parsed.shuffle(seed=3).repeat(2).shard(2, 1).batch(4),
            "functions": numbers.shuffle(seed=1)
            .map(lambda x: x + 1)
            .filter(lambda x: x % 3)
            .map_with_random(lambda x, rng: (x, rng.random()), seed=2)
            .batch(4),
            "scan": numbers.scan(0, lambda s, x: (s + x, s + x)).window(3, 1),
            "interleave": rp.from_list([5, 7, 3]).interleave(
                lambda n: rp.from_list(range(n)), cycle_length=2
            ),
            "generator": rp.from_generator(lambda: iter(range(20))).shuffle(5, seed=1),
            "cache": numbers.map(lambda x: x * x).cache().repeat(2),
        }

    def test_every_place_of_every_pipeline(self):
        for name, dataset in self.pipelines().items():
            whole = [repr(element) for element in dataset.epoch(1)]
            for place in range(len(whole) + 1):
                with self.subTest(name=name, place=place):
                    iterator = iter(dataset.epoch(1))
                    for _ in range(place):
                        next(iterator)
                    text = json.dumps(iterator.state_dict())
                    other = iter(dataset.with_options(threads=1 + place % 3))
                    other.load_state_dict(json.loads(text))
                    self.assertEqual(other.position, place)
                    self.assertEqual([repr(element) for element in other], whole[place:])

    def test_interleaved_files_are_compared(self):
        a, b, c = (self.numbered(6, name, first) for name, first in (("a", 0), ("b", 6), ("c", 12)))

        def make(paths):
            yield rp.tfrecords(paths, cycle_length=2)
            yield rp.from_list([str(path) for path in paths]).interleave(rp.tfrecords, 2)

        for number, dataset in enumerate(make([a, b, c])):
            iterator = iter(dataset)
            for _ in range(5):
                next(iterator)
            state = iterator.state_dict()
            for paths in ([b, a, c], [a, b, a], [a, b], [a, c, b]):
                other = iter([*make(paths)][number])
                with self.assertRaisesRegex(rp.InvalidArgumentError, "state"):
                    other.load_state_dict(state)
            restored = iter([*make([a, b, c])][number])
            restored.load_state_dict(state)
            self.assertEqual(list(restored), list(dataset)[5:])
        cache = self.folder / "cache"
        list(rp.tfrecords([a, b], cycle_length=2).cache(cache))
        with self.assertRaisesRegex(rp.Error, "cache"):
            list(rp.tfrecords([b, a], cycle_length=2).cache(cache))

    def test_lists_are_compared(self):
        for one, other in (
            (range(30), range(100, 130)),
            (["a", "b"], ["b", "a"]),
            ([b"a", 1.5, None], [b"a", 2.5, None]),
            ([{"x": [1, 2]}], [{"x": [1, 3]}]),
            ([np.arange(3)], [np.arange(1, 4)]),
        ):
            iterator = iter(rp.from_list(one))
            next(iterator)
            with self.assertRaisesRegex(rp.InvalidArgumentError, "from_list"):
                iter(rp.from_list(other)).load_state_dict(iterator.state_dict())
            iter(rp.from_list(list(one))).load_state_dict(iterator.state_dict())

    def test_position_after_an_exception(self):
        def fail_at_nine(value):
            if value == 9:
                raise KeyError(value)
            return value

        for chunk_size in (1, 64):
            numbers = rp.from_list(range(100)).map(fail_at_nine).with_options(chunk_size=chunk_size)
            for dataset, expected in ((numbers, 9), (numbers.batch(4), 2), (numbers.prefetch(), 9)):
                iterator = iter(dataset)
                for _ in range(2):
                    with self.assertRaises(KeyError):
                        while True:
                            next(iterator)
                    self.assertEqual(iterator.position, expected)

    def test_restores_into_an_iterator_that_is_in_use(self):
        iterator = iter(rp.from_list(range(10)))
        state = iterator.state_dict()
        self.assertEqual([next(iterator) for _ in range(4)], [0, 1, 2, 3])
        iterator.load_state_dict(state)
        self.assertEqual(list(iterator), list(range(10)))

    def test_restores_while_threads_open_files(self):
        paths = [self.examples(count, f"{count}.tfrecord") for count in (17, 22, 27)]
        files = rp.tfrecords(paths, cycle_length=2).enumerate().prefetch(7).repeat(3).skip(7)
        dataset = rp.sample_from_datasets([files, files.take(4)], [0.7, 0.3], seed=2)
        threaded = dataset.with_options(threads=4, chunk_size=5)
        iterator = iter(dataset.epoch(0))
        for _ in range(40):
            state = iterator.state_dict()
            expected = next(iterator)
            for taken in range(1, 6):
                other = iter(threaded.epoch(0))
                for _ in range(taken):
                    next(other)
                other.load_state_dict(state)
                self.assertEqual(next(other), expected)

    def test_is_an_independent_copy(self):
        iterator = iter(rp.from_list(range(10)))
        next(iterator)
        first = iterator.state_dict()
        next(iterator)
        second = iterator.state_dict()
        second["position"] = 7
        self.assertEqual(first["position"], 1)
        self.assertEqual(iterator.state_dict()["position"], 2)

    def test_refuses_other_plans_and_changed_files_by_name(self):
        path = self.numbered(10)
        iterator = iter(rp.tfrecords(path).shuffle(4, seed=1))
        next(iterator)
        state = iterator.state_dict()
        other = iter(rp.tfrecords(path).shuffle(5, seed=1))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "shuffle"):
            other.load_state_dict(state)
        self.assertEqual(len(list(other)), 10)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "name"):
            named = rp.from_list([1]).map(len, name="a")
            iter(rp.from_list([1]).map(len, name="b")).load_state_dict(iter(named).state_dict())
        self.numbered(11)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "numbered.tfrecord"):
            iter(rp.tfrecords(path).shuffle(4, seed=1)).load_state_dict(state)

    def test_refuses_what_is_no_state(self):
        iterator = iter(rp.from_list([1]))
        good = iterator.state_dict()
        for bad in (
            {},
            None,
            {**good, "state": "?"},
            {**good, "state": ""},
            {**good, "version": 2},
            {**good, "state": good["state"][:-4]},
        ):
            with self.subTest(bad=bad), self.assertRaises(rp.InvalidArgumentError):
                iterator.load_state_dict(bad)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "'NoneType', where state_dict"):
            iterator.load_state_dict(None)
        self.assertEqual(list(iterator), [1])

    def test_refuses_fields_that_contradict_the_state(self):
        iterator = iter(rp.from_list(range(10)))
        for _ in range(3):
            next(iterator)
        good = iterator.state_dict()
        next(iterator)
        for name, value in (
            ("position", 2),
            ("position", 4),
            ("position", "3"),
            ("plan", "0" * 16),
            ("version", 2),
        ):
            with self.subTest(name=name, value=value):
                with self.assertRaisesRegex(ValueError, name):
                    iterator.load_state_dict({**good, name: value})
                self.assertEqual(iterator.position, 4)
        with self.assertRaisesRegex(ValueError, "version 2"):
            iterator.load_state_dict({"version": 2, "place": "of a later format"})
        self.assertEqual(next(iterator), 4)

    def test_a_shard_at_the_end_counts_its_own_elements(self):
        shard = rp.from_list(range(12)).shard(3, 1)
        iterator = iter(shard)
        for expected in (1, 4):
            self.assertEqual(next(iterator), expected)
        resumed = iter(shard)
        resumed.load_state_dict(iterator.state_dict())
        self.assertEqual(list(resumed), [7, 10])


if __name__ == "__main__":
    unittest.main()
