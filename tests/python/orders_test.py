"""Orders are a function of seed and epoch wherever they are drawn; lost sources are everyone's."""

import gzip
import unittest

import recordpipe as rp
from support import FilesTest

NUMBERS = rp.from_list(range(40))


def shuffles(seed=7):
    """Each operator that draws an order."""
    yield NUMBERS.shuffle(8, seed=seed)
    yield NUMBERS.shuffle(seed=seed)
    yield rp.sample_from_datasets([NUMBERS, NUMBERS.map(lambda x: -x)], seed=seed)
    yield NUMBERS.repeat(2).shuffle(8, seed=seed)


class Orders(unittest.TestCase):
    def test_the_same_wherever_they_stand(self):
        for dataset in shuffles():
            for epoch in (0, 1, 5):
                alone = [*dataset.epoch(epoch)]
                count = len(alone)

                def in_epoch(made, epoch=epoch):
                    return [*made.epoch(epoch)]

                self.assertEqual(
                    in_epoch(
                        rp.zip(NUMBERS.repeat().shuffle(3, seed=1), dataset).map(lambda p: p[1])
                    ),
                    alone,
                )
                self.assertEqual(in_epoch(dataset.concatenate(dataset)), alone * 2)
                self.assertEqual(in_epoch(NUMBERS.shuffle(5).concatenate(dataset))[40:], alone)
                chosen = rp.choose_from_datasets(
                    [NUMBERS, dataset], rp.from_list([1] * count), stop_on_empty_dataset=False
                )
                self.assertEqual(in_epoch(chosen)[:count], alone)
                mixed = rp.sample_from_datasets([dataset, NUMBERS], [1, 0])
                self.assertEqual(in_epoch(mixed), alone)
                nested = rp.zip(rp.zip(dataset, dataset).map(lambda p: p[0]), dataset)
                self.assertEqual(in_epoch(nested), [(x, x) for x in alone])
                self.assertEqual(
                    in_epoch(rp.zip(dataset.repeat(2), dataset.repeat(2))),
                    [(x, x) for x in dataset.repeat(2).epoch(epoch)],
                )

    def test_two_shuffles_of_one_seed_pair_their_elements(self):
        images, labels = NUMBERS, NUMBERS.map(lambda x: f"label {x}")
        for options in ({"seed": 7}, {"buffer_size": 10, "seed": 7}):
            pairs = rp.zip(images.shuffle(**options), labels.shuffle(**options))
            for image, label in pairs:
                self.assertEqual(label, f"label {image}")
            other = rp.zip(images.shuffle(seed=7), labels.shuffle(seed=8))
            self.assertTrue(any(label != f"label {image}" for image, label in other))

    def test_in_datasets_that_functions_make(self):
        """Of interleave(): by the number of the element, too; of flat_map(): in their own epoch."""

        def made(_):
            return NUMBERS.shuffle(seed=7)

        def parts(dataset, epoch):
            elements = [*dataset.epoch(epoch)]
            return [elements[i : i + 40] for i in range(0, len(elements), 40)]

        elements = rp.from_list(["a", "b"])
        orders = [parts(elements.interleave(made, 1), epoch) for epoch in (0, 1)]
        self.assertEqual(len({tuple(order) for pair in orders for order in pair}), 4)
        others = rp.from_list(["c"]).interleave(made, 1)
        self.assertEqual(parts(others, 0), orders[0][:1])
        for epoch in (0, 1):
            self.assertEqual(
                parts(elements.flat_map(made), epoch), [[*NUMBERS.shuffle(seed=7)]] * 2
            )

    def test_random_numbers_of_elements_differ_between_inputs(self):
        drawn = NUMBERS.map_with_random(lambda x, rng: rng.random(), seed=3)
        for a, b in rp.zip(drawn, drawn):
            self.assertNotEqual(a, b)


