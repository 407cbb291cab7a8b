"""Resuming as training programs do it: again and again, in the middle of shuffle buffers, with
another number of workers or ranks. Other libraries have lost or repeated records in these cases."""

import copy
import itertools
import json
import random
import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest


def take(iterator, count):
    return [next(iterator) for _ in range(count)]


class Resume(FilesTest):
    def test_a_second_resume_does_not_start_again(self):
        dataset = rp.tfrecords(self.numbered(60))
        whole = list(dataset)
        state, got = None, []
        for _ in range(6):  # each run takes ten records, saves, and is killed
            iterator = iter(dataset)
            if state is not None:
                iterator.load_state_dict(state)
            got += take(iterator, 10)
            state = json.loads(json.dumps(iterator.state_dict()))
        self.assertEqual(got, whole)

    def test_a_loaded_state_is_not_changed_by_iterating(self):
        dataset = rp.tfrecords(self.numbered(60)).shuffle(16, seed=1)
        whole = list(dataset.epoch(0))
        iterator = iter(dataset.epoch(0))
        take(iterator, 7)
        state = iterator.state_dict()
        saved = copy.deepcopy(state)
        for _ in range(3):
            resumed = iter(dataset.epoch(0))
            resumed.load_state_dict(state)
            take(resumed, 20)
            resumed.state_dict()["position"] = -1
            self.assertEqual(state, saved)
        resumed = iter(dataset.epoch(0))
        resumed.load_state_dict(state)
        self.assertEqual(list(resumed), whole[7:])

    def test_nothing_of_a_shuffle_buffer_is_lost_or_repeated(self):
        files = [self.numbered(50, f"{i}.tfrecord", first=50 * i) for i in range(4)]
        for buffer_size in (1, 10, 64, 500):
            dataset = rp.tfrecords(files, cycle_length=2).shuffle(buffer_size, seed=5).epoch(2)
            whole = list(dataset)
            self.assertEqual(sorted(map(int, whole)), list(range(200)))
            for place in (0, 1, 63, 64, 150, 199, 200):
                with self.subTest(buffer_size=buffer_size, place=place):
                    iterator = iter(dataset)
                    got = take(iterator, place)
                    resumed = iter(dataset)
                    resumed.load_state_dict(iterator.state_dict())
                    self.assertEqual(got + list(resumed), whole)

    def test_a_batch_is_not_cut_by_a_resume(self):
        dataset = rp.tfrecords(self.numbered(45)).shuffle(20, seed=1).batch(4).epoch(0)
        whole = [batch.tolist() for batch in dataset]
        for place in range(len(whole) + 1):
            iterator = iter(dataset)
            take(iterator, place)
            resumed = iter(dataset)
            resumed.load_state_dict(iterator.state_dict())
            self.assertEqual([batch.tolist() for batch in resumed], whole[place:])

    def test_a_killed_epoch_goes_on_in_its_own_order(self):
        dataset = rp.tfrecords(self.numbered(40)).shuffle(seed=9)
        expected = [list(dataset.epoch(epoch)) for epoch in range(3)]
        for epoch in range(3):
            for place in (0, 13, 40):
                iterator = iter(dataset.epoch(epoch))
                got = take(iterator, place)
                resumed = iter(dataset.epoch(7))
                resumed.load_state_dict(iterator.state_dict())
                self.assertEqual(resumed.epoch, epoch)
                self.assertEqual(got + list(resumed), expected[epoch])


