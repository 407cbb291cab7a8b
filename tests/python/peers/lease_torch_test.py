"""Torch tensors that share memory with batches keep it: nothing is overwritten while one lives."""

import gc
import pathlib
import queue
import sys
import threading
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import leases
import numpy as np
from support import FilesTest

try:
    import torch
except ImportError:
    torch = None

METHODS = {
    "from_numpy": lambda array: torch.from_numpy(array),
    "from_dlpack": lambda array: torch.from_dlpack(array),
}


@unittest.skipIf(torch is None, "torch is not installed")
class TorchLeases(FilesTest):
    def setUp(self):
        super().setUp()
        self.path = leases.write(self.folder / "leases.tfrecord")

    def test_a_thousand_batches(self):
        for method, tensor_of in METHODS.items():
            with self.subTest(method=method), warnings.catch_warnings():
                warnings.simplefilter("error")  # torch warns about arrays that aren't writable
                iterator = iter(leases.dataset(self.path))
                kept = []
                for i, batch in enumerate(iterator):
                    tensors = {k: tensor_of(v) for k, v in leases.columns(batch).items()}
                    if i % 10 == 0:
                        for name, array in leases.columns(batch).items():
                            self.assertEqual(tensors[name].data_ptr(), array.ctypes.data)
                        kept.append((tensors, leases.copies(batch)))
                del batch, tensors, array
                counts = iterator.stats()
                self.assertEqual((counts["batches"], counts["batches_held"]), (1000, 100))
                self.assertLess(counts["batches_allocated"], 120)
                for tensors, copies in kept:
                    for name, copy in copies.items():
                        np.testing.assert_array_equal(tensors[name].numpy(), copy)
                del tensors
                kept.clear()
                gc.collect()
                self.assertEqual(iterator.stats()["batches_held"], 0)

    def test_any_view_of_a_tensor_keeps_its_batch(self):
        kept = []
        for batch in leases.dataset(self.path, 200):
            pixels = torch.from_numpy(batch["pixels"])
            view = pixels.permute(0, 3, 1, 2)[3:9, 1:].flatten(2)[::2]
            row = torch.from_numpy(batch["tokens"][5])
            buffer = memoryview(torch.from_dlpack(batch["box"]).numpy()[1:])
            kept.append((view, row, buffer))
            if len(kept) == 1:
                first = view.clone()
        expected = [
            (
                np.array(batch["pixels"].transpose(0, 3, 1, 2)[3:9, 1:].reshape(6, 2, 256)[::2]),
                np.array(batch["tokens"][5]),
                np.array(batch["box"][1:]),
            )
            for batch in leases.dataset(self.path, 200)
        ]
        self.assertTrue(torch.equal(kept[0][0], first))
        for (view, row, buffer), arrays in zip(kept, expected, strict=True):
            np.testing.assert_array_equal(view.numpy(), arrays[0])
            np.testing.assert_array_equal(row.numpy(), arrays[1])
            np.testing.assert_array_equal(np.asarray(buffer), arrays[2])

    def test_writing_to_a_tensor_changes_its_batch_only(self):
        expected = [leases.copies(batch) for batch in leases.dataset(self.path, 300)]
        for batch, copies in zip(leases.dataset(self.path, 300), expected, strict=True):
            for name, array in leases.columns(batch).items():
                np.testing.assert_array_equal(array, copies[name])
                tensor = torch.from_numpy(array)
                tensor.fill_(77)
                self.assertTrue((array == 77).all())

    def test_the_memory_can_not_be_resized(self):
        batch = next(iter(leases.dataset(self.path, 1)))
        tensor = torch.from_numpy(batch["box"])
        copy = tensor.clone()
        with self.assertRaises(RuntimeError):
            tensor.resize_(10_000_000)
        with self.assertRaises(ValueError):
            batch["box"].resize((10_000_000,), refcheck=False)
        self.assertTrue(torch.equal(torch.from_numpy(batch["box"]), copy))

    def test_other_threads_free_tensors_while_the_pipeline_takes_memory(self):
        lent = queue.Queue(maxsize=6)
        wrong = []

        def check():
            while (item := lent.get()) is not None:
                tensors, copies = item
                for name, copy in copies.items():
                    if not np.array_equal(tensors[name].numpy(), copy):
                        wrong.append(name)
                del item, tensors  # here the memory goes back
                if len(wrong) == 0 and np.random.random() < 0.05:
                    gc.collect()

        threads = [threading.Thread(target=check) for _ in range(4)]
        for thread in threads:
            thread.start()
        iterator = iter(leases.dataset(self.path))
        for batch in iterator:
            arrays = leases.columns(batch)
            lent.put(
                (
                    {name: torch.from_dlpack(array) for name, array in arrays.items()},
                    leases.copies(batch),
                )
            )
        del batch, arrays
        for _ in threads:
            lent.put(None)
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        counts = iterator.stats()
        self.assertEqual(counts["batches_held"], 0)
        self.assertLess(counts["batches_allocated"], 40)

    def test_tensors_outlive_everything(self):
        dataset = leases.dataset(self.path, 20)
        iterator = iter(dataset)
        tensors, copies = [], []
        for batch in iterator:
            tensors.append({k: torch.from_dlpack(v) for k, v in leases.columns(batch).items()})
            copies.append(leases.copies(batch))
            if len(tensors) == 10:
                break
        iterator.close()
        del batch, iterator, dataset
        gc.collect()
        churn = [leases.copies(batch) for batch in leases.dataset(self.path, 100)]
        del churn
        for kept, copied in zip(tensors, copies, strict=True):
            for name, copy in copied.items():
                np.testing.assert_array_equal(kept[name].numpy(), copy)

    def test_the_interpreter_ends_while_tensors_and_threads_live(self):
        code = """
import threading, torch, leases
kept = []
iterators = [iter(leases.dataset(sys.argv[1])) for _ in range(3)]
for iterator in iterators:
    for _ in range(5):
        batch = next(iterator)
        kept.append([torch.from_dlpack(array) for array in leases.columns(batch).values()])
sys.kept = kept  # until the very end
def run():
    for batch in leases.dataset(sys.argv[1], 10**9):
        torch.from_numpy(batch["pixels"])
threading.Thread(target=run, daemon=True).start()
"""
        for _ in range(5):
            self.assertEqual(leases.run(code, self.path), (0, ""))


if __name__ == "__main__":
    unittest.main()
