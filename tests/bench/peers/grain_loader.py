"""Runs the training pipeline in Grain. usage: grain_loader.py FILE DESCRIPTORS; turns.py describes
the output.

Variants: one image at a time, and vectorised, with records read and distorted in batches; with
threads, and with worker processes. The shuffle is Grain's own, over all records.
"""
import os
import sys

os.environ["ABSL_MIN_LOG_LEVEL"] = "3"

import grain  # noqa: E402
from cifar import Records, distort, distort_batch  # noqa: E402
from turns import BATCH_SIZE, serve  # noqa: E402


def per_image(records):
    return records.random_map(distort).batch(BATCH_SIZE, drop_remainder=True)


def vectorised(records):
    return records.batch(BATCH_SIZE, drop_remainder=True, batch_fn=list).random_map(distort_batch)


def by_threads(batches, count):
    return batches.to_iter_dataset(grain.ReadOptions(num_threads=count, prefetch_buffer_size=16))


def by_workers(batches, count):
    options = grain.MultiprocessingOptions(num_workers=count, per_worker_buffer_size=4)
    return by_threads(batches, 1).mp_prefetch(options)


def main():
    records = grain.MapDataset.source(Records(*sys.argv[1:])).seed(7).shuffle().repeat()
    cores = len(os.sched_getaffinity(0))
    variants = {
        f"an image at a time, {cores} threads": lambda: by_threads(per_image(records), cores),
        f"an image at a time, {cores} workers": lambda: by_workers(per_image(records), cores),
        "vectorised, 1 thread": lambda: by_threads(vectorised(records), 1),
        f"vectorised, {cores} threads": lambda: by_threads(vectorised(records), cores),
        "vectorised, 1 worker": lambda: by_workers(vectorised(records), 1),
        f"vectorised, {cores} workers": lambda: by_workers(vectorised(records), cores),
    }
    serve(variants)


if __name__ == "__main__":
    main()