class LostSources(FilesTest):
    """A file that ends with an error is an error of all workers."""

    def setUp(self):
        super().setUp()
        self.cut = self.numbered(10, "a", first=100)
        self.cut.write_bytes(self.cut.read_bytes()[: 3 * 19 + 5])
        self.whole = self.numbered(10, "b", first=200)
        self.records = rp.tfrecords([self.cut, self.whole], cycle_length=2)

    def check(self, dataset, least=0):
        for options in ({}, {"threads": 1, "chunk_size": 1}, {"chunk_size": 3}):
            iterator = iter(dataset.with_options(**options))
            seen = []
            with self.assertRaises(rp.DataLossError) as raised:
                for element in iterator:
                    seen.append(element)
            self.assertEqual(raised.exception.path, str(self.cut))
            self.assertGreaterEqual(len(seen), least)

    def test_every_worker_raises(self):
        for workers in (1, 2, 3, 7):
            for index in range(workers):
                with self.subTest(workers=workers, index=index):
                    shard = self.records.shard(workers, index)
                    self.check(shard)
                    self.check(shard.prefetch())
                    self.check(shard.batch(2))
                    self.check(self.records.shard(workers, index, drop_remainder=True))
                    self.check(self.records.batch(2).shard(workers, index))
                    self.check(rp.zip(self.records, rp.range(99)).shard(workers, index))
                    self.check(self.records.filter(bool).shard(workers, index))
                    self.check(self.records.flat_map(lambda x: [x]).shard(workers, index))
                    self.check(self.records.shard(2, 0).shard(workers, index))

    def test_what_is_skipped_raises(self):
        for count in (0, 3, 7, 8, 12):
            self.check(self.records.skip(count))
            self.check(self.records.skip(count).shard(2, 1))
            self.check(self.records.skip(2).skip(count))

    def test_a_batch_that_is_left_out_raises(self):
        for size in (3, 5, 30):
            self.check(self.records.batch(size, drop_remainder=True))

    def test_the_elements_before_are_yielded(self):
        both = [[], []]
        for index in range(2):
            with self.assertRaises(rp.DataLossError):
                for element in self.records.shard(2, index):
                    both[index].append(element)
        self.assertEqual(both, [[b"100", b"101", b"102"], [b"200", b"201", b"202"]])

    def test_ignored_errors_are_counted_by_every_worker(self):
        found = []
        for index in range(3):
            iterator = iter(self.records.shard(3, index).ignore_errors())
            found += [*iterator]
            self.assertEqual(iterator.stats()["skipped"], 1, index)
        intact = [b"%d" % i for i in (100, 101, 102, *range(200, 210))]
        self.assertEqual(sorted(found), intact)
        skipping = iter(self.records.skip(12).ignore_errors())
        self.assertEqual([*skipping], [b"208", b"209"])
        self.assertEqual(skipping.stats()["skipped"], 1)

    def test_states_beside_a_lost_source(self):
        for dataset in (
            self.records.shard(2, 1).ignore_errors(),
            self.records.skip(3).ignore_errors(),
            self.records.batch(2).shard(2, 0).ignore_errors(),
        ):
            expected = [repr(element) for element in dataset]
            for place in range(len(expected) + 1):
                iterator = iter(dataset)
                for _ in range(place):
                    next(iterator)
                restored = iter(dataset.with_options(chunk_size=1))
                restored.load_state_dict(iterator.state_dict())
                self.assertEqual([repr(element) for element in restored], expected[place:])


