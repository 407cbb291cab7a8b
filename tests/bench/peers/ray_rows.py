"""Rows a second of recordpipe.ray.read_tfrecords and of ray.data.read_tfrecords, in turns, on two
workers. Prints a line "SIZE OURS THEIRS" for each round.

usage: ray_rows.py FOLDER ROUNDS
"""
import pathlib
import sys
import time

import ray
import recordpipe as rp
import recordpipe.ray as rpr
from ray.data import DataContext

FILES = 8
# (bytes of a record, rows in all files for recordpipe, and for Ray's own reader, which needs seconds
# for as few). Enough that the start of the tasks, about a second, doesn't decide.
SETS = ((1_000, 80_000, 8_000), (100_000, 25_600, 25_600))


def make(folder, size, rows):
    """Returns the paths of files with the rows."""
    paths = []
    for i in range(FILES):
        paths.append(str(folder / f"of-{size}-{rows}-{i}.tfrecords"))
        examples = ({"data": j.to_bytes(4, "little") * ((size - 40) // 4), "label": j}
                    for j in range(i, rows, FILES))
        rp.write_tfrecords(paths[-1], examples)
    return paths


def rate(dataset, rows):
    start = time.perf_counter()
    count = 0
    for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        count += batch.num_rows
    seconds = time.perf_counter() - start
    assert count == rows, count
    return rows / seconds


def main():
    folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    ray.init(num_cpus=2, object_store_memory=1 << 30, include_dashboard=False, log_to_driver=False,
             logging_level="error")
    DataContext.get_current().enable_progress_bars = False
    for size, rows, their_rows in SETS:
        our_paths, their_paths = make(folder, size, rows), make(folder, size, their_rows)
        for i in range(rounds + 1):  # the first one starts the workers
            ours = rate(rpr.read_tfrecords(our_paths), rows)
            theirs = rate(ray.data.read_tfrecords(their_paths), their_rows)
            if i > 0:
                print(size, ours, theirs, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
