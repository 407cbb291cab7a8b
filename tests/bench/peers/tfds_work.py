"""What the programs of bench_tfds share; it writes their data sets.

usage: tfds_work.py FOLDER     writes FOLDER/numbers/1.0.0 and FOLDER/images/1.0.0, as TFDS does
"""
import json
import os
import pathlib
import sys
import time

import turns

BATCH_SIZES = {"numbers": 1024, "images": 64}
BUFFER = 10_000
SECONDS = 3  # of a measurement
SHARDS = 4


def name_of(folder):
    return pathlib.Path(folder).name


def rate_of(batches, leaf):
    """Returns a function that measures Examples a second. `leaf`: a name in each batch."""
    batches = iter(batches)

    def measure():
        start, seen = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS:
            seen += len(next(batches)[leaf])
        return seen / (time.perf_counter() - start)
    return measure


def processor_time(batches, leaf):
    """Microseconds of all cores per Example, when buffers are full."""
    batches = iter(batches)
    for _ in range(20):
        next(batches)
    start, seen = time.process_time(), 0
    for _ in range(60):
        seen += len(next(batches)[leaf])
    return 1e6 * (time.process_time() - start) / seen


def answer(mode, batches):
    """Prints what bench_tfds asks for: the processor time, or rates in turns (turns.py)."""
    if mode == "processor":
        print(processor_time(batches, "label"))
    else:
        turns.answer(rate_of(batches, "label"))


def numbers(features, random):
    import numpy as np
    tree = {f"float{i}": features.Scalar(np.float32) for i in range(8)}
    tree |= {f"int{i}": features.Scalar(np.int64) for i in range(8)}
    tree |= {"label": features.ClassLabel(num_classes=10), "text": features.Text(),
             "tokens": features.Sequence(np.int32)}

    def make(i):
        return ({f"float{k}": random.normal() for k in range(8)}
                | {f"int{k}": int(random.integers(0, 1 << 20)) for k in range(8)}
                | {"label": i % 10, "text": f"item {i}",
                   "tokens": random.integers(0, 1000, i % 16).tolist()})
    return tree, make, 100_000


def images(features, random):
    from robot_episodes import texture
    wall = texture(random, 1024)

    def make(i):
        top, left = random.integers(0, 1024 - 128, 2)
        return {"image": wall[top:top + 128, left:left + 128], "label": i % 10}
    image = features.Image(shape=(128, 128, 3), encoding_format="jpeg")
    return {"image": image, "label": features.ClassLabel(num_classes=10)}, make, 5_000


def write(folder, made):
    import recordpipe as rp
    import tensorflow_datasets as tfds
    tree, make, count = made
    features = tfds.features.FeaturesDict(tree)
    folder.mkdir(parents=True)
    name, each = folder.parent.name, count // SHARDS
    for shard in range(SHARDS):
        with rp.Writer(folder / f"{name}-train.tfrecord-{shard:05}-of-{SHARDS:05}") as writer:
            for i in range(shard * each, (shard + 1) * each):
                writer.write(features.serialize_example(make(i)))
    split = {"name": "train", "shardLengths": [str(each)] * SHARDS,
             "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}
    (folder / "features.json").write_text(json.dumps(features.to_json()))
    (folder / "dataset_info.json").write_text(json.dumps(
        {"name": name, "version": "1.0.0", "fileFormat": "tfrecord", "splits": [split]}))


def main():
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", NO_GCE_CHECK="true")
    import numpy as np
    from tensorflow_datasets import features
    random = np.random.default_rng(7)
    for make in (numbers, images):
        write(pathlib.Path(sys.argv[1]) / make.__name__ / "1.0.0", make(features, random))


if __name__ == "__main__":
    main()
