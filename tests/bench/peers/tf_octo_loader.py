"""python/examples/octo_loader.py in tf.data, in the manner of dlimp, which Octo and OpenVLA use.

    python tf_octo_loader.py data/robot_a/1.0.0 data/robot_b/1.0.0 --weights 0.7 0.3

Files are interleaved, an episode is parsed and gets its chunks of actions, and the episodes are
flattened to steps. The steps of the mixture, with encoded images, wait in the buffer of a shuffle;
then they are decoded and resized. tests/interop/octo_test.py compares the rows with octo_loader.py's.
"""
import argparse
import glob
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402

AUTOTUNE = tf.data.AUTOTUNE
ACTIONS = 8
BUFFER = 100_000
SIZES = {"primary": 224, "wrist": 128}
COMMON = {
    "primary": "observation/image",
    "wrist": "observation/wrist_image",
    "action": "action",
    "language": "language_instruction",
}
FEATURES = {
    "robot_a": COMMON,
    "robot_b": {**COMMON, "primary": "observation/front_image"},
    "robot_c": {**COMMON, "primary": "observation/image_0"},
}


def of_steps(shape, dtype):
    return tf.io.FixedLenSequenceFeature(shape, dtype, allow_missing=True)


def steps(folder, features):
    """All steps of a data set, with chunks of actions; images are encoded."""
    files = sorted(glob.glob(f"{folder}/*.tfrecord-?????-of-?????"))
    parsed = {f"steps/{path}": of_steps([7], tf.float32) if name == "action"
              else of_steps([], tf.string) for name, path in features.items()}

    def episode(record):
        found = tf.io.parse_single_example(record, parsed)
        values = {name: found[f"steps/{path}"] for name, path in features.items()}
        count = tf.shape(values["action"])[0]
        window = tf.range(count)[:, None] + tf.range(ACTIONS)[None, :]
        return {**values,
                "action": tf.gather(values["action"], tf.minimum(window, count - 1)),
                "action_mask": window < count}

    return (tf.data.Dataset.from_tensor_slices(files)
            .shuffle(len(files))
            .interleave(tf.data.TFRecordDataset, cycle_length=len(files),
                        num_parallel_calls=AUTOTUNE)
            .map(episode, num_parallel_calls=AUTOTUNE)
            .interleave(tf.data.Dataset.from_tensor_slices, cycle_length=16,
                        num_parallel_calls=AUTOTUNE))


def decoded(step, sizes):
    for camera, size in sizes.items():
        image = tf.io.decode_jpeg(step[camera], channels=3, dct_method="INTEGER_FAST")
        image = tf.image.resize(image, [size, size], antialias=True)
        step[camera] = tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8)
    return step


def batches(rows, sizes, batch_size):
    options = tf.data.Options()
    options.deterministic = False
    return (rows.map(lambda step: decoded(step, sizes), num_parallel_calls=AUTOTUNE)
            .batch(batch_size, drop_remainder=True)
            .prefetch(AUTOTUNE)
            .with_options(options))


def loader(folders, weights, batch_size, buffer=BUFFER):
    names = [pathlib.Path(folder).resolve().parent.name for folder in folders]
    mixture = tf.data.Dataset.sample_from_datasets(
        [steps(folder, FEATURES[name]).repeat() for folder, name in zip(folders, names)],
        weights, seed=7)
    return batches(mixture.shuffle(buffer, seed=7), SIZES, batch_size)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="NAME/VERSION; NAME is a name in FEATURES")
    parser.add_argument("--weights", nargs="+", type=float, help="one per folder; default: equal")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--buffer", type=int, default=BUFFER, help="steps in the shuffle")
    options = parser.parse_args()
    mixture = loader(options.folders, options.weights, options.batch_size, options.buffer)
    for batch in mixture.take(options.batches):
        pass  # train(batch)
    print({name: tuple(value.shape) for name, value in batch.items()})


if __name__ == "__main__":
    main()
