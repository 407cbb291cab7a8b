"""recordpipe.torch.Dataset in torchdata's StatefulDataLoader, and global_state()."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import pickle
import random
import unittest
import warnings

from peers import require

require("torch", "torchdata")

import recordpipe as rp
import recordpipe.torch as rpt
from support import FilesTest
from torchdata.stateful_dataloader import StatefulDataLoader


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


class StatefulTest(FilesTest):
    def setUp(self):
        super().setUp()
        warnings.filterwarnings("ignore", "This DataLoader will create")
        parsed = rp.tfrecords(self.examples(53)).parse({"id": rp.FixedLenFeature([], "int64")})
        # 20 batches of this rank; the last one is smaller.
        self.batches = parsed.shuffle(16, seed=3).repeat(2).shard(2, 1).batch(3).prefetch()
        self.count = len(self.batches)

    def loader(self, workers, data=None, **options):
        data = rpt.Dataset(self.batches) if data is None else data
        return StatefulDataLoader(data, batch_size=None, num_workers=workers, **options)


class RanksOfBatches(StatefulTest):
    """The ranks divide whole batches, and so do their workers."""

    def test_global_state(self):
        batches = rp.from_list(list(range(40))).batch(1)
        for workers, steps in ((0, 1), (1, 3), (2, 1), (2, 3), (3, 2)):
            rank = batches.shard(2, 1)
            options = {"snapshot_every_n_steps": steps} if workers else {}
            loader = self.loader(workers, data=rpt.Dataset(rank), **options)
            got = iter(loader)
            for taken in range(8):
                with self.subTest(workers=workers, steps=steps, taken=taken):
                    resumed = rpt.Loader(rank)
                    resumed.load_state_dict(rpt.global_state(loader.state_dict()))
                    rest = [int(batch[0]) for batch in resumed]
                    self.assertEqual(rest, list(range(1 + 2 * taken, 40, 2)))
                next(got)


class Resume(StatefulTest):
    def train(self, options, state, kill_at, got, saved_after_pass=True):
        """Three epochs, from `state` until batch `kill_at` of all; returns the last state."""
        data = rpt.Dataset(self.batches)
        loader = self.loader(data=data, **options)
        epoch, given, last = 0, 0, None
        if state is not None:
            epoch, given, last = state
            loader.load_state_dict(pickle.loads(pickle.dumps(last)))
        while epoch < 3:
            data.set_epoch(epoch)
            for batch in loader:
                if given == kill_at:
                    return epoch, given, last
                got[epoch].append(batch["id"].tolist())
                given += 1
                last = loader.state_dict()
                state = (epoch, given, last)
            epoch += 1
            if saved_after_pass:
                last = loader.state_dict()
            if given == kill_at:
                return (epoch if saved_after_pass else epoch - 1), given, last
        return epoch, given, last

    def check(self, options, places, **arguments):
        expected = [ids(self.batches.epoch(epoch)) for epoch in range(3)]
        for place in places:
            with self.subTest(options=options, place=place, **arguments):
                got = [[], [], []]
                state = self.train(options, None, place, got, **arguments)
                self.assertEqual(state[1], place)
                self.train(options, state, -1, got)
                self.assertEqual(got, expected)

    def test_without_workers(self):
        places = range(1, 3 * self.count + 1, 3)
        self.check({"workers": 0}, [*places, self.count, 2 * self.count])
        self.check({"workers": 0}, [self.count, 3 * self.count], saved_after_pass=False)

    def test_one_worker(self):
        self.check({"workers": 1}, [1, self.count, self.count + 4])

    def test_two_workers(self):
        options = {"workers": 2}
        self.check(options, [1, 2, self.count - 1, self.count, self.count + 3, 3 * self.count])
        self.check(options, [self.count, 2 * self.count], saved_after_pass=False)

    def test_persistent_workers(self):
        self.check(
            {"workers": 2, "persistent_workers": True},
            [3, self.count, self.count + 4, 2 * self.count],
        )

    def test_snapshots_every_few_steps(self):
        for steps in (3, 5):
            self.check(
                {"workers": 2, "snapshot_every_n_steps": steps}, [1, 7, self.count, self.count + 8]
            )

    def test_resumed_again_and_again(self):
        files = [self.examples(25, f"{i}.tfrecord", first=25 * i) for i in range(4)]
        features = {"id": rp.FixedLenFeature([], "int64")}
        records = rp.tfrecords(files).parse(features)
        cycle = rp.tfrecords(files, cycle_length=3, block_length=2).parse(features)
        pipelines = {
            "batch": records.batch(7),
            "shuffle, batch": records.shuffle(20, seed=42).batch(7),
            "interleave, shuffle, batch": cycle.shuffle(20, seed=42).batch(7).prefetch(),
            "shuffle, repeat, batch": records.shuffle(20, seed=42).repeat(2).batch(7).prefetch(),
        }
        for name, self.batches in pipelines.items():
            expected = [ids(self.batches.epoch(epoch)) for epoch in range(3)]
            self.count = len(expected[0])
            for workers in (0, 1, 2):
                with self.subTest(name=name, workers=workers):
                    got = [[], [], []]
                    state = None
                    for place in (3, 8, self.count + 1, -1):
                        state = self.train({"workers": workers}, state, place, got)
                    self.assertEqual(got, expected)

    def test_the_loop_of_the_help(self):
        def train(workers, state, stop):
            """As help(recordpipe.torch.Dataset) says; stops after `stop` batches of all."""
            data = rpt.Dataset(self.batches)
            loader = self.loader(workers, data)
            if state is not None:
                data.resume(rpt.global_state(state))
            for epoch in range(data.epoch, 3):
                data.set_epoch(epoch)
                for batch in loader:
                    got[epoch].append(batch["id"].tolist())
                    if sum(map(len, got)) == stop:
                        return pickle.loads(pickle.dumps(loader.state_dict()))
            return None

        expected = [ids(self.batches.epoch(epoch)) for epoch in range(3)]
        # In the middle of an epoch, after the last batch of one, and before the last of all.
        places = (2, self.count + 7), (0, 2 * self.count), (3, 3 * self.count - 1), (1, 0)
        for stops in (places, [(2, self.count), (0, 0)]):
            got = [[], [], []]
            state = None
            for workers, stop in stops:
                state = train(workers, state, stop)
            self.assertEqual(got, expected)


class GlobalState(StatefulTest):
    def check(self, workers, place, **options):
        data = rpt.Dataset(self.batches)
        data.set_epoch(1)
        loader = self.loader(workers, data, **options)
        iterator = iter(loader)
        given = [next(iterator)["id"].tolist() for _ in range(place)]
        state = rpt.global_state(loader.state_dict())
        self.assertEqual(state["position"], place)
        whole = ids(self.batches.epoch(1))
        self.assertEqual(given, whole[:place])
        plain = iter(self.batches.epoch(0))
        plain.load_state_dict(state)
        self.assertEqual(ids(plain), whole[place:])
        threads = rpt.Loader(self.batches)
        threads.load_state_dict(state)
        self.assertEqual(threads.epoch, 1)
        self.assertEqual(ids(threads), whole[place:])
        return state, whole

    def test_every_place_without_workers(self):
        for place in range(self.count + 1):
            with self.subTest(place=place):
                self.check(0, place)

    def test_places_with_workers(self):
        generator = random.Random(5)
        for workers in (1, 2, 3, 4):
            for steps in (1, 4):
                for place in generator.sample(range(self.count + 1), 2):
                    with self.subTest(workers=workers, place=place, steps=steps):
                        self.check(workers, place, snapshot_every_n_steps=steps)

    def test_another_number_of_workers_and_back(self):
        state, whole = self.check(3, 7)
        data = rpt.Dataset(self.batches)
        data.resume(state)
        loader = self.loader(2, data)
        iterator = iter(loader)
        got = [next(iterator)["id"].tolist() for _ in range(5)]
        again = loader.state_dict()
        self.assertEqual(got, whole[7:12])
        same = self.loader(2)
        same.load_state_dict(again)
        self.assertEqual(ids(same), whole[12:])
        single = rpt.Loader(self.batches)
        single.load_state_dict(rpt.global_state(again))
        self.assertEqual(ids(single), whole[12:])
        self.assertEqual(ids(single), ids(self.batches.epoch(2)))

    def test_single_rows(self):
        parsed = rp.tfrecords(self.examples(53)).parse({"id": rp.FixedLenFeature([], "int64")})
        self.batches = parsed.shuffle(16, seed=3)
        for workers in (0, 1, 2):
            with self.subTest(workers=workers):
                state, whole = self.check(workers, 11)
                for other in (0, 1, 3):
                    data = rpt.Dataset(self.batches)
                    data.resume(state)
                    self.assertEqual(ids(self.loader(other, data)), whole[11:])

    def test_after_the_end_it_is_the_next_epoch(self):
        for workers in (0, 2, 3):
            with self.subTest(workers=workers):
                loader = self.loader(workers)
                ids(loader)
                state = rpt.global_state(loader.state_dict())
                self.assertEqual(state["position"], 0)
                single = rpt.Loader(self.batches)
                single.load_state_dict(state)
                self.assertEqual(single.epoch, 1)
                self.assertEqual(ids(single), ids(self.batches.epoch(1)))

    def test_only_the_first_pass_is_resumed(self):
        state, whole = self.check(2, 7)
        for workers, options in ((0, {}), (2, {}), (2, {"persistent_workers": True})):
            with self.subTest(workers=workers, options=options):
                data = rpt.Dataset(self.batches)
                data.resume(state)
                loader = self.loader(workers, data, **options)
                self.assertEqual(ids(loader), whole[7:])
                self.assertEqual(ids(loader), whole)

    def test_refuses_workers_out_of_turn(self):
        loader = self.loader(3)
        iterator = iter(loader)
        for _ in range(7):
            next(iterator)
        state = loader.state_dict()
        rpt.global_state(state)
        workers = state["_snapshot"]["_worker_snapshots"]
        workers["worker_0"], workers["worker_1"] = workers["worker_1"], workers["worker_0"]
        with self.assertRaisesRegex(ValueError, "in_order=True"):
            rpt.global_state(state)

    def test_refuses_other_states(self):
        for bad in ({}, {"_snapshot": {}}, {"fetcher_state": None}):
            with self.assertRaisesRegex(ValueError, "StatefulDataLoader"):
                rpt.global_state(bad)


if __name__ == "__main__":
    unittest.main()
