"""tf.data's row of bench_lengths. usage: tf_lengths.py FILE; turns.py describes the output."""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import lengths  # noqa: E402
import tensorflow as tf  # noqa: E402
import turns  # noqa: E402

FEATURES = {"tokens": tf.io.RaggedFeature(tf.int64)}


def main():
    sequences = tf.data.TFRecordDataset(sys.argv[1]).repeat().map(
        lambda record: tf.io.parse_single_example(record, FEATURES)["tokens"],
        num_parallel_calls=tf.data.AUTOTUNE)
    batches = sequences.bucket_by_sequence_length(
        tf.size, lengths.BOUNDARIES, lengths.BATCH_SIZES).prefetch(tf.data.AUTOTUNE)
    turns.answer(lengths.rate(len(batch) for batch in batches))


if __name__ == "__main__":
    main()
