"""tf.data's rows of bench_robotics, in the manner of dlimp.

usage: tf_robot_steps.py rate FOLDER          turns.py describes the output
       tf_robot_steps.py first FOLDER         the seconds to the first batch
       tf_robot_steps.py processor FOLDER     microseconds of all cores per step
       tf_robot_steps.py memory FOLDER N ...  memory after each of N batches (robot_work.py)

The steps and their images are those of tf_octo_loader.py, of one data set.
"""
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import robot_work as work  # noqa: E402
import tf_octo_loader as octo  # noqa: E402
import turns  # noqa: E402

FEATURES = {"action": "action", "language": "language_instruction",
            **{camera: f"observation/{camera}" for camera in work.CAMERAS}}


def pipeline(folder):
    rows = octo.steps(folder, FEATURES).shuffle(work.BUFFER).repeat()
    return octo.batches(rows, dict.fromkeys(work.CAMERAS, work.SIZE), work.BATCH)


def main():
    mode, folder, *counts = sys.argv[1:]
    if mode == "first":
        start = time.perf_counter()
        next(iter(pipeline(folder)))
        print(time.perf_counter() - start)
    elif mode == "processor":
        print(work.processor_time(iter(pipeline(folder))))
    elif mode == "rate":
        batches = iter(pipeline(folder))
        turns.answer(lambda: work.rate(batches))
    else:
        work.report(iter(pipeline(folder)), map(int, counts))


if __name__ == "__main__":
    main()
