"""Trains a small network on CIFAR-10 TFRecords with JAX, and resumes where it was stopped.

    python make_cifar10.py cifar-10-binary.tar.gz data/cifar10
    python train_jax.py data/cifar10/train.tfrecords --epochs 10 --checkpoint train.npz

The records are tf.train.Examples with "image", 3 * 32 * 32 bytes in planes, and "label", an int64.
Stop the program at any time and start it again: it goes on with the batch after the last saved one.
The batches are divided among all devices.
"""

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import recordpipe as rp

Params = dict[str, jax.Array]
Batch = dict[str, jax.Array]


def dataset(paths: str, batch_size: int, epochs: int) -> rp.Dataset:
    return (
        rp.tfrecords(paths)
        .parse(
            {
                "image": rp.FixedLenFeature([], "bytes"),
                "label": rp.FixedLenFeature([], "int64"),
            }
        )
        .decode_raw("image", [3, 32, 32], layout="NCHW")  # as the file has it; batches are NHWC
        .shuffle(seed=7)  # all of it, in another order in each epoch
        .repeat(epochs)
        # With several hosts, each reads its part:
        .shard(jax.process_count(), jax.process_index(), drop_remainder=True)
        .batch(batch_size // jax.process_count(), drop_remainder=True)
        .prefetch()
    )


def to_devices(batches: Iterable[Any]) -> Iterator[Batch]:
    """Makes one array of all hosts' batches, whose rows are divided among all devices."""
    sharding: Any = jax.sharding  # partly without types
    mesh = sharding.Mesh(np.array(jax.devices()), ("batch",))
    rows = sharding.NamedSharding(mesh, sharding.PartitionSpec("batch"))
    array_of: Any = jax.make_array_from_process_local_data
    for batch in batches:
        yield {
            "image": array_of(rows, batch["image"]),
            "label": array_of(rows, batch["label"].astype(np.int32)),
        }


def initial_params(seed: int = 0) -> Params:
    keys = jax.random.split(jax.random.key(seed), 3)
    return {
        "filters": jax.random.normal(keys[0], (3, 3, 3, 32)) * 0.1,
        "hidden": jax.random.normal(keys[1], (8 * 8 * 32, 64)) * 0.02,
        "output": jax.random.normal(keys[2], (64, 10)) * 0.1,
    }


def loss_of(params: Params, batch: Batch) -> jax.Array:
    x = batch["image"].astype(jnp.float32) / 255 - 0.5
    x = jax.lax.conv_general_dilated(
        x, params["filters"], (4, 4), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = jax.nn.relu(x).reshape(x.shape[0], -1)
    logits = jax.nn.relu(x @ params["hidden"]) @ params["output"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["label"][:, None], axis=1)
    return -chosen.mean()


@jax.jit
def step(params: Params, batch: Batch) -> tuple[Params, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), loss


def save(path: str, params: Params, state: dict[str, Any]) -> None:
    """The weights and the place in the data, which belong together."""
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in params.items()}
    with open(f"{path}.new", "wb") as file:
        np.savez(file, state=json.dumps(state), **arrays)
    os.replace(f"{path}.new", path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpoint", default="train.npz")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--stop-after", type=int, default=0, help="steps; 0: at the end")
    options = parser.parse_args()

    params = initial_params()
    iterator = iter(dataset(options.paths, options.batch_size, options.epochs))
    if os.path.exists(options.checkpoint):
        with np.load(options.checkpoint) as saved:
            params = {name: jnp.asarray(saved[name]) for name in params}
            iterator.load_state_dict(json.loads(str(saved["state"])))
        print(f"resumed after step {iterator.position}")
    for batch in to_devices(iterator):
        params, loss = step(params, batch)
        at = iterator.position
        if at % options.save_every == 0 or at == options.stop_after:
            print(f"step {at}: loss {loss:.6f}")
            save(options.checkpoint, params, iterator.state_dict())
        if at == options.stop_after:
            return
    save(options.checkpoint, params, iterator.state_dict())
    print(f"trained {iterator.position} steps")


if __name__ == "__main__":
    main()
