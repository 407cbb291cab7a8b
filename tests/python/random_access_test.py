"""dataset[i]: records by number."""

import gc
import gzip
import threading
import unittest
import weakref

import numpy as np
import recordpipe as rp
from support import FilesTest


class RandomAccess(FilesTest):
    def test_records_of_several_files(self):
        paths = [self.numbered(3, "a"), self.numbered(0, "empty"), self.numbered(4, "b", first=10)]
        dataset = rp.tfrecords(paths)
        everything = list(dataset)
        self.assertEqual([dataset[i] for i in range(7)], everything)
        self.assertEqual([dataset[i - 7] for i in range(7)], everything)
        self.assertEqual(dataset[1:6:2], everything[1:6:2])
        self.assertEqual(
            dataset.__getitems__([6, 0, -1, 3, 3]), [everything[i] for i in (6, 0, 6, 3, 3)]
        )
        self.assertEqual(dataset.__getitems__([]), [])
        many = [3 * i % 7 for i in range(100)]  # more than are prefetched at a time
        self.assertEqual(dataset.__getitems__(many), [everything[i] for i in many])
        for index in (7, -8):
            with self.assertRaises(IndexError):
                dataset[index]

    def test_parsed_rows(self):
        dataset = rp.tfrecords(self.examples(10)).parse(
            {
                "id": rp.FixedLenFeature([], "int64"),
                "box": rp.FixedLenFeature([2], "float32"),
                "tokens": rp.RaggedFeature("int64"),
            }
        )
        for i, row in enumerate(dataset):
            for found in (dataset[i], dataset.__getitems__([0, i])[1]):
                self.assertEqual(
                    {name: value.tolist() for name, value in found.items()},
                    {name: value.tolist() for name, value in row.items()},
                )

    def test_everything_that_has_places(self):
        records = rp.tfrecords([self.numbered(3, "a"), self.numbered(4, "b", first=10)])
        numbers = rp.range(20)
        parsed = rp.tfrecords(self.examples(10)).parse({"id": rp.FixedLenFeature([], "int64")})
        for dataset in (
            records.take(5),
            records.skip(2).take(9),
            records.shard(2, 1),
            records.map(len).enumerate(3),
            records.concatenate(records.skip(1)),
            records.prefetch().with_options(threads=1),
            rp.zip(records, numbers.map(str)),
            numbers.map_with_random(lambda x, rng: (x, rng.random()), 7).epoch(3),
            parsed.take(4),
            parsed.shard(3, 2),
            parsed.map(lambda row: int(row["id"])),
            numbers.batch(3).map(list),
            numbers.batch(3, drop_remainder=True).skip(1).map(list),
        ):
            with self.subTest(dataset.explain()):
                everything = list(dataset)
                self.assertEqual([dataset[i] for i in range(len(dataset))], everything)
                self.assertEqual(dataset[::-1], everything[::-1])
                self.assertEqual(
                    dataset.__getitems__([2, -1, 2]), [everything[i] for i in (2, -1, 2)]
                )
                with self.assertRaises(IndexError):
                    dataset[len(everything)]

    def test_a_function_may_fail_and_may_ask_for_other_elements(self):
        numbers = rp.range(10).map(lambda x: 6 // x)
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                numbers[0]
            self.assertEqual(numbers[3], 2)
        fibonacci = rp.range(10).map(lambda n: n if n < 2 else fibonacci[n - 1] + fibonacci[n - 2])
        self.assertEqual(fibonacci[9], 34)

    def test_threads(self):
        records = rp.tfrecords(self.numbered(1000))
        wrong = []

        def read(dataset, first):
            for i in range(first, 1000, 4):
                if dataset[i] != str(i).encode():
                    wrong.append(i)

        for dataset in (records, records.take(2000).map(lambda record: record)):
            threads = [threading.Thread(target=read, args=(dataset, first)) for first in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_says_what_has_no_random_access(self):
        path = self.numbered(3)
        records = rp.tfrecords(path)
        for dataset in (
            records.filter(len),
            records.map(len).window(2),
            records.shuffle(seed=1),
        ):
            with self.assertRaisesRegex(TypeError, "by number.*skip"):
                dataset[0]
        with self.assertRaisesRegex(TypeError, "random access, which shuffle does not have"):
            records.shuffle(seed=1)[0]
        with self.assertRaisesRegex(rp.InvalidArgumentError, r"of shuffle .*\(shuffle once, or"):
            records.shuffle(seed=1).batch(2).shuffle(seed=2)
        with self.assertRaisesRegex(TypeError, "epoch"):
            records.map_with_random(lambda record, rng: rng.random(), 7)[0]
        (self.folder / "z.gz").write_bytes(gzip.compress(path.read_bytes()))
        with self.assertRaises(rp.UnsupportedError):
            rp.tfrecords(self.folder / "z.gz")[0]

    def test_batches(self):
        parsed = rp.tfrecords(self.examples(10)).parse({"id": rp.FixedLenFeature([], "int64")})
        batches = parsed.batch(4)
        expected = [batch["id"].tolist() for batch in batches]
        self.assertEqual([batches[i]["id"].tolist() for i in range(len(batches))], expected)
        shuffled = [batch["id"].tolist() for batch in batches.shuffle(seed=1)]
        self.assertNotEqual(shuffled, expected)
        self.assertEqual(sorted(shuffled), expected)
        rows = parsed.map(lambda row: int(row["id"]))
        self.assertEqual(sorted(rows.shuffle(seed=1)), list(rows))

    def test_no_large_element_outlives_its_user(self):
        rows = []

        def array(number):
            row = np.full(1 << 16, number)
            rows.append(weakref.ref(row))
            return row

        batches = rp.range(4).map(array).batch(2)
        batch = weakref.ref(batches[1])
        gc.collect()
        self.assertEqual([batch(), *(row() for row in rows)], [None] * 3)

    def test_elements_of_a_list(self):
        elements = [{"a": 1}, None, "text", b"x", 2.5]
        dataset = rp.from_list(elements)
        self.assertEqual(len(dataset), 5)
        self.assertEqual([dataset[i] for i in range(-5, 5)], elements * 2)
        self.assertIs(dataset[0], elements[0])
        self.assertEqual(dataset[3:0:-2], [b"x", None])
        self.assertEqual(dataset.__getitems__([4, 0]), [2.5, {"a": 1}])
        for index in (5, -6):
            with self.assertRaises(IndexError):
                dataset[index]
        with self.assertRaises(IndexError):
            rp.from_list([])[0]

    def test_damage(self):
        path = self.numbered(4)
        data = bytearray(path.read_bytes())
        data[17 + 12] ^= 1
        path.write_bytes(data)
        dataset = rp.tfrecords(path)
        self.assertEqual(dataset[2], b"2")
        with self.assertRaises(rp.DataLossError) as raised:
            dataset[1]
        self.assertEqual(raised.exception.offset, 17)


if __name__ == "__main__":
    unittest.main()
