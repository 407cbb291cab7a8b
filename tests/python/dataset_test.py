"""Operators, lengths, epochs and pickles of a Dataset."""

import dataclasses
import functools
import os
import pathlib
import pickle
import unittest
import warnings

import numpy as np
import recordpipe as rp
from recordpipe._plan import plan
from support import FilesTest


def double(x):
    return 2 * x


counted_elements = []


def counted(x):
    counted_elements.append(x)
    return x


class Dataset(FilesTest):
    def test_records_are_bytes(self):
        path = self.numbered(5)
        self.assertEqual(list(rp.tfrecords(path)), [b"0", b"1", b"2", b"3", b"4"])
        self.assertEqual(list(rp.tfrecords([path, str(path)]).skip(3).take(3)), [b"3", b"4", b"0"])

    def test_patterns(self):
        for i in range(3):
            self.numbered(2, f"part-{i}.tfrecord", first=10 * i)
        pattern = str(self.folder / "part-*.tfrecord")
        self.assertEqual(list(rp.tfrecords(pattern)), [b"0", b"1", b"10", b"11", b"20", b"21"])
        self.assertEqual(
            list(rp.tfrecords(pattern, cycle_length=2, block_length=1)),
            [b"0", b"10", b"1", b"11", b"20", b"21"],
        )
        with self.assertRaises(rp.NotFoundError):
            rp.tfrecords(self.folder / "nothing-*")

    def test_patterns_leave_indexes_out(self):
        files = rp.write_tfrecords(self.folder / "x", [b"0", b"1", b"2"], shards=2, index=True)
        (self.folder / "x-3.idx").write_bytes(pathlib.Path(files[0]).read_bytes())
        expected = [b"0", b"2", b"1", b"0", b"2"]  # x-3.idx is the index of no file
        pattern = str(self.folder / "x-*")
        self.assertEqual(list(rp.tfrecords(pattern)), expected)
        self.assertEqual(rp.tfrecords(pattern)[:], expected)
        self.assertEqual(len(list(rp.tfrecords(pattern, cycle_length=2))), 5)
        self.assertEqual(rp.info(pattern).records, 5)

    def test_paths_of_any_bytes(self):
        name = os.fsencode(self.folder) + b"/\xff\xfe.tfrecord"
        pathlib.Path(os.fsdecode(name)).write_bytes(self.numbered(3).read_bytes())
        for path in (name, os.fsdecode(name), pathlib.Path(os.fsdecode(name)), [name]):
            self.assertEqual(list(rp.tfrecords(path)), [b"0", b"1", b"2"])
            self.assertEqual(rp.tfrecords(path)[2], b"2")
            self.assertEqual(len(list(rp.tfrecords(path, cycle_length=2))), 3)
        cached = rp.tfrecords(name).cache(name + b".cache")
        self.assertEqual(list(cached), [b"0", b"1", b"2"])
        self.assertTrue(os.path.exists(name + b".cache"))
        (written,) = rp.write_tfrecords(name + b".out", [b"x"])
        self.assertEqual(os.fsencode(written), name + b".out")
        self.assertEqual(list(rp.tfrecords(written)), [b"x"])
        with self.assertRaises(rp.NotFoundError) as raised:
            list(rp.tfrecords(name + b".missing"))
        self.assertEqual(raised.exception.path, os.fsdecode(name + b".missing"))

    def test_what_is_no_path(self):
        for path in (None, 3, [3]):
            with self.assertRaises(TypeError):
                rp.tfrecords(path)
        (self.folder / "a").write_bytes(b"")
        with self.assertRaisesRegex(ValueError, "null bytes"):
            rp.tfrecords(str(self.folder / "a") + "\0b")

    def test_range_beyond_int64(self):
        ends = (-(2**63), 2**63 - 1, 2**62)
        self.assertEqual(list(rp.range(*ends)), list(range(*ends)))
        for bounds in ((2**70,), (0, 2**63), (-(2**63) - 1, 0), (0, 10, 2**64)):
            with self.assertRaisesRegex(ValueError, r"range\(\) takes integers from -2\*\*63"):
                rp.range(*bounds)

    def test_functions(self):
        dataset = rp.from_list(range(10))
        self.assertEqual(list(dataset.map(double)), [2 * i for i in range(10)])
        self.assertEqual(list(dataset.filter(lambda x: x % 3 == 0)), [0, 3, 6, 9])
        self.assertEqual(list(dataset.take(3).flat_map(range)), [0, 0, 1])
        self.assertEqual(
            list(dataset.scan(0, lambda s, x: (s + x, s + x))), [0, 1, 3, 6, 10, 15, 21, 28, 36, 45]
        )
        self.assertEqual(list(dataset.take(2).enumerate(5)), [(5, 0), (6, 1)])
        self.assertEqual(
            list(dataset.window(4, 3)), [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9], [9]]
        )
        self.assertEqual(
            list(rp.zip(dataset, dataset.map(double), dataset.skip(8))), [(0, 0, 8), (1, 2, 9)]
        )
        self.assertEqual(
            list(rp.from_list([3, 2]).interleave(lambda n: rp.from_list([n] * n), cycle_length=2)),
            [3, 2, 3, 2, 3],
        )
        self.assertEqual(list(rp.from_generator(lambda: (x * x for x in range(4)))), [0, 1, 4, 9])

    def test_batches_of_python_objects(self):
        dataset = rp.from_list(range(5))
        self.assertEqual([b.tolist() for b in dataset.batch(2)], [[0, 1], [2, 3], [4]])
        self.assertEqual(
            [b.tolist() for b in dataset.batch(2, drop_remainder=True)], [[0, 1], [2, 3]]
        )
        rows = rp.from_list([{"a": i, "b": (np.arange(2) + i, str(i))} for i in range(3)])
        batch = next(iter(rows.batch(3)))
        self.assertEqual(batch["a"].tolist(), [0, 1, 2])
        self.assertEqual(batch["b"][0].tolist(), [[0, 1], [1, 2], [2, 3]])
        self.assertEqual(batch["b"][1].tolist(), ["0", "1", "2"])
        self.assertEqual([row["b"][1] for row in rows.batch(2).unbatch()], ["0", "1", "2"])
        uneven = rp.from_list([{"x": np.arange(i)} for i in (1, 3)])
        with self.assertRaisesRegex(ValueError, "key 'x'.*shapes"):
            list(uneven.batch(2))
        padded = next(iter(uneven.padded_batch(2, padding=-1)))
        self.assertEqual(padded["x"].tolist(), [[0, -1, -1], [0, 1, 2]])

    def test_bytes_are_batched_whole(self):
        values = [b"a\0", b"bcd\0\0", b""]
        for dataset in (rp.from_list(values), rp.from_list(values).map(lambda value: value)):
            self.assertEqual(next(iter(dataset.batch(3))).tolist(), values)
            self.assertEqual(next(iter(dataset.padded_batch(3))).tolist(), values)

    def test_batches_of_several_types_are_refused(self):
        for rows in ([1, "a"], ["a", 1], [(1,), 2], [{"a": 1}, 2], [2, (1,)]):
            with self.assertRaisesRegex(ValueError, "elements: rows have"):
                list(rp.from_list(rows).batch(2))
        with self.assertRaisesRegex(ValueError, "key 'x': setting an array element"):
            list(rp.from_list([{"x": 1}, {"x": (1, (2, 3))}]).batch(2))
        with self.assertRaisesRegex(ValueError, "key 'x': rows have the types int, str"):
            list(rp.from_list([{"x": 1}, {"x": "a"}]).batch(2))

    def test_lengths(self):
        path = self.numbered(10)
        dataset = rp.tfrecords(path)
        self.assertEqual(len(dataset), 10)
        self.assertEqual(len(dataset.repeat(3).batch(4)), 8)
        with self.assertRaisesRegex(TypeError, "infinite"):
            len(dataset.repeat())
        with self.assertRaisesRegex(TypeError, "unknown"):
            len(dataset.filter(bool))
        self.assertTrue(dataset.filter(bool))

    def test_epochs(self):
        dataset = (
            rp.from_list(range(50))
            .shuffle(seed=4)
            .map_with_random(lambda x, rng: (x, rng.random()), seed=1)
        )
        repeated = list(dataset.repeat(3))
        self.assertEqual([x for k in range(3) for x in dataset.epoch(k)], repeated)
        self.assertNotEqual(repeated[:50], repeated[50:100])
        with self.assertWarnsRegex(UserWarning, "epoch"):
            list(dataset)
            list(dataset)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in range(3):
                list(dataset.epoch(k))
            ordered = rp.from_list(range(3))
            list(ordered)
            list(ordered)

    def test_padded_batches_of_parsed_records(self):
        features = {
            "id": rp.FixedLenFeature([], "int64"),
            "tokens": rp.RaggedFeature("int64"),
            "name": rp.RaggedFeature("bytes"),
        }
        rows = rp.tfrecords(self.examples(3)).parse(features)
        batch = next(iter(rows.padded_batch(3, padding=-1)))
        self.assertEqual(batch["tokens"].tolist(), [[-1, -1], [0, -1], [0, 1]])
        self.assertEqual(batch["id"].tolist(), [0, 1, 2])
        rp.write_tfrecords(
            self.folder / "names", [{"tokens": [1]}, {"tokens": [], "name": [b"a", b"b"]}]
        )
        parsed = rp.tfrecords(self.folder / "names").parse(features | {"id": features["tokens"]})
        for made in (parsed, parsed.filter(lambda row: True)):
            batch = next(iter(made.padded_batch(2, padding=-1)))
            self.assertEqual(batch["tokens"].tolist(), [[1], [-1]])
            self.assertEqual(batch["name"].tolist(), [[b"", b""], [b"a", b"b"]])
            batch = next(iter(made.padded_batch(2, padding={"name": b"?"})))
            self.assertEqual(batch["tokens"].tolist(), [[1], [0]])
            self.assertEqual(batch["name"].tolist(), [[b"?", b"?"], [b"a", b"b"]])
            with self.assertRaisesRegex(ValueError, "'name': padding -1 is no bytes"):
                next(iter(made.padded_batch(2, padding={"name": -1})))
        batch = next(iter(rows.padded_batch(3)))
        self.assertEqual(batch["tokens"].tolist(), [[0, 0], [0, 0], [0, 1]])
        self.assertEqual(batch["name"].tolist(), [[b"name 0"], [b"name 1"], [b"name 2"]])
        no_key = "names 'N', which is no key; there are "
        for elements in (rows, rows.filter(lambda row: True)):
            buckets = functools.partial(elements.bucket_by_sequence_length, "tokens", [3], [2, 2])
            for name, made in (
                ("padding", elements.padded_batch(3, padding={"N": -1})),
                ("padded_shapes", buckets(padded_shapes={"N": 3})),
                ("padding_values", buckets(padding_values={"N": 3})),
            ):
                with self.assertRaisesRegex(ValueError, f"{name} {no_key}"):
                    list(made)
        with self.assertRaisesRegex(ValueError, no_key):
            list(rows.select(["tokens"]).pack_sequences({"tokens": 8}, padding_values={"N": 1}))
        state = iter(rows.padded_batch(3, padding=1)).state_dict()
        with self.assertRaises(rp.InvalidArgumentError):
            iter(rows.padded_batch(3, padding=2)).load_state_dict(state)

    def test_batches_of_parsed_records_behind_a_filter(self):
        rp.write_tfrecords(
            self.folder / "tensors",
            [
                {
                    "id": [i],
                    "tokens": [*range(i % 3)],
                    "name": [b"n"] * (i % 2),
                    "tensor": rp.serialize_tensor(np.ones((i % 4, 2), np.float32)),
                }
                for i in range(7)
            ],
        )
        features = {
            "id": rp.FixedLenFeature([], "int64"),
            "tokens": rp.RaggedFeature("int64"),
            "name": rp.VarLenFeature("bytes"),
            "tensor": rp.TensorFeature([None, 2], "float32"),
        }
        rows = rp.tfrecords(self.folder / "tensors").parse(features)
        for kept in (rows.filter(lambda row: True), rows.shuffle(1).filter(bool).take(7)):
            for found, expected in rp.zip(kept.batch(3), rows.batch(3)):
                self.assertEqual([*found], [*expected])
                np.testing.assert_array_equal(found["id"], expected["id"])
                for name in ("tokens", "name", "tensor"):
                    self.assertEqual(found[name], expected[name])
                    self.assertEqual(found[name].dtype, expected[name].dtype)

    def test_rows_that_are_raggeds_are_stacked(self):
        one = rp.Ragged(np.arange(3), np.array([0, 2, 3]))
        both = next(iter(rp.from_list([one, one[:1]]).batch(2)))
        self.assertEqual(both.to_list(), [[[0, 1], [2]], [[0, 1]]])

    def test_padding_that_the_values_cannot_be(self):
        for values, padding in (
            ([[1], [1, 2]], 0.5),
            ([[True], [True, False]], 2),
            ([[1], [1, 2]], 2**70),
            ([np.float16([1]), np.float16([1, 2])], 1e10),
            ([["a"], ["a", "b"]], "long"),
        ):
            arrays = rp.from_list([np.array(value) for value in values])
            with self.assertRaisesRegex(ValueError, "padding"):
                list(arrays.padded_batch(2, padding=padding))

    def test_rows_of_several_dtypes_are_no_batch(self):
        mixed = rp.from_list([{"x": np.int64(1)}, {"x": np.float32(2)}])
        with self.assertRaisesRegex(ValueError, "'x'.*float32 and int64"):
            list(mixed.batch(2))

    def test_shuffle_true_is_refused(self):
        # PyTorch's shuffle=True, which would be a buffer of one element.
        with self.assertRaisesRegex(TypeError, r"shuffle\(seed=\.\.\.\)"):
            rp.from_list(range(50)).shuffle(True)

    def test_passes_that_repeat_nothing_do_not_warn(self):
        dataset = rp.from_list(range(50)).shuffle(seed=4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            in_epoch_3 = iter(dataset.epoch(3))
            seen = [next(in_epoch_3) for _ in range(10)]
            closed = iter(dataset)
            closed.close()
            list(closed)
            resumed = iter(dataset)
            resumed.load_state_dict(in_epoch_3.state_dict())
            self.assertEqual(seen + list(resumed), list(dataset.epoch(3)))
            first = iter(dataset)  # the first pass in epoch 0
            next(first)
            state = first.state_dict()
            rest = list(first)
            resumed = iter(dataset)
            resumed.load_state_dict(state)
            self.assertEqual(list(resumed), rest)
        with self.assertWarnsRegex(UserWarning, "epoch") as caught:
            for _ in dataset:
                pass
        self.assertEqual(caught.filename, __file__)
        self.assertEqual(len(caught.warnings), 1)

    def test_what_is_computed_before_shard(self):
        calls = []

        def count(x):
            calls.append(x)
            return x

        mapped = rp.from_list(range(32)).map(count)
        for whole, computed in (
            (mapped, 8),
            (mapped.batch(2), 8),
            (mapped.shuffle(4).enumerate(), 8),
            (mapped.prefetch(2), 32),
            (mapped.filter(lambda _: True), 32),
            (mapped.window(2), 32),
        ):
            calls.clear()
            list(whole.shard(4, 0))
            self.assertEqual(len(calls), computed, whole.explain())

    def test_one_array_keeps_its_batch_and_a_copy_does_not(self):
        features = {
            "id": rp.FixedLenFeature([], "int64"),
            "box": rp.FixedLenFeature([2], "float32"),
        }
        with iter(rp.tfrecords(self.examples(40)).parse(features).batch(4)) as iterator:
            kept = [next(iterator)["id"] for _ in range(5)]
            self.assertEqual(iterator.stats()["batches_held"], 5)
            kept = [array.copy() for array in kept]
            self.assertEqual(iterator.stats()["batches_held"], 0)
            self.assertEqual([array[0] for array in kept], [0, 4, 8, 12, 16])

    def test_a_count_of_minus_one_means_what_it_means_in_tf_data(self):
        dataset = rp.from_list(range(3))
        self.assertEqual(list(dataset.take(-1)), [0, 1, 2])
        self.assertEqual(list(dataset.skip(-1)), [])
        self.assertEqual(list(dataset.repeat(-1).take(7)), [0, 1, 2, 0, 1, 2, 0])
        self.assertEqual(dataset.repeat(-1).take(-1).cardinality(), rp.INFINITE_CARDINALITY)
        for call in (dataset.take, dataset.skip, dataset.repeat):
            with self.assertRaises((TypeError, ValueError)):
                call(-2)

    def test_threads_do_not_change_elements(self):
        path = self.numbered(300)
        dataset = (
            rp.tfrecords(path)
            .shuffle(64, seed=5)
            .map_with_random(lambda x, rng: (x, int(rng.integers(1000))), seed=2)
            .batch(7)
        )

        def elements(threads):
            return [
                (a.tolist(), b.tolist())
                for a, b in dataset.with_options(threads=threads, chunk_size=5)
            ]

        self.assertEqual(elements(1), elements(3))

    def test_pickles(self):
        path = self.numbered(20)
        dataset = (
            rp.tfrecords(path)
            .shuffle(8, seed=1)
            .map(len, name="len")
            .repeat(2)
            .batch(3)
            .prefetch(2)
            .epoch(1)
        )
        copy = pickle.loads(pickle.dumps(dataset))
        self.assertEqual(copy.explain(), dataset.explain())
        self.assertEqual([b.tolist() for b in copy], [b.tolist() for b in dataset])
        both = pickle.loads(
            pickle.dumps(rp.zip(dataset, rp.sample_from_datasets([dataset, dataset])))
        )
        self.assertEqual(len(list(both.take(2))), 2)

    def test_thousands_of_operators(self):
        dataset = rp.tfrecords(self.numbered(3)).map(int)
        for i in range(1000):
            dataset = dataset.take(5).map(lambda x, i=i: x + i)
        chain = rp.tfrecords(self.numbered(3))
        for _ in range(2000):
            chain = chain.take(2)
        copy = pickle.loads(pickle.dumps(chain))
        self.assertEqual(copy.explain(), chain.explain())
        self.assertEqual(list(copy), [b"0", b"1"])
        self.assertEqual(list(dataset), [sum(range(1000)) + i for i in range(3)])
        self.assertIn("more operators", repr(dataset))
        parsed = rp.tfrecords(self.examples(3)).parse({"id": rp.FixedLenFeature([], "int64")})
        for _ in range(2000):
            parsed = parsed.take(2)
        parsed.__arrow_c_schema__()
        with self.assertRaisesRegex(rp.LimitExceededError, "4096 operators in a row"):
            for _ in range(4096):
                chain = chain.skip(0)

    def test_a_plan_is_data(self):
        def function(x, _):
            return x

        dataset = rp.range(10).shuffle(4, seed=1).take(5).map_with_random(function, 7)
        self.assertEqual(
            [(each.method, *vars(each).values()) for each in dataset._operators[:2]],
            [("shuffle", 4, 1), ("take", 5)],
        )
        with self.assertRaises(dataclasses.FrozenInstanceError):
            dataset._operators[1].count = 6
        old_name = rp.range(10).shuffle(4, seed=1).take(5).random_map(function, 7)
        self.assertEqual(old_name.explain(), dataset.explain())

    def test_a_pass_does_not_change_its_dataset(self):
        dataset = rp.range(10).shuffle(4, seed=1)

        def attributes():
            return [getattr(dataset, name) for name in plan.Plan.__slots__[1:]]

        before = attributes()
        list(dataset)
        for one, other in zip(before, attributes(), strict=True):
            self.assertIs(one, other)
        with self.assertWarnsRegex(UserWarning, "epoch"):
            list(dataset)

    def test_a_shard_that_comes_last_has_the_states_of_every_other(self):
        parsed = rp.tfrecords(self.examples(12)).parse({"id": rp.FixedLenFeature([], "int64")})

        def after_two(dataset):
            iterator = iter(dataset)
            ids = [next(iterator)["id"] for _ in range(2)]
            return ids, iterator.state_dict()

        for last in (lambda ds: ds, lambda ds: ds.prefetch().with_options(threads=1)):
            ids, state = after_two(last(parsed.shard(3, 1)))
            self.assertEqual(ids, [1, 4])
            iterator = iter(last(parsed.shard(2, 0)))
            iterator.load_state_dict(state)
            self.assertEqual([row["id"] for row in iterator], [6, 8, 10])
        _, state = after_two(parsed.shard(3, 1).take(4))  # take() compares the shard
        with self.assertRaisesRegex(rp.InvalidArgumentError, "shard"):
            iter(parsed.shard(2, 0).take(4)).load_state_dict(state)

    def test_pickles_share_what_is_cached(self):
        cached = rp.from_list([1, 2]).map(counted).cache()
        a, b = pickle.loads(pickle.dumps((cached.take(1), cached.map(abs).take(2))))
        self.assertEqual((list(b), list(a), list(b)), ([1, 2], [1], [1, 2]))
        self.assertEqual(counted_elements, [1, 2])

    def test_files_that_appear_after_a_pattern_was_expanded_are_no_part(self):
        for i in range(2):
            self.numbered(2, f"part-{i}.tfrecord", first=2 * i)
        dataset = rp.tfrecords(str(self.folder / "part-*"))
        pickled = pickle.dumps(dataset)
        self.numbered(2, "part-2.tfrecord", first=4)
        expected = [b"0", b"1", b"2", b"3"]
        copy = pickle.loads(pickled)
        for same in (dataset, copy, dataset.shuffle(2).repeat(1)):
            self.assertEqual(sorted(same), expected)
        self.assertEqual(copy[:], expected)
        self.assertEqual(dataset[:], expected)
        self.assertEqual(len(pickle.loads(pickle.dumps(copy))), 4)

    def test_generators(self):
        rng_values = list(
            rp.from_list([0] * 1000).map_with_random(lambda _, rng: rng.random(), seed=9)
        )
        self.assertTrue(all(0 <= x < 1 for x in rng_values))
        self.assertAlmostEqual(float(np.mean(rng_values)), 0.5, delta=0.05)
        normal = list(
            rp.from_list([0] * 1000).map_with_random(lambda _, rng: rng.standard_normal(3), seed=9)
        )
        self.assertAlmostEqual(float(np.std(normal)), 1, delta=0.05)

    def test_describes_itself(self):
        text = repr(rp.tfrecords(self.numbered(3)).shuffle(10, seed=1).batch(2))
        self.assertIn("shuffle", text)
        self.assertIn("batch", text)

    def test_caches(self):
        calls = []
        dataset = rp.from_list(range(4)).map(lambda x: calls.append(x) or x).cache()
        self.assertEqual(list(dataset), list(dataset))
        self.assertEqual(sorted(calls), [0, 1, 2, 3])
        path = self.numbered(3)
        cached = rp.tfrecords(path).cache(self.folder / "cache")
        self.assertEqual(list(cached), [b"0", b"1", b"2"])
        self.assertTrue((self.folder / "cache").exists())


if __name__ == "__main__":
    unittest.main()
