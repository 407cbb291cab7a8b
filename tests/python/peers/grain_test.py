"""Grain: sources of MapDataset and DataLoader, IterDatasets with states, threads and processes."""

import asyncio
import copy
import json
import pathlib
import pickle
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np
import recordpipe as rp
from support import FilesTest

try:
    import grain
    from absl import flags
except ImportError:
    grain = None
else:
    flags.FLAGS.mark_as_parsed()  # Grain's worker processes read them
needs_grain = unittest.skipIf(grain is None, "grain is not installed")

FEATURES = {
    "id": rp.FixedLenFeature([], "int64"),
    "name": rp.FixedLenFeature([], "bytes"),
    "box": rp.FixedLenFeature([2], "float32"),
    "tokens": rp.RaggedFeature("int64"),
}


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


def add_one(batch):
    return {**batch, "id": batch["id"] + 1}


@needs_grain
class Import(unittest.TestCase):
    def test_recordpipe_imports_grain_at_its_first_use(self):
        code = (
            "import sys, recordpipe as rp; assert 'grain' not in sys.modules;"
            "rp.grain.source; assert 'grain' in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        with self.assertRaisesRegex(AttributeError, "no attribute 'grains'"):
            _ = rp.grains


@needs_grain
class Source(FilesTest):
    def paths(self):
        self.numbered(30, "a-0.tfrecord")
        self.numbered(70, "a-1.tfrecord", first=30)
        return str(self.folder / "a-*.tfrecord")

    def test_a_map_dataset_shuffles_all_records(self):
        source = rp.grain.source(self.paths())
        self.assertIsInstance(source, grain.sources.RandomAccessDataSource)
        self.assertEqual((len(source), source[99], source[np.int64(3)]), (100, b"99", b"3"))
        shuffled = [int(x) for x in grain.MapDataset.source(source).shuffle(seed=7)]
        self.assertEqual(sorted(shuffled), list(range(100)))
        self.assertNotEqual(shuffled, sorted(shuffled))
        self.assertGreater(len({x // 30 for x in shuffled[:20]}), 1)  # of both files
        again = grain.MapDataset.source(rp.grain.source(self.paths())).shuffle(seed=7)
        self.assertEqual([int(x) for x in again], shuffled)

    def test_resumes_at_an_index(self):
        dataset = (
            grain.MapDataset.source(rp.grain.source(self.paths()))
            .shuffle(seed=7)
            .map(int)
            .batch(8)
            .to_iter_dataset()
        )
        whole = [batch.tolist() for batch in dataset]
        iterator = iter(dataset)
        for _ in range(5):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))
        other = iter(dataset)
        other.set_state(state)
        self.assertEqual([batch.tolist() for batch in other], whole[5:])

    def test_batched_reads_are_the_same(self):
        source = rp.grain.source(self.paths())
        mapped = grain.MapDataset.source(source)
        self.assertEqual(mapped._getitems([5, 98, 5, 105]), [b"5", b"98", b"5", b"5"])
        self.assertEqual(source._getitems(np.array([5, 98])), [b"5", b"98"])
        self.assertEqual(source._getitems([]), [])

    def test_parsed_rows(self):
        parsed = rp.tfrecords(self.examples(20)).parse(FEATURES)
        source = rp.grain.source(parsed)
        row = source[7]
        self.assertEqual(
            (row["id"], row["name"], row["tokens"].tolist()), (7, b"name 7", [0, 1, 2])
        )
        mapped = grain.MapDataset.source(source).map(
            lambda row: {"id": row["id"], "box": row["box"]}
        )
        batch = mapped.batch(4)[1]
        self.assertEqual(batch["id"].tolist(), [4, 5, 6, 7])
        self.assertEqual(batch["box"].shape, (4, 2))
        rows = source._getitems([7, 0])
        self.assertEqual([row["id"] for row in rows], [7, 0])
        self.assertEqual(rows[0]["tokens"].tolist(), [0, 1, 2])

    def test_threads_read_the_same(self):
        dataset = (
            grain.MapDataset.source(rp.grain.source(self.paths()))
            .shuffle(seed=3)
            .repeat(20)
            .map(int)
        )
        expected = [dataset[i] for i in range(len(dataset))]
        options = grain.ReadOptions(num_threads=16, prefetch_buffer_size=64)
        self.assertEqual(list(dataset.to_iter_dataset(options)), expected)

    def test_processes_read_the_same(self):
        dataset = (
            grain.MapDataset.source(rp.grain.source(self.paths()))
            .shuffle(seed=3)
            .map(int)
            .to_iter_dataset()
        )
        workers = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
        self.assertEqual(list(workers), list(dataset))

    def test_a_data_loader_refuses_the_state_of_other_files(self):
        def loader(pattern):
            source = rp.grain.source(pattern)
            sampler = grain.samplers.IndexSampler(len(source), shuffle=True, seed=1, num_epochs=1)
            return grain.DataLoader(data_source=source, sampler=sampler, worker_count=0)

        pattern = self.paths()
        whole = list(loader(pattern))
        iterator = iter(loader(pattern))
        for _ in range(10):
            next(iterator)
        state = iterator.get_state()
        moved = self.folder / "moved"
        moved.mkdir()
        for path in self.folder.glob("a-*.tfrecord"):
            (moved / path.name).write_bytes(path.read_bytes())
        other = iter(loader(str(moved / "a-*.tfrecord")))
        other.set_state(state)
        self.assertEqual(list(other), whole[10:])
        self.numbered(31, "a-0.tfrecord")
        self.numbered(69, "a-1.tfrecord", first=31)
        with self.assertRaisesRegex(ValueError, "source"):
            iter(loader(pattern)).set_state(state)

    def test_repr_and_pickle(self):
        source = rp.grain.source(self.paths())
        self.assertRegex(repr(source), r"RecordSource\(files=2, records=100, names=[0-9a-f]{16}\)")
        copied = pickle.loads(pickle.dumps(source))
        self.assertEqual((repr(copied), copied[42]), (repr(source), b"42"))
        self.assertEqual(
            grain.MapDataset.source(source).paths,
            [str(self.folder / f"a-{i}.tfrecord") for i in range(2)],
        )

    def test_what_has_no_random_access(self):
        with self.assertRaisesRegex(TypeError, "plain files"):
            rp.grain.source(rp.from_list([1, 2]).map(str))
        with self.assertRaisesRegex(TypeError, "reads files"):
            rp.grain.source(rp.from_list([1, 2]))
        packed = self.folder / "packed.tfrecord.gz"
        with rp.Writer(packed, compression="gzip") as writer:
            writer.write(b"x")
        with self.assertRaisesRegex(rp.UnsupportedError, "packed.tfrecord.gz"):
            len(rp.grain.source(packed))
        with self.assertRaisesRegex(IndexError, "element 100 of 100"):
            _ = rp.grain.source(self.paths())[100]


@needs_grain
class Sequential(FilesTest):
    def dataset(self, count=103):
        return (
            rp.tfrecords(self.examples(count)).parse(FEATURES).shuffle(seed=7).batch(4).prefetch()
        )

    def test_yields_the_dataset(self):
        dataset = self.dataset()
        iterable = rp.grain.IterDataset(dataset)
        self.assertIsInstance(iterable, grain.IterDataset)
        for ours, through in zip(dataset, iterable, strict=True):
            for name in ("id", "name", "box"):
                np.testing.assert_array_equal(ours[name], through[name])
            self.assertEqual(ours["tokens"], through["tokens"])
        with self.assertRaisesRegex(TypeError, r"not str; source\(\) takes paths"):
            rp.grain.IterDataset("a.tfrecord")

    def test_every_state_through_json(self):
        dataset = rp.grain.IterDataset(self.dataset(23)).map(add_one)
        whole = ids(dataset)
        iterator = iter(dataset)
        states = [iterator.get_state()]
        for _ in iterator:
            states.append(iterator.get_state())
        self.assertEqual(len(states), 7)
        kinds = {str({key: type(value) for key, value in state.items()}) for state in states}
        self.assertEqual(len(kinds), 1)
        for place, state in enumerate(states):
            other = iter(dataset)
            next(other)
            other.set_state(json.loads(json.dumps(state)))
            self.assertEqual(grain.experimental.get_next_index(other), place)
            self.assertEqual(ids(other), whole[place:])

    def test_grain_checkpoints(self):
        dataset = rp.grain.IterDataset(self.dataset()).map(add_one)
        whole = ids(dataset)
        iterator = iter(dataset)
        for _ in range(9):
            next(iterator)
        handler = grain.checkpoint.CheckpointHandler()
        handler.save(pathlib.Path(self.folder), item=iterator)
        next(iterator)
        restored = handler.restore(pathlib.Path(self.folder), item=iter(dataset))
        self.assertEqual(ids(restored), whole[9:])

        class Folder:  # as Orbax passes it
            async def await_creation(folder):
                return pathlib.Path(self.folder)

        async def save_and_load():
            await (await iterator.save(Folder()))
            await (await restored.load(pathlib.Path(self.folder)))

        asyncio.run(save_and_load())
        self.assertEqual(ids(restored), whole[10:])

    def test_another_plan_and_changed_files_are_refused(self):
        iterator = iter(rp.grain.IterDataset(self.dataset()))
        next(iterator)
        state = iterator.get_state()
        with self.assertRaisesRegex(rp.InvalidArgumentError, "another plan"):
            iter(rp.grain.IterDataset(self.dataset().batch(2))).set_state(state)
        changed = self.dataset(104)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "examples.tfrecord"):
            iter(rp.grain.IterDataset(changed)).set_state(state)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "not a state"):
            iter(rp.grain.IterDataset(changed)).set_state({"next_index": 3})

    def test_batch_filter_and_random_map(self):
        rows = rp.tfrecords(self.examples(20)).parse({"id": FEATURES["id"], "box": FEATURES["box"]})
        dataset = (
            rp.grain.IterDataset(rows)
            .seed(1)
            .filter(lambda row: row["id"] % 2 == 0)
            .random_map(lambda row, rng: {**row, "noise": rng.random()})
            .batch(4)
        )
        whole = list(dataset)
        self.assertEqual(ids(whole)[:2], [[0, 2, 4, 6], [8, 10, 12, 14]])
        self.assertEqual(whole[0]["box"].shape, (4, 2))
        iterator = iter(dataset)
        next(iterator)
        other = iter(dataset)
        other.set_state(json.loads(json.dumps(iterator.get_state())))
        np.testing.assert_array_equal(next(other)["noise"], whole[1]["noise"])

    def test_a_thread_prefetches(self):
        dataset = rp.grain.IterDataset(self.dataset()).map(add_one)
        whole = ids(dataset)
        threaded = grain.experimental.ThreadPrefetchIterDataset(dataset, prefetch_buffer_size=5)
        self.assertEqual(ids(threaded), whole)
        iterator = iter(threaded)
        for _ in range(6):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))  # of what was returned
        self.assertEqual(next(iterator)["id"].tolist(), whole[6])
        iterator.close()
        other = iter(threaded)
        other.set_state(state)
        self.assertEqual(ids(other), whole[6:])

    def test_processes_divide_it(self):
        dataset = rp.grain.IterDataset(self.dataset()).map(add_one)
        whole = ids(dataset)
        for workers, sequential in [(1, False), (2, False), (3, False), (2, True)]:
            with self.subTest(workers=workers, sequential=sequential):
                options = grain.MultiprocessingOptions(num_workers=workers)
                divided = dataset.mp_prefetch(options, sequential_slice=sequential)
                iterator = iter(divided)
                self.addCleanup(iterator.close)
                elements = list(iterator)
                if sequential:
                    self.assertEqual(sorted(ids(elements)), sorted(whole))
                else:
                    self.assertEqual(ids(elements), whole)
                self.assertEqual(elements[0]["name"].dtype, object)
                self.assertIsInstance(elements[0]["tokens"], rp.Ragged)

    def test_processes_resume_and_repeat(self):
        dataset = rp.grain.IterDataset(self.dataset(23))
        whole = ids(dataset)
        divided = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
        iterator = iter(divided)
        states = [iterator.get_state()]
        for _ in range(3):
            next(iterator)
            states.append(copy.deepcopy(iterator.get_state()))
        for place in (3, 1, 0):  # at 1, one of the workers has not begun
            iterator.set_state(json.loads(json.dumps(states[place])))
            self.assertEqual(ids(iterator), whole[place:])
        iterator.close()
        repeated = iter(grain.experimental.RepeatIterDataset(divided, 2))
        self.assertEqual(ids(repeated), whole * 2)
        repeated.close()

    def test_errors_reach_the_main_process(self):
        path = self.examples(40)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        dataset = rp.grain.IterDataset(rp.tfrecords(path).parse(FEATURES).batch(4))
        iterator = iter(dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)))
        with self.assertRaisesRegex(rp.DataLossError, "examples.tfrecord") as caught:
            list(iterator)
        self.assertEqual(caught.exception.path, str(path))
        self.assertIsNotNone(caught.exception.offset)
        iterator.close()

    def test_a_worker_computes_its_own_elements_only(self):
        calls = []

        def count(batch):
            calls.append(1)
            return batch

        dataset = rp.grain.IterDataset(
            self.dataset().map(count).prefetch(2).with_options(threads=1)
        )
        dataset.set_slice(slice(1, None, 2))
        self.assertEqual(len(list(dataset)), 13)
        self.assertEqual(len(calls), 13)

    def test_close(self):
        dataset = rp.grain.IterDataset(self.dataset()).map(add_one)
        iterator = iter(dataset)
        batch = next(iterator)
        expected = batch["id"].tolist()
        iterator.close()
        iterator.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            next(iterator)
        self.assertEqual(batch["id"].tolist(), expected)
        with self.assertRaisesRegex(ValueError, "skip"):
            grain.experimental.set_next_index(iter(dataset), 3)
        threads = threading.active_count()
        for _ in range(20):
            next(iter(dataset))
        self.assertEqual(threading.active_count(), threads)

    def test_epochs(self):
        dataset = self.dataset()
        self.assertEqual(ids(rp.grain.IterDataset(dataset.epoch(1))), ids(dataset.epoch(1)))
        iterator = iter(rp.grain.IterDataset(dataset.epoch(1)))
        next(iterator)
        other = iter(rp.grain.IterDataset(dataset))
        other.set_state(iterator.get_state())
        self.assertEqual(ids(other), ids(dataset.epoch(1))[1:])


@needs_grain
class Packing(unittest.TestCase):
    def test_rows_are_those_of_grains_first_fit(self):
        import grain.experimental

        elements = [
            {"tokens": np.arange(1 + 7 * i % 11), "labels": np.ones(1 + 3 * i % 5, np.float32)}
            for i in range(200)
        ]
        lengths = {"tokens": 24, "labels": 9}
        theirs = grain.experimental.FirstFitPackIterDataset(
            grain.MapDataset.source(elements).to_iter_dataset(),
            length_struct=lengths,
            num_packing_bins=200,  # nothing is emitted before the end
            shuffle_bins=False,
        )
        ours = rp.from_list(elements).pack_sequences(lengths, open_rows=200)
        # A row that is full is yielded at once, so only the order of the rows differs.
        found, expected = list(ours), list(theirs)
        self.assertEqual(len(found), len(expected))

        def by_content(row):
            return sorted((key, values.tolist()) for key, values in row.items())

        self.assertEqual(sorted(map(by_content, found)), sorted(map(by_content, expected)))


if __name__ == "__main__":
    unittest.main()
