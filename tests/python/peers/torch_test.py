"""recordpipe.torch in torch's DataLoader, and Loader."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import copy
import json
import pickle
import signal
import subprocess
import sys
import unittest
import warnings

from peers import require

require("torch")

import numpy as np
import recordpipe as rp
import recordpipe.torch as rpt
import torch
from support import FilesTest
from torch.utils.data import DataLoader


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


class TorchTest(FilesTest):
    def setUp(self):
        super().setUp()
        warnings.filterwarnings("ignore", "This DataLoader will create")

    def batches(self, count=53):
        parsed = rp.tfrecords(self.examples(count)).parse(
            {
                "id": rp.FixedLenFeature([], "int64"),
                "name": rp.FixedLenFeature([], "bytes"),
                "box": rp.FixedLenFeature([2], "float32"),
                "tokens": rp.RaggedFeature("int64"),
            }
        )
        return parsed.shuffle(16, seed=3).batch(4).prefetch()


class Tensors(TorchTest):
    def test_a_batch_is_tensors_lists_and_ragged(self):
        expected = next(iter(self.batches().epoch(0)))
        batch = next(iter(rpt.Dataset(self.batches())))
        self.assertEqual(batch["box"].dtype, torch.float32)
        self.assertEqual(batch["box"].tolist(), expected["box"].tolist())
        self.assertEqual(batch["name"], expected["name"].tolist())
        tokens = batch["tokens"]
        self.assertEqual(tokens.values.tolist(), expected["tokens"].values.tolist())
        self.assertEqual(tokens.row_splits.tolist(), expected["tokens"].row_splits.tolist())
        rows = [row.tolist() for row in tokens.to_nested().unbind()]
        self.assertEqual(rows, expected["tokens"].to_list())

    def test_recordpipe_alone_does_not_import_torch(self):
        program = "import sys, recordpipe; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", program], check=False).returncode, 0)

    def test_shares_memory_with_the_array(self):
        array = np.zeros((3, 2), np.float32)
        tensor = rpt.tensors({"x": array})["x"]
        tensor[1, 1] = 5
        self.assertEqual(array[1, 1], 5)

    def test_arrays_of_functions(self):
        fixed = np.arange(4)
        fixed.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = rpt.tensors((fixed, np.arange(4)[::-1], [np.array(["a"])], 3, None))
        self.assertEqual(made[0].tolist(), [0, 1, 2, 3])
        self.assertEqual(made[1].tolist(), [3, 2, 1, 0])
        self.assertEqual(made[2:], ([["a"]], 3, None))

    def test_kept_batches_are_not_overwritten(self):
        loader = rpt.Loader(self.batches(400).repeat(10))
        kept = [
            (batch["box"], batch["box"].clone()) for i, batch in enumerate(loader) if i % 10 == 0
        ]
        self.assertEqual(len(kept), 100)
        for tensor, saved in kept:
            self.assertTrue(torch.equal(tensor, saved))


class Workers(TorchTest):
    def test_the_stream_is_equal_at_any_number_of_workers(self):
        expected = ids(self.batches().epoch(2))
        data = rpt.Dataset(self.batches())
        data.set_epoch(2)
        for workers in (0, 1, 2, 3):
            with self.subTest(workers=workers):
                loader = DataLoader(data, batch_size=None, num_workers=workers)
                self.assertEqual(ids(loader), expected)
                self.assertEqual(len(loader), 14)

    def test_set_epoch_reaches_persistent_workers(self):
        for method in ("fork", "spawn", "forkserver"):
            data = rpt.Dataset(self.batches())
            loader = DataLoader(
                data,
                batch_size=None,
                num_workers=2,
                persistent_workers=True,
                multiprocessing_context=method,
            )
            for epoch in range(3):
                with self.subTest(method=method, epoch=epoch):
                    data.set_epoch(epoch)
                    self.assertEqual(ids(loader), ids(self.batches().epoch(epoch)))

    def test_a_repeated_pass_warns(self):
        def count(loader, *epochs):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for epoch in epochs:
                    if epoch is not None:
                        data.set_epoch(epoch)
                    ids(loader)
            return sum("repeats the order" in str(warning.message) for warning in caught)

        for workers in (0, 2):
            with self.subTest(workers=workers):
                data = rpt.Dataset(self.batches())
                loader = DataLoader(data, batch_size=None, num_workers=workers)
                self.assertEqual(count(loader, 0, 1, 2), 0)
                # (The warnings of workers are in their processes.)
                self.assertEqual(count(loader, None, None), 0 if workers else 2)
                self.assertEqual(count(loader, 3), 0)
        # The workers that go on after a break end their pass after set_epoch().
        loader = DataLoader(data, batch_size=None, num_workers=2, persistent_workers=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # also in the workers
            for epoch in range(10, 14):
                data.set_epoch(epoch)
                for number, _ in enumerate(loader):
                    if number == len(loader) - 3:
                        break
        # A pass that goes on repeats nothing.
        data = rpt.Dataset(self.batches())
        half = iter(data)
        next(half)
        state = half.state_dict()
        ids(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = iter(data)
            again.load_state_dict(state)
            self.assertEqual(len(list(again)), 13)
        parsed = rp.tfrecords(self.examples(9)).parse({"id": rp.FixedLenFeature([], "int64")})
        data = rpt.Dataset(parsed.batch(4))  # nothing is random
        self.assertEqual(count(DataLoader(data, batch_size=None), None, None), 0)

    def test_a_repeated_pass_warns_in_a_worker(self):
        data = rpt.Dataset(self.batches())
        loader = DataLoader(data, batch_size=None, num_workers=2)
        ids(loader)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "call set_epoch"):
                ids(loader)

    def test_ranks_divide_elements_and_workers_batches(self):
        seen = []
        parsed = rp.tfrecords(self.examples(53)).parse({"id": rp.FixedLenFeature([], "int64")})
        for rank in range(3):
            batches = parsed.shuffle(seed=1).shard(3, rank).batch(4)
            loader = DataLoader(rpt.Dataset(batches), batch_size=None, num_workers=2)
            seen += [i for batch in ids(loader) for i in batch]
        self.assertEqual(sorted(seen), list(range(53)))

    def test_len_of_an_unknown_number_is_a_type_error(self):
        unknown = rpt.Dataset(rp.from_list([1, 2, 3]).filter(bool).batch(2))
        with self.assertRaises(TypeError):
            len(unknown)
        self.assertEqual(
            [batch.tolist() for batch in DataLoader(unknown, batch_size=None)], [[1, 2], [3]]
        )

    def test_workers_have_one_thread_unless_the_user_sets_it(self):
        threads = rpt._options(rpt._for_worker(self.batches(), 2, 0))
        self.assertEqual(threads["threads"], 1)
        limited = self.batches().with_options(memory_limit=2**30).prefetch()
        self.assertEqual(
            rpt._options(rpt._for_worker(limited, 2, 0)),
            {"threads": 1, "chunk_size": 64, "memory_limit": 2**30},
        )
        chosen = self.batches().with_options(threads=3)
        self.assertEqual(rpt._options(rpt._for_worker(chosen, 2, 0))["threads"], 3)

    def test_errors_of_workers_keep_their_attributes(self):
        # The DataLoader makes a new error of the class, from a traceback.
        path = self.examples(20)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        parsed = rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], "int64")})
        names = ("kind", "path", "offset", "reason", "hint")
        for data, options in (
            (rpt.Dataset(parsed.batch(4)), {"batch_size": None}),
            (rpt.MapDataset(parsed), {"batch_size": 4}),
        ):
            errors = []
            for workers in (0, 1):
                with self.assertRaises(rp.DataLossError) as caught:
                    list(DataLoader(data, num_workers=workers, **options))
                errors.append(caught.exception)
            own, carried = ([getattr(error, name) for name in names] for error in errors)
            self.assertEqual(carried, own)
            self.assertEqual(carried[:2], ["corrupted", str(path)])
            self.assertIn("in DataLoader worker process 0", str(errors[1]))
            self.assertNotIn('"offset"', str(errors[1]))

    def test_workers_compute_only_their_batches(self):
        plan = rpt._for_worker(self.batches(), 2, 1).explain().splitlines()
        self.assertEqual(plan[-3:-1], ["shard(2, index=1)", "prefetch()"])

    def test_resumes_at_any_number_of_workers(self):
        whole = ids(self.batches().epoch(1))
        iterator = iter(self.batches().epoch(1))
        for _ in range(5):
            next(iterator)
        data = rpt.Dataset(self.batches())
        for workers in (0, 1, 3):
            data.resume(iterator.state_dict())
            self.assertEqual(data.epoch, 1)
            loader = DataLoader(data, batch_size=None, num_workers=workers)
            self.assertEqual(ids(loader), whole[5:])
            self.assertEqual(ids(loader), whole)
        data.set_epoch(2)
        self.assertEqual(ids(DataLoader(data, batch_size=None)), ids(self.batches().epoch(2)))

    def test_pickles_and_copies(self):
        data = pickle.loads(pickle.dumps(rpt.Dataset(self.batches())))
        data = copy.deepcopy(data)
        data.set_epoch(1)
        self.assertEqual(ids(data), ids(self.batches().epoch(1)))


class Map(TorchTest):
    def test_loads_by_sampler(self):
        parsed = rp.tfrecords(self.examples(20)).parse(
            {"id": rp.FixedLenFeature([], "int64"), "box": rp.FixedLenFeature([2], "float32")}
        )
        data = rpt.MapDataset(parsed)
        self.assertEqual(len(data), 20)
        for workers in (0, 2):
            loader = DataLoader(data, batch_size=6, shuffle=True, num_workers=workers)
            batches = list(loader)
            self.assertEqual(sorted(i for batch in ids(batches) for i in batch), list(range(20)))
            for batch in batches:
                self.assertTrue(torch.equal(batch["box"][:, 0], batch["id"] + 0.25))

    def test_records(self):
        data = rpt.MapDataset(rp.tfrecords(self.numbered(5)))
        self.assertEqual(data[torch.tensor(3)], b"3")
        self.assertEqual(data.__getitems__([4, 0]), [b"4", b"0"])

    def test_refuses_what_has_no_random_access(self):
        with self.assertRaises(TypeError):
            rpt.MapDataset(rp.tfrecords(self.numbered(5)).shuffle(2))


class Loaders(TorchTest):
    def test_each_pass_is_the_next_epoch(self):
        loader = rpt.Loader(self.batches())
        self.assertEqual(len(loader), 14)
        for epoch in range(3):
            self.assertEqual(loader.epoch, epoch)
            self.assertEqual(ids(loader), ids(self.batches().epoch(epoch)))
        iter(loader)  # of which nothing is taken
        next(iter(loader))
        self.assertEqual(loader.epoch, 3)
        self.assertEqual(ids(loader), ids(self.batches().epoch(4)))

    def test_an_iterator_of_which_nothing_is_taken_changes_nothing(self):
        loader = rpt.Loader(self.batches())
        expected = ids(self.batches().epoch(0))
        early = iter(loader)
        running = iter(loader)
        got = [next(running)["id"].tolist() for _ in range(3)]
        iter(loader)
        state = loader.state_dict()
        self.assertEqual((got, loader.epoch), (expected[:3], 0))
        resumed = rpt.Loader(self.batches())
        early = iter(resumed)
        resumed.load_state_dict(state)
        iter(resumed)
        # It begins now: it is the first pass after load_state_dict().
        self.assertEqual([batch["id"].tolist() for batch in early], expected[3:])
        self.assertEqual(ids(resumed), ids(self.batches().epoch(1)))
        self.assertEqual([batch["id"].tolist() for batch in running], expected[3:])

    def test_killed_anywhere_in_three_epochs(self):
        expected = [ids(self.batches().epoch(epoch)) for epoch in range(3)]
        total = sum(len(batches) for batches in expected)
        for place in range(total + 1):
            for after_pass in (False, True):  # a state saved in the loop, or after it
                got = [[], [], []]
                state, given = None, 0
                loader = rpt.Loader(self.batches())
                state = loader.state_dict()
                for epoch in range(3):
                    for batch in loader:
                        if given == place:
                            break
                        got[epoch].append(batch["id"].tolist())
                        given += 1
                        state = loader.state_dict()
                    else:
                        if after_pass:
                            state = loader.state_dict()
                        continue
                    break
                resumed = rpt.Loader(self.batches())
                resumed.load_state_dict(json.loads(json.dumps(state)))
                for epoch in range(resumed.epoch, 3):
                    got[epoch] += ids(resumed)
                with self.subTest(place=place, after_pass=after_pass):
                    self.assertEqual(got, expected)

    def test_set_epoch_keeps_a_restored_place_in_the_epoch(self):
        loader = rpt.Loader(self.batches())
        next(iter(loader))
        for epoch in (0, 5):
            loader.set_epoch(epoch)
            self.assertEqual(loader.epoch, epoch)
            self.assertEqual(ids(loader), ids(self.batches().epoch(epoch)))
        running = iter(loader)
        got = [next(running)["id"].tolist() for _ in range(len(loader))]
        end = loader.state_dict()  # of epoch 6, before its StopIteration
        loader = rpt.Loader(self.batches())
        next(iter(loader))
        state = loader.state_dict()
        for place, epoch, expected in (
            (state, 0, ids(self.batches().epoch(0))[1:]),
            (state, 1, ids(self.batches().epoch(1))),
            (end, 6, []),
            (end, 7, ids(self.batches().epoch(7))),
        ):
            loader.load_state_dict(place)
            loader.set_epoch(epoch)
            self.assertEqual(ids(loader), expected)
        self.assertEqual(got, ids(self.batches().epoch(6)))

    def test_an_exception_during_the_conversion_loses_no_batch(self):
        loader = rpt.Loader(self.batches())
        whole = ids(loader)
        loader = rpt.Loader(self.batches())
        got = []
        with self.assertRaises(KeyboardInterrupt):
            for batch in loader:
                got.append(batch["id"].tolist())
                if len(got) == 2:
                    loader._current._pass._set_conversion(self.interrupt)
        state = loader.state_dict()
        self.assertEqual(state["position"], 2)
        loader._current._pass._set_conversion(rpt.tensors)
        self.assertEqual(next(loader._current)["id"].tolist(), whole[2])
        loader.load_state_dict(state)
        self.assertEqual(got + ids(loader), whole)

    def interrupt(self, _):
        signal.raise_signal(signal.SIGINT)
        self.fail("no KeyboardInterrupt")

    def test_keeps_its_place_if_a_state_is_refused(self):
        loader = rpt.Loader(self.batches())
        iterator = iter(loader)
        next(iterator)
        with self.assertRaises(rp.InvalidArgumentError):
            loader.load_state_dict(iter(rp.from_list([1])).state_dict())
        self.assertEqual(ids(iterator), ids(self.batches().epoch(0))[1:])

    def test_pins_memory_where_there_is_cuda(self):
        batch = next(iter(rpt.Loader(self.batches(), pin_memory=True)))
        self.assertEqual(batch["box"].is_pinned(), torch.cuda.is_available())


if __name__ == "__main__":
    unittest.main()