class AgainAndAgain(FilesTest):
    """Runs that are killed after a few elements, each resumed from the one before.

    What users have met in Hugging Face's datasets: the second resume started at the first record
    (datasets 8308); a shuffled input that fits into the buffer could not be resumed (7901); each
    resume lost about as many records as the shuffle buffer holds, and repeated others (8408).
    """

    def pipelines(self):
        files = [self.examples(15, f"{i}.tfrecord", first=15 * i) for i in range(4)]
        features = {"id": rp.FixedLenFeature([], "int64")}
        rows = rp.tfrecords(files).parse(features)
        cycle = rp.tfrecords(files, cycle_length=3, block_length=2).parse(features)
        opened = rp.from_list(files).interleave(
            lambda file: rp.tfrecords(file).parse(features), cycle_length=3, block_length=2
        )
        return {
            "rows": rows,
            "shuffle": rows.shuffle(20, seed=42),
            "shuffle of everything in the buffer": rows.shuffle(500, seed=42),
            "global shuffle": rows.shuffle(seed=42),
            "batch": rows.batch(7),
            "shuffle, batch": rows.shuffle(20, seed=42).batch(7),
            "batch, shuffle": rows.batch(7).shuffle(5, seed=42),
            "interleave": cycle,
            "interleave, shuffle, batch": cycle.shuffle(20, seed=42).batch(7).prefetch(),
            "interleave by a function": opened,
            "interleave by a function, shuffle, batch": opened.shuffle(20, seed=42).batch(7),
            "repeat": rows.repeat(2),
            "shuffle, repeat, batch": rows.shuffle(20, seed=42).repeat(3).batch(7).prefetch(),
            "repeat, shuffle": rows.repeat(2).shuffle(20, seed=42),
        }

    def pass_in_runs(self, dataset, worker_counts, rounds):
        """The ids of one pass: in each run, each worker gives ``rounds`` elements."""
        state, got = None, []
        # More runs than any of the pipelines has elements. 0 workers: the Dataset itself.
        for workers in itertools.islice(itertools.cycle(worker_counts), 200):
            parts = [dataset.shard(workers, i) for i in range(workers)] or [dataset]
            iterators = [iter(part) for part in parts]
            for iterator in iterators if state is not None else []:
                iterator.load_state_dict(json.loads(state))
            for _ in range(rounds):
                for iterator in iterators:
                    element = next(iterator, None)
                    if element is None:
                        return got
                    got += np.atleast_1d(element["id"]).tolist()
            state = json.dumps(iterators[-1].state_dict())
        return got

    def test_nothing_is_lost_or_repeated(self):
        for name, dataset in self.pipelines().items():
            dataset = dataset.epoch(1)
            whole = [i for row in dataset for i in np.atleast_1d(row["id"]).tolist()]
            counts = np.bincount(whole, minlength=60)
            self.assertEqual(set(counts), {len(whole) // 60}, name)
            for worker_counts in ((0,), (1,), (2,), (2, 0, 1)):
                for rounds in (1, 4, 13):
                    with self.subTest(name=name, workers=worker_counts, rounds=rounds):
                        got = self.pass_in_runs(dataset, worker_counts, rounds)
                        self.assertEqual(got, whole)

    def test_a_small_input_resumes_anywhere_on_the_same_dataset(self):
        dataset = rp.tfrecords(self.numbered(12)).shuffle(1000, seed=42)
        whole = list(dataset.epoch(0))
        self.assertEqual(sorted(map(int, whole)), list(range(12)))
        for place in range(13):
            stopped = iter(dataset.epoch(0))
            got = take(stopped, place)
            resumed = iter(dataset.epoch(0))
            resumed.load_state_dict(stopped.state_dict())
            self.assertEqual(got + list(resumed), whole)


class Workers(FilesTest):
    def setUp(self):
        super().setUp()
        self.source = rp.tfrecords(self.numbered(101)).shuffle(20, seed=2).repeat(2)

    def test_workers_and_ranks_have_no_record_twice(self):
        one_epoch = rp.tfrecords(self.numbered(101)).shuffle(seed=2)
        for ranks in (1, 2, 3):
            for workers in (1, 2, 4):
                seen = []
                for rank in range(ranks):
                    batches = one_epoch.shard(ranks, rank).batch(4)
                    for worker in range(workers):
                        for batch in batches.shard(workers, worker).epoch(1):
                            seen += [int(record) for record in batch]
                self.assertEqual(sorted(seen), list(range(101)))

    def test_a_shard_of_rows_has_the_random_numbers_of_all(self):
        row = {"image": [bytes(range(48))]}
        path = records.write(self.folder / "images", [records.example(row) for _ in range(12)])
        images = rp.tfrecords(path).parse({"image": rp.FixedLenFeature([], "bytes")})
        images = images.decode_raw("image", [4, 4, 3]).pad_crop_flip("image", 2, seed=1)
        whole = [row["image"].tobytes() for row in images]
        self.assertGreater(len(set(whole)), 6)
        for worker in range(3):
            part = images.shard(3, worker).prefetch().with_options(threads=2)
            self.assertEqual([row["image"].tobytes() for row in part], whole[worker::3])
            batched = images.shard(3, worker).batch(2)
            rows = [row.tobytes() for batch in batched for row in batch["image"]]
            self.assertEqual(rows, whole[worker::3])

    def test_more_workers_than_records(self):
        dataset = rp.from_list(range(3))
        self.assertEqual([list(dataset.shard(5, i)) for i in range(5)], [[0], [1], [2], [], []])

    def test_another_number_of_workers_goes_on_at_the_same_batch(self):
        generator = random.Random(1)
        for rank in range(2):
            batches = self.source.shard(2, rank).batch(5).epoch(1)
            whole = [batch.tolist() for batch in batches]
            for workers in (1, 2, 3, 4):
                for rounds in range(len(whole) // workers + 1):
                    iterator = iter(batches.shard(workers, generator.randrange(workers)))
                    take(iterator, rounds)
                    state = iterator.state_dict()
                    now = generator.randint(1, 4)
                    parts = []
                    for worker in range(now):
                        part = iter(batches.shard(now, worker).prefetch())
                        part.load_state_dict(state)
                        parts.append([batch.tolist() for batch in part])
                    rest = whole[rounds * workers :]
                    self.assertEqual(parts, [rest[worker::now] for worker in range(now)])
                    plain = iter(batches)
                    plain.load_state_dict(state)
                    self.assertEqual(plain.position, rounds * workers)
                    self.assertEqual([batch.tolist() for batch in plain], rest)

    def test_another_number_of_ranks_goes_on_at_the_same_global_batch(self):
        iterators = [iter(self.source.shard(4, rank).batch(3)) for rank in range(4)]
        for iterator in iterators:
            take(iterator, 5)
        for ranks, size in ((1, 12), (2, 6), (3, 4), (6, 2)):
            rows = []
            for rank in range(ranks):
                resumed = iter(self.source.shard(ranks, rank).batch(size))
                resumed.load_state_dict(iterators[2].state_dict())
                rows.append(next(resumed).tolist())
            expected = list(self.source.epoch(0))[60:72]
            got = [rows[i % ranks][i // ranks] for i in range(12)]
            self.assertEqual(got, expected)

    def test_a_shard_that_drops_the_remainder_is_part_of_the_plan(self):
        state = iter(self.source.shard(2, 0, drop_remainder=True)).state_dict()
        with self.assertRaisesRegex(rp.InvalidArgumentError, "shard"):
            iter(self.source.shard(3, 0, drop_remainder=True)).load_state_dict(state)


if __name__ == "__main__":
    unittest.main()
