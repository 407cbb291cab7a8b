"""Makes data/tensorflow: files that TensorFlow wrote, and what is in them.

    build/peers/bin/python data/make_tensorflow_files.py FOLDER

Needs TensorFlow (tests/peers/setup installs it). Two runs need not give the same bytes: the order
of an Example's keys is TensorFlow's. values.json says what was put in, as `tfrecord show --json`
prints it: "examples" and "sequences", a list of records each.
"""

import base64
import json
import os
import pathlib
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

INT64_MAX = 2**63 - 1
FLOAT_MAX = 3.4028234663852886e38
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

EXAMPLES = [
    {"label": [7], "weight": [0.5], "name": [b"a horse"]},
    {"many ints": [0, 1, -1, 127, 128, -128, INT64_MAX, -INT64_MAX - 1]},
    {"many floats": [0.0, -0.0, 1e-45, 1.1754943508222875e-38, FLOAT_MAX, -1.5,
                     float("inf"), float("-inf"), float("nan")]},
    {"many bytes": [b"", b"\x00", b"text\x00\x00", b"\xff\xfe", "größer\n".encode(),
                    bytes(range(256))]},
    {"ключ": [1], "鍵": [2], "🗝": [3], "": [4], "with \"quotes\" and \\": [5]},
    {"ints": tf.train.Feature(int64_list=tf.train.Int64List()),
     "floats": tf.train.Feature(float_list=tf.train.FloatList()),
     "bytes": tf.train.Feature(bytes_list=tf.train.BytesList())},
    {"nothing set": tf.train.Feature()},
    {},  # a record of no bytes
    {"image": [bytes(i * 7 % 256 for i in range(3072))], "label": [9]},
]

SEQUENCES = [
    ({"length": [2], "id": [b"first"]},
     {"tokens": [[b"to"], [b"be", b"or"]], "scores": [[0.25], []]}),
    ({}, {"numbers": [[1], [], [2, 3]], "no steps": []}),
    ({"only": [b"context"]}, {}),
]


def feature(values):
    if isinstance(values, tf.train.Feature):
        return values
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def features(values):
    return tf.train.Features(feature={name: feature(of) for name, of in values.items()})


def sequence(context, lists):
    def steps(values):
        return tf.train.FeatureList(feature=[feature(step) if step else tf.train.Feature()
                                             for step in values])
    return tf.train.SequenceExample(
        context=features(context),
        feature_lists=tf.train.FeatureLists(
            feature_list={name: steps(values) for name, values in lists.items()}))


def value_json(value):
    if not isinstance(value, bytes):
        return value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\x00"
    if CONTROL.search(text):
        return {"base64": base64.b64encode(value).decode()}
    return text


def values_json(values):
    return [] if isinstance(values, tf.train.Feature) else [value_json(value) for value in values]


def features_json(values):
    return {name: values_json(of) for name, of in values.items()}


def write(path, messages, compression):
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        for message in messages:
            writer.write(message.SerializeToString())


def write_events(folder):
    """One event file of a scalar, a histogram and an image, at two steps."""
    before = set(folder.iterdir())
    with tf.summary.create_file_writer(str(folder)).as_default():
        for step in range(2):
            tf.summary.scalar("loss", 2.5 / (step + 1), step=step)
            tf.summary.histogram("weights", tf.range(10, dtype=tf.float32), step=step)
            tf.summary.image("image", tf.zeros([1, 4, 4, 3]), step=step)
    (path,) = set(folder.iterdir()) - before
    path.rename(folder / "events.out.tfevents.golden")


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    examples = [tf.train.Example(features=features(values)) for values in EXAMPLES]
    sequences = [sequence(*values) for values in SEQUENCES]
    for suffix, compression in (("", None), (".gz", "GZIP"), (".zz", "ZLIB")):
        write(folder / f"examples.tfrecords{suffix}", examples, compression)
        write(folder / f"sequences.tfrecords{suffix}", sequences, compression)
        write(folder / f"empty.tfrecords{suffix}", [], compression)
    write_events(folder)
    values = {
        "examples": [features_json(of) for of in EXAMPLES],
        "sequences": [{"context": features_json(context),
                       "feature_lists": {name: [values_json(step) if step else None for step in steps]
                                         for name, steps in lists.items()}}
                      for context, lists in SEQUENCES],
    }
    (folder / "values.json").write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
