"""Prints records as JSON, in a loop over tf.data. usage: tf_data_json.py FILE RECORDS

For each line of standard input, prints RECORDS records to /dev/null in the format of `tfrecord show
--json` and reports the records per second. Uses TensorFlow's Example (protobuf in C), base64 and
json.dumps; it computes the offsets itself.
"""
import base64
import json
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import tensorflow as tf  # noqa: E402


def values(feature):
    kind = feature.WhichOneof("kind")
    if kind == "int64_list":
        return list(feature.int64_list.value)
    if kind == "float_list":
        return list(feature.float_list.value)
    return [text(value) for value in feature.bytes_list.value]


def text(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def show(path, count, out):
    offset = 0
    records = tf.data.TFRecordDataset(path).take(count).prefetch(tf.data.AUTOTUNE)
    for number, data in enumerate(records.as_numpy_iterator()):
        features = tf.train.Example.FromString(data).features.feature
        out.write(json.dumps({"record": number, "offset": offset, "features": {
            name: values(features[name]) for name in sorted(features)}}) + "\n")
        offset += len(data) + 16


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    for _ in sys.stdin:
        with open(os.devnull, "w", encoding="utf-8") as out:
            start = time.perf_counter()
            show(path, count, out)
            print(count / (time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
