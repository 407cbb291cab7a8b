"""Keras 3 trains from a Grain dataset and from a generator, on the JAX backend."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
os.environ.setdefault("KERAS_BACKEND", "jax")

import leases
import numpy as np
import recordpipe as rp
from support import FilesTest

try:
    import grain
    import jax  # noqa: F401
    import keras
except ImportError:
    keras = None


def pairs(batch):
    return batch["box"] / 160, (batch["id"] / 160).astype(np.float32)


@unittest.skipIf(keras is None, "keras, grain or jax is not installed")
class Keras(FilesTest):
    def setUp(self):
        super().setUp()
        path = leases.write(self.folder / "keras.tfrecord")
        self.dataset = (
            rp.tfrecords(path)
            .parse({"id": leases.FEATURES["id"], "box": leases.FEATURES["box"]})
            .shuffle(seed=7)
            .repeat()
            .batch(leases.ROWS)
        )
        keras.utils.set_random_seed(1)
        self.model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(1)])
        self.model.compile(keras.optimizers.SGD(0.01), "mse")

    def fit(self, data):
        history = self.model.fit(data, epochs=3, steps_per_epoch=10, verbose=0)
        return history.history["loss"]

    def test_grain_and_generator_train_alike(self):
        weights = self.model.get_weights()
        through_grain = self.fit(rp.grain.IterDataset(self.dataset).map(pairs))
        self.assertLess(through_grain[-1], through_grain[0] / 2)
        self.model.set_weights(weights)
        through_generator = self.fit(pairs(batch) for batch in self.dataset)
        np.testing.assert_allclose(through_generator, through_grain, rtol=1e-6)

    def test_a_source(self):
        source = rp.grain.source(self.dataset_of_rows())
        data = grain.MapDataset.source(source).shuffle(seed=1).repeat().batch(16).map(pairs)
        losses = self.fit(data.to_iter_dataset())
        self.assertLess(losses[-1], losses[0] / 2)

    def dataset_of_rows(self):
        return rp.tfrecords(self.folder / "keras.tfrecord").parse(
            {"id": leases.FEATURES["id"], "box": leases.FEATURES["box"]}
        )


if __name__ == "__main__":
    unittest.main()
