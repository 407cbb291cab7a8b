"""tf.data's rows of the table and of sequences: tf.io.parse_example and parse_sequence_example of
whole batches. usage: tf_table.py table|sequences FILE; turns.py describes the output."""
import itertools
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import sequences  # noqa: E402
import table  # noqa: E402
import tensorflow as tf  # noqa: E402
import turns  # noqa: E402

BATCH = 1024


def parse_table():
    features = {name: tf.io.FixedLenFeature([], tf.float32) for name in table.FLOATS}
    features |= {name: tf.io.FixedLenFeature([], tf.int64) for name in table.CATEGORIES}
    features |= {table.RAGGED: tf.io.RaggedFeature(tf.int64),
                 table.LABEL: tf.io.FixedLenFeature([], tf.int64)}
    return lambda batch: tf.io.parse_example(batch, features)


def parse_sequences():
    context = {"id": tf.io.FixedLenFeature([], tf.int64)}
    lists = {"action": tf.io.FixedLenSequenceFeature([sequences.ACTION], tf.float32),
             "reward": tf.io.FixedLenSequenceFeature([], tf.float32),
             "token": tf.io.FixedLenSequenceFeature([], tf.int64)}
    return lambda batch: tf.io.parse_sequence_example(batch, context, lists)


KINDS = {"table": (parse_table, table.ROWS), "sequences": (parse_sequences, sequences.ROWS)}


def main():
    make_parse, rows = KINDS[sys.argv[1]]
    records = tf.data.TFRecordDataset(sys.argv[2]).shuffle(16_384).repeat()
    options = tf.data.Options()
    options.deterministic = False
    batches = iter(records.batch(BATCH, drop_remainder=True)
                   .map(make_parse(), num_parallel_calls=tf.data.AUTOTUNE)
                   .prefetch(tf.data.AUTOTUNE).with_options(options))
    steps = rows // BATCH

    def measure():
        for _ in itertools.islice(batches, 16):
            pass
        start = time.perf_counter()
        for _ in itertools.islice(batches, steps):
            pass
        return steps * BATCH / (time.perf_counter() - start)
    turns.answer(measure)


if __name__ == "__main__":
    main()
