"""The rows of TensorFlow Datasets in bench_tfds. usage: tf_tfds_rows.py rate|processor FOLDER;
tfds_work.py describes the output."""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", NO_GCE_CHECK="true")

import tensorflow as tf  # noqa: E402
import tensorflow_datasets as tfds  # noqa: E402
import tfds_work as work  # noqa: E402


def main():
    mode, folder = sys.argv[1:]
    builder = tfds.builder_from_directory(f"{folder}/1.0.0")
    reading = tfds.ReadConfig(try_autocache=False)  # ours reads the files, too
    ds = builder.as_dataset("train", shuffle_files=True, read_config=reading)
    ds = ds.shuffle(work.BUFFER).repeat()
    size = work.BATCH_SIZES[work.name_of(folder)]
    batched = ds.ragged_batch(size, True) if "tokens" in builder.info.features else ds.batch(size, True)
    work.answer(mode, tfds.as_numpy(batched.prefetch(tf.data.AUTOTUNE)))


if __name__ == "__main__":
    main()
