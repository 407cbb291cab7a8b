"""Resuming as training programs do it: again and again, in the middle of shuffle buffers, with
another number of workers or ranks. Other libraries have lost or repeated records in these cases."""

import copy
import json
import random
import unittest

import recordpipe as rp
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
