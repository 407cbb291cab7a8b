"""Batches are lent: what Python holds is never overwritten, and memory is used again."""

import gc
import queue
import resource
import threading
import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest


class Leases(FilesTest):
    def batches(self, count=200):
        return (
            rp.tfrecords(self.examples(count))
            .parse(
                {
                    "id": rp.FixedLenFeature([], "int64"),
                    "box": rp.FixedLenFeature([2], "float32"),
                    "tokens": rp.RaggedFeature("int64"),
                }
            )
            .repeat(5)
            .batch(10)
        )

    def test_kept_batches_keep_their_values(self):
        kept = []
        for i, batch in enumerate(self.batches()):
            if i % 10 == 0:
                kept.append(
                    (
                        batch,
                        {
                            name: np.array(getattr(column, "values", column))
                            for name, column in batch.items()
                        },
                    )
                )
        self.assertEqual(len(kept), 10)
        for batch, copy in kept:
            for name, column in batch.items():
                np.testing.assert_array_equal(getattr(column, "values", column), copy[name])

    def test_a_view_of_a_column_keeps_the_batch(self):
        expected = [batch["tokens"][3].tolist() for batch in self.batches()]
        views = [batch["tokens"][3][:] for batch in self.batches()]
        gc.collect()
        self.assertEqual([view.tolist() for view in views], expected)

    def test_a_closed_iterator_keeps_no_spare_memory(self):
        values = 10**6
        path = self.folder / "large.tfrecord"
        rp.write_tfrecords(path, [{"x": np.full(values, 0.5, "float32")}] * 8)
        dataset = rp.tfrecords(path).parse({"x": rp.FixedLenFeature([values], "float32")})

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        iterator = iter(dataset.batch(1).with_options(threads=1))
        batches = list(iterator)
        del batches[1:]
        before = resident()
        iterator.close()
        del iterator
        self.assertLess(resident(), before - 5 * 4 * values)
        self.assertEqual(float(batches[0]["x"].sum()), values / 2)

    def test_memory_is_used_again(self):
        iterator = iter(self.batches())
        for batch in iterator:
            del batch
        counts = iterator.stats()
        self.assertEqual(counts["batches"], 100)
        self.assertEqual(counts["batches_held"], 0)
        self.assertLess(counts["batches_allocated"], 10)
        hoarding = iter(self.batches())
        held = list(hoarding)
        self.assertEqual(hoarding.stats()["batches_held"], 100)
        self.assertEqual(hoarding.stats()["batches_allocated"], 100)
        held.clear()
        self.assertEqual(hoarding.stats()["batches_held"], 0)

    def test_splits_that_a_user_changes_stay_in_their_batch(self):
        expected = [batch["tokens"].to_list() for batch in self.batches()]
        for i, batch in enumerate(self.batches().with_options(threads=1)):
            self.assertEqual(batch["tokens"].to_list(), expected[i])
            batch["tokens"].row_splits[:] = 10**15
            del batch

    def test_integers_are_numpys_int64(self):
        batch = next(iter(self.batches()))
        for array in (batch["id"], batch["tokens"].values, batch["tokens"].row_splits):
            self.assertIs(type(array[0]), np.int64)

    def test_lent_batches_do_not_count_for_memory_limit(self):
        limited = self.batches().with_options(threads=1, memory_limit=200_000)
        batch = next(iter(limited))
        size = sum(getattr(column, "values", column).nbytes for column in batch.values())
        held = list(limited.repeat(20))
        self.assertGreater(len(held) * size, 2 * 200_000)

    def test_arrays_are_writable_aligned_and_outlive_the_iterator(self):
        iterator = iter(self.batches())
        batch = next(iterator)
        iterator.close()
        del iterator
        gc.collect()
        for column in (batch["id"], batch["box"], batch["tokens"].values):
            self.assertTrue(column.flags.writeable)
            self.assertTrue(column.flags.c_contiguous)
            self.assertEqual(column.ctypes.data % 64, 0)
            column[...] = 1
        self.assertEqual(next(iter(self.batches()))["id"].tolist(), list(range(10)))
        self.assertEqual(np.from_dlpack(batch["id"]).tolist(), [1] * 10)
        self.assertEqual(memoryview(batch["box"]).shape, (10, 2))

    def test_what_is_written_to_a_batch_does_not_reach_the_next(self):
        def columns(batch):
            tokens = batch["tokens"]
            return {"id": batch["id"], "box": batch["box"], 1: tokens.values, 2: tokens.row_splits}

        expected = [{k: v.tolist() for k, v in columns(batch).items()} for batch in self.batches()]
        for batch, values in zip(self.batches(), expected, strict=True):
            self.assertEqual({k: v.tolist() for k, v in columns(batch).items()}, values)
            for array in columns(batch).values():
                array[...] = 99

    def test_columns_without_values(self):
        path = records.write(
            self.folder / "empty.tfrecord", [records.example({"id": [i]}) for i in range(40)]
        )
        dataset = rp.tfrecords(path).parse(
            {"tokens": rp.RaggedFeature("int64"), "names": rp.RaggedFeature("bytes")}
        )
        for batch in dataset.batch(10):
            self.assertEqual(batch["tokens"].to_list(), [[]] * 10)
            self.assertEqual(batch["names"].to_list(), [[]] * 10)
            self.assertEqual(np.from_dlpack(batch["tokens"].values).shape, (0,))
            self.assertEqual(bytes(batch["tokens"].values), b"")

    def test_bytes_hold_no_batch(self):
        iterator = iter(
            rp.tfrecords(self.examples(40))
            .parse({"name": rp.FixedLenFeature([], "bytes")})
            .batch(10)
        )
        batches = list(iterator)
        self.assertEqual(batches[3]["name"][9], b"name 39")
        self.assertEqual(iterator.stats()["batches_held"], 0)

    def test_arrays_can_not_be_resized(self):
        batch = next(iter(self.batches()))
        for array in (batch["box"], batch["tokens"].values, batch["tokens"].row_splits):
            with self.assertRaises(ValueError):
                array.resize((1_000_000,), refcheck=False)
        self.assertEqual(batch["box"].tolist()[1], [1.25, 1.5])

    def test_a_view_of_a_view_after_an_error_and_close(self):
        path = self.examples(40)
        data = bytearray(path.read_bytes())
        data[-20] ^= 1
        path.write_bytes(data)
        iterator = iter(
            rp.tfrecords(path).parse({"box": rp.FixedLenFeature([2], "float32")}).batch(10)
        )
        views = []
        with self.assertRaises(rp.DataLossError):
            for batch in iterator:
                views.append(batch["box"][::-1].T[1][2:].reshape(2, 4)[1])
        del batch
        self.assertEqual(iterator.stats()["batches_held"], 3)
        for i, view in enumerate(views):
            self.assertEqual(view.tolist(), [10 * i + k + 0.5 for k in (3, 2, 1, 0)])
        del view
        kept = views.pop()
        views.clear()
        self.assertEqual(iterator.stats()["batches_held"], 1)
        iterator.close()
        del iterator
        gc.collect()
        self.assertEqual(kept.tolist(), [20 + k + 0.5 for k in (3, 2, 1, 0)])

    def test_other_threads_free_arrays(self):
        lent = queue.Queue(maxsize=6)
        wrong = []

        def check():
            while (item := lent.get()) is not None:
                box, expected = item
                if box.tolist() != expected:
                    wrong.append(expected)
                del item, box

        threads = [threading.Thread(target=check) for _ in range(4)]
        for thread in threads:
            thread.start()
        for batch in self.batches().repeat(5):
            lent.put((batch["box"][1:], batch["box"][1:].tolist()))
        for _ in threads:
            lent.put(None)
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_threads_share_an_iterator(self):
        iterator = iter(self.batches())
        seen = []

        def take():
            for batch in iterator:
                seen.append(int(batch["id"][0]))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(seen), sorted(int(b["id"][0]) for b in self.batches()))

    def test_iterators_may_be_dropped_at_any_time(self):
        for taken in range(20):
            iterator = iter(self.batches().map(lambda batch: batch).prefetch())
            for _ in range(taken):
                next(iterator)
            del iterator
        self.assertEqual(len(list(self.batches())), 100)


if __name__ == "__main__":
    unittest.main()
