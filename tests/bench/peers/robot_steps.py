"""recordpipe's rows of bench_robotics: single steps of episodes.

usage: robot_steps.py rate FOLDER          turns.py describes the output
       robot_steps.py first FOLDER         the seconds to the first batch
       robot_steps.py processor FOLDER     microseconds of all cores per step
       robot_steps.py memory FOLDER N ...  memory after each of N batches (robot_work.py)
       robot_steps.py memory-small FOLDER N ...    the same with images of SMALL
       robot_steps.py memory-actions FOLDER N ...  the same without images
       robot_steps.py cold FOLDER          bytes read from the disk per byte of 60 random steps of
                                           the first file, of which nothing is in the page cache
       robot_steps.py resume FOLDER        milliseconds of saving and of restoring a state in the
                                           middle of an epoch, the next batch's, whether it is equal
"""
import os
import sys
import time

import numpy as np
import recordpipe as rp
import robot_work as work
import turns


def pipeline(folder, images=True, size=work.SIZE):
    names = {camera: f"observation/{camera}" for camera in work.CAMERAS} if images else {}
    ds = rp.tfds(folder).steps(
        features={**names, "action": "action", "language": "language_instruction"},
        offsets={"action": range(work.ACTIONS)})
    for camera in names:
        ds = ds.decode_image(camera, channels=3, dct="fast").resize(camera, (size, size))
    return ds.shuffle(work.BUFFER, seed=7).repeat().batch(work.BATCH, drop_remainder=True).prefetch()


def resume(folder):
    ds = pipeline(folder)
    first = iter(ds)
    for _ in range(50):
        next(first)
    start = time.perf_counter()
    state = first.state_dict()
    saved = time.perf_counter()
    expected = next(first)
    second = iter(ds)
    begin = time.perf_counter()
    second.load_state_dict(state)
    restored = time.perf_counter()
    batch = next(second)
    end = time.perf_counter()
    same = all(np.array_equal(batch[name], expected[name]) for name in expected)
    print(*(f"{1000 * seconds:.1f}" for seconds in
            (saved - start, restored - begin, end - restored)), same)


def disk_reads():
    with open("/proc/self/io", encoding="ascii") as io:
        return int(dict(line.split(":") for line in io)["read_bytes"])


def cold(folder):
    names = [f"observation/{camera}" for camera in work.CAMERAS]
    ds = rp.tfds(folder, "train[:1shard]").steps(features={**dict(zip(work.CAMERAS, names)),
                                                           "action": "action"})
    with open(work.files(folder)[0], "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before, size = disk_reads(), 0
    for number in np.random.default_rng(1).integers(0, len(ds), 60):
        row = ds[int(number)]
        size += row["action"].nbytes + sum(len(row[camera]) for camera in work.CAMERAS)
    print((disk_reads() - before) / size)


def main():
    mode, folder, *counts = sys.argv[1:]
    if mode == "first":
        start = time.perf_counter()
        next(iter(pipeline(folder)))
        print(time.perf_counter() - start)
    elif mode == "cold":
        cold(folder)
    elif mode == "resume":
        resume(folder)
    elif mode == "processor":
        print(work.processor_time(iter(pipeline(folder))))
    elif mode == "rate":
        batches = iter(pipeline(folder))
        turns.answer(lambda: work.rate(batches))
    else:
        size = work.SMALL if mode == "memory-small" else work.SIZE
        batches = iter(pipeline(folder, mode != "memory-actions", size))
        work.report(batches, map(int, counts))


if __name__ == "__main__":
    main()
