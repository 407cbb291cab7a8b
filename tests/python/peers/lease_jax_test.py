"""JAX arrays that alias batches keep them: nothing is overwritten while one lives.

On CPU, jax.device_put() doesn't copy a NumPy array whose memory is aligned as XLA wants it, and
doesn't say so: a library that used its memory again would change arrays that JAX holds.
"""

import gc
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import leases
import numpy as np
import recordpipe as rp
from support import FilesTest

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

METHODS = {
    "device_put": lambda array: jax.device_put(array),
    "jnp.from_dlpack": lambda array: jnp.from_dlpack(array),
    "jax.dlpack": lambda array: jax.dlpack.from_dlpack(array),
}


def numbers(batch):
    """Without int64, of which JAX makes int32 copies."""
    return {k: v for k, v in leases.columns(batch).items() if v.dtype != np.int64}


@unittest.skipIf(jax is None, "jax is not installed")
class JaxLeases(FilesTest):
    def setUp(self):
        super().setUp()
        self.path = leases.write(self.folder / "leases.tfrecord")

    def test_a_thousand_batches(self):
        for method, jax_array_of in METHODS.items():
            with self.subTest(method=method):
                iterator = iter(leases.dataset(self.path))
                kept, aliased = [], 0
                for i, batch in enumerate(iterator):
                    arrays = {k: jax_array_of(v) for k, v in numbers(batch).items()}
                    if i % 10 == 0:
                        kept.append((arrays, leases.copies(batch)))
                        pixels = arrays["pixels"]
                        aliased += pixels.unsafe_buffer_pointer() == batch["pixels"].ctypes.data
                del batch, arrays, pixels
                self.assertEqual(aliased, 100)  # else this tests nothing
                counts = iterator.stats()
                self.assertEqual(counts["batches"], 1000)
                self.assertGreaterEqual(counts["batches_held"], 100)
                self.assertLess(counts["batches_held"], 120)  # JAX frees arrays a little later
                self.assertLess(counts["batches_allocated"], 200)
                for arrays, copies in kept:
                    for name, array in arrays.items():
                        np.testing.assert_array_equal(np.asarray(array), copies[name])
                del arrays, array
                kept.clear()
                gc.collect()
                self.assertEqual(iterator.stats()["batches_held"], 0)

    def test_ragged_values_and_integers(self):
        with jax.enable_x64(True):
            kept = []
            for i, batch in enumerate(leases.dataset(self.path, 300)):
                arrays = jax.device_put(leases.columns(batch))
                if i % 10 == 0:
                    kept.append((arrays, leases.copies(batch)))
            for arrays, copies in kept:
                for name, copy in copies.items():
                    self.assertEqual(arrays[name].dtype, copy.dtype)
                    np.testing.assert_array_equal(np.asarray(arrays[name]), copy)

    def test_asynchronous_steps_see_their_batch(self):
        @jax.jit
        def step(pixels, box):
            x = pixels.astype(jnp.float32).reshape(leases.ROWS, -1)
            for _ in range(3):
                x = jnp.tanh(x @ x.T @ x / 1e6)
            return pixels.astype(jnp.int32).sum(), box.sum(), x.sum()

        results, expected = [], []
        for batch in leases.dataset(self.path, 300):
            expected.append((int(batch["pixels"].sum(dtype=np.int64)), float(batch["box"].sum())))
            results.append(step(batch["pixels"], batch["box"]))  # returns before it has computed
            del batch
        for (pixels, box, _), (pixels_sum, box_sum) in zip(results, expected, strict=True):
            self.assertEqual(int(pixels), pixels_sum)
            self.assertAlmostEqual(float(box) / box_sum, 1, places=4)

    def test_donated_buffers(self):
        double = jax.jit(lambda box: box * 2 + 1, donate_argnums=0)
        untouched, results = [], []
        for i, batch in enumerate(leases.dataset(self.path, 300)):
            copies = leases.copies(batch)
            if i % 2 == 0:
                untouched.append((batch, copies))
            else:
                # XLA may write the result into the batch.
                results.append((double(jax.device_put(batch["box"])), copies["box"]))
                np.testing.assert_array_equal(batch["pixels"], copies["pixels"])
        for result, box in results:
            np.testing.assert_array_equal(np.asarray(result), box * 2 + 1)
        for batch, copies in untouched:
            for name, array in leases.columns(batch).items():
                np.testing.assert_array_equal(array, copies[name])

    def test_arrays_outlive_everything(self):
        dataset = leases.dataset(self.path, 20)
        iterator = iter(dataset)
        batches = [next(iterator) for _ in range(10)]
        arrays = [jax.device_put(numbers(batch)) for batch in batches]
        copies = [leases.copies(batch) for batch in batches]
        iterator.close()
        del batches, iterator, dataset
        gc.collect()
        churn = [leases.copies(batch) for batch in leases.dataset(self.path, 100)]
        del churn
        for kept, copied in zip(arrays, copies, strict=True):
            for name, array in kept.items():
                np.testing.assert_array_equal(np.asarray(array), copied[name])

    def test_random_access(self):
        records = rp.tfrecords(self.path).parse(leases.FEATURES)
        kept = []
        for i in range(400):
            rows = records.__getitems__([i % 160, (i * 7) % 160])
            arrays = [jax.device_put(row["pixels"]) for row in rows]
            if i % 10 == 0:
                kept.append((arrays, [np.array(row["pixels"]) for row in rows]))
            del rows
        for arrays, copies in kept:
            for array, copy in zip(arrays, copies, strict=True):
                np.testing.assert_array_equal(np.asarray(array), copy)

    def test_the_interpreter_ends_while_arrays_and_threads_live(self):
        # The thread doesn't call JAX: CPython ends a thread that asks for the GIL now, and jaxlib
        # doesn't survive that in its own functions ("FATAL: exception not rethrown").
        code = """
import threading, jax, leases
sys.kept = []  # until the very end
for batch in leases.dataset(sys.argv[1], 20):
    sys.kept.append(jax.device_put(leases.columns(batch)))
def run():
    for batch in leases.dataset(sys.argv[1], 10**9):
        sys.kept[0] = batch["pixels"]
threading.Thread(target=run, daemon=True).start()
"""
        for _ in range(3):
            self.assertEqual(leases.run(code, self.path), (0, ""))


if __name__ == "__main__":
    unittest.main()
