"""tf.data's row of the table: tf.io.parse_example of whole batches. usage: tf_table.py FILE;
turns.py describes the output."""
import itertools
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import table  # noqa: E402
import tensorflow as tf  # noqa: E402
import turns  # noqa: E402

BATCH = 1024


def main():
    features = {name: tf.io.FixedLenFeature([], tf.float32) for name in table.FLOATS}
    features |= {name: tf.io.FixedLenFeature([], tf.int64) for name in table.CATEGORIES}
    features |= {table.RAGGED: tf.io.RaggedFeature(tf.int64),
                 table.LABEL: tf.io.FixedLenFeature([], tf.int64)}
    records = tf.data.TFRecordDataset(sys.argv[1]).shuffle(16_384).repeat()
    options = tf.data.Options()
    options.deterministic = False
    batches = iter(records.batch(BATCH, drop_remainder=True)
                   .map(lambda batch: tf.io.parse_example(batch, features),
                        num_parallel_calls=tf.data.AUTOTUNE)
                   .prefetch(tf.data.AUTOTUNE).with_options(options))
    steps = table.ROWS // BATCH

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