class FlatMapOverFiles(FilesTest):
    """flat_map() over files yields what interleave() does, and loses nothing without an error."""

    def setUp(self):
        super().setUp()
        self.ok = self.numbered(10, "ok.tfrecord", first=100)
        whole = self.numbered(10, "whole.tfrecord", first=10).read_bytes()
        size = len(whole) // 10
        wrong_length, wrong_data = bytearray(whole), bytearray(whole)
        wrong_length[3 * size] ^= 1
        wrong_data[3 * size + 12] ^= 1
        self.damaged = {}
        for name, content in (
            ("cut", whole[:-3]),
            ("length", wrong_length),
            ("data", wrong_data),
            ("cut.gz", gzip.compress(whole)[:-12]),
            ("data.gz", gzip.compress(wrong_data)),
        ):
            self.damaged[name] = self.folder / name
            self.damaged[name].write_bytes(content)
        self.damaged["missing"] = self.folder / "missing"

    @staticmethod
    def outcome(dataset):
        """The elements before the error, and its type and path."""
        elements = []
        try:
            for element in dataset:
                elements.append(repr(element))
        except rp.Error as error:
            return elements, type(error), error.path
        return elements, None, None

    def chains(self, records):
        for workers in (1, 2, 3):
            for index in range(workers):
                shard = records.shard(workers, index)
                yield shard
                yield shard.ignore_errors()
                yield shard.map(lambda x: x).batch(2)
                yield records.batch(2).shard(workers, index)
                yield records.batch(2).unbatch().shard(workers, index)
                yield records.filter(bool).shard(workers, index)
                yield records.cache().shard(workers, index)
                yield records.scan(0, lambda state, x: (state, x)).shard(workers, index)
                yield records.shuffle(100, seed=1).shard(workers, index).map(lambda x: 0)
        for count in (0, 2, 5, 11, 18):
            yield records.skip(count)
            yield records.skip(count).ignore_errors()
            yield records.repeat(2).skip(count)
        yield records.batch(40, drop_remainder=True)

    def test_as_interleave(self):
        for name, damaged in self.damaged.items():
            paths = rp.from_list([str(damaged), str(self.ok)])
            pairs = zip(
                self.chains(paths.flat_map(rp.tfrecords)),
                self.chains(paths.interleave(rp.tfrecords, 1)),
                strict=True,
            )
            for flat, interleaved in pairs:
                with self.subTest(name, chain=flat.explain()):
                    self.assertEqual(self.outcome(flat), self.outcome(interleaved))

    def test_what_was_lost(self):
        paths = rp.from_list([str(self.damaged["cut"]), str(self.ok)])
        records = paths.flat_map(rp.tfrecords)
        ten = [repr(b"%d" % i) for i in range(10, 19)]
        self.assertEqual(self.outcome(records)[0], ten)
        self.assertEqual(self.outcome(records.shard(2, 1))[0], ten[1:8:2])
        for chain in (records.shard(2, 0), records.shard(2, 1), records.skip(5), records.skip(11)):
            self.assertEqual(self.outcome(chain)[1:], (rp.DataLossError, str(self.damaged["cut"])))
        iterator = iter(records.ignore_errors())
        self.assertEqual(len([*iterator]), 19)
        self.assertEqual(iterator.stats()["skipped"], 1)

    def test_a_generator_that_raises(self):
        def numbers(first):
            yield from (first, first + 1, first + 2)
            if first == 10:
                raise KeyError("no more")

        for options in ({}, {"threads": 1, "chunk_size": 1}):
            all_numbers = rp.from_list([0, 10, 20]).flat_map(numbers).with_options(**options)
            for dataset, before in (
                (all_numbers, [0, 1, 2, 10, 11, 12]),
                (all_numbers.shard(2, 1), [1, 10, 12]),
                (all_numbers.shard(2, 1).ignore_errors(), [1, 10, 12]),
                (all_numbers.skip(8), []),
                (all_numbers.skip(8).ignore_errors(), []),
            ):
                seen = []
                with self.assertRaisesRegex(KeyError, "no more"):
                    for number in dataset:
                        seen.append(number)
                self.assertEqual(seen[: len(before)], before)

    def test_states_inside_of_a_file(self):
        paths = rp.from_list(
            [str(self.damaged["data"]), str(self.damaged["missing"]), str(self.ok)]
        )
        records = paths.flat_map(rp.tfrecords).ignore_errors()
        expected = [*records]
        self.assertEqual(len(expected), 19)
        for place in range(20):
            iterator = iter(records)
            for _ in range(place):
                next(iterator)
            restored = iter(records.with_options(chunk_size=1, threads=1))
            restored.load_state_dict(iterator.state_dict())
            self.assertEqual([*restored], expected[place:])

    def test_the_epoch_of_a_dataset(self):
        shuffled = rp.range(20).shuffle(20, seed=1)
        for dataset in (shuffled.epoch(0), shuffled.epoch(3)):
            self.assertEqual([*rp.range(2).flat_map(lambda _, d=dataset: d)], 2 * [*dataset])


class Sources(FilesTest):
    def test_range(self):
        for bounds in ((5,), (2, 9), (9, 2, -3), (0,)):
            self.assertEqual([*rp.range(*bounds)], [*range(*bounds)])
        self.assertEqual(len(rp.range(10)), 10)
        self.assertEqual(rp.range(10)[3], 3)
        self.assertEqual(sorted(rp.range(100).shuffle(seed=1)), [*range(100)])
        with self.assertRaises((ValueError, rp.Error)):
            rp.range(1, 2, 0)
        state = iter(rp.range(10)).state_dict()
        with self.assertRaisesRegex(rp.InvalidArgumentError, "range"):
            iter(rp.range(11)).load_state_dict(state)

    def test_list_files(self):
        paths = [
            str(self.numbered(3, f"{name}.tfrecord", first)) for name, first in (("a", 0), ("b", 3))
        ]
        files = rp.list_files(self.folder)
        self.assertEqual([*files], paths)
        self.assertEqual(sorted(files.shuffle(seed=3)), paths)
        self.assertEqual([*files.interleave(rp.tfrecords, 1)], [b"%d" % i for i in range(6)])
        with self.assertRaises(FileNotFoundError):
            rp.list_files(self.folder / "none-*")

    def test_interleaved_files_are_parsed(self):
        paths = [self.examples(4, "a"), self.examples(3, "b", first=4)]
        features = {"id": rp.FixedLenFeature([], "int64"), "tokens": rp.RaggedFeature("int64")}
        parsed = rp.from_list(paths).interleave(rp.tfrecords, 1).parse(features)
        direct = rp.tfrecords(paths).parse(features)
        for found, expected in rp.zip(parsed.batch(3), direct.batch(3)):
            self.assertEqual(found["id"].tolist(), expected["id"].tolist())
            self.assertEqual(found["tokens"], expected["tokens"])
        direct = rp.tfrecords(paths, cycle_length=16).parse(features)
        mixed = rp.list_files(paths).interleave(rp.tfrecords).parse(features)
        self.assertEqual([row["id"] for row in mixed], [row["id"] for row in direct])
        unpacked = rp.tfrecords(paths).map(lambda record: bytes(record)).parse(features)
        self.assertEqual([row["id"] for row in unpacked], [*range(7)])
        with self.assertRaisesRegex(TypeError, "bytes of a record, not int"):
            list(rp.from_list([1]).parse(features))
        with self.assertRaisesRegex(rp.NotFoundError, f"{paths[1]}.*missing"):
            list(
                rp.from_list(paths[1:])
                .interleave(rp.tfrecords, 1)
                .parse({"none": rp.FixedLenFeature([], "int64")})
            )

    def test_with_origin(self):
        a, b = self.examples(3, "a"), self.examples(2, "b", first=3)
        origins = [(str(a), 0), (str(a), 1), (str(a), 2), (str(b), 0), (str(b), 1)]
        features = {"id": rp.FixedLenFeature([], "int64")}
        packed = self.folder / "c.gz"
        packed.write_bytes(gzip.compress(a.read_bytes()))
        records = rp.tfrecords([a, b])
        for dataset in (
            records,
            records.parse(features),
            records.filter(lambda record: True),
            records.map(len),
        ):
            self.assertEqual([(p, n) for _, p, n in dataset.with_origin()], origins)
            shuffled = [(p, n) for _, p, n in dataset.shuffle(3).with_origin()]
            self.assertEqual(sorted(shuffled), origins)
        for row, path, number in records.parse(features).shuffle(seed=1).with_origin():
            self.assertEqual(row["id"], number + (3 if path == str(b) else 0))
        numbers = [n for _, _, n in rp.tfrecords([packed, a]).skip(1).with_origin()]
        self.assertEqual(numbers, [1, 2, 0, 1, 2])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "batch"):
            records.parse(features).batch(2).with_origin()
        with self.assertRaisesRegex(rp.UnsupportedError, "with_origin"):
            list(rp.from_list([1]).with_origin())


if __name__ == "__main__":
    unittest.main()
