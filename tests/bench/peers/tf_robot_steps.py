"""tf.data's rows of bench_robotics, in the manner of dlimp, which Octo and OpenVLA use.

usage: tf_robot_steps.py rate FOLDER          turns.py describes the output
       tf_robot_steps.py first FOLDER         the seconds to the first batch
       tf_robot_steps.py processor FOLDER     microseconds of all cores per step
       tf_robot_steps.py memory FOLDER N ...  memory after each of N batches (robot_work.py)

Files are interleaved, an episode is parsed and gets its chunks of actions, the episodes are
flattened to steps, whose encoded images wait in the shuffle's buffer; then they are decoded and
resized.
"""
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import robot_work as work  # noqa: E402
import tensorflow as tf  # noqa: E402
import turns  # noqa: E402

STRINGS = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
FEATURES = {"steps/language_instruction": STRINGS,
            "steps/action": tf.io.FixedLenSequenceFeature([7], tf.float32, allow_missing=True),
            **{f"steps/observation/{camera}": STRINGS for camera in work.CAMERAS}}


def episode(record):
    found = tf.io.parse_single_example(record, FEATURES)
    action = found["steps/action"]
    steps = tf.shape(action)[0]
    window = tf.range(steps)[:, None] + tf.range(work.ACTIONS)[None, :]
    return {"action": tf.gather(action, tf.minimum(window, steps - 1)),
            "action_mask": window < steps,
            "language": found["steps/language_instruction"],
            **{camera: found[f"steps/observation/{camera}"] for camera in work.CAMERAS}}


def decode(step):
    for camera in work.CAMERAS:
        image = tf.io.decode_jpeg(step[camera], channels=3, dct_method="INTEGER_FAST")
        image = tf.image.resize(image, [work.SIZE, work.SIZE], antialias=True)
        step[camera] = tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8)
    return step


def pipeline(folder):
    files = work.files(folder)
    options = tf.data.Options()
    options.deterministic = False
    return (tf.data.Dataset.from_tensor_slices(files)
            .shuffle(len(files))
            .interleave(tf.data.TFRecordDataset, cycle_length=len(files),
                        num_parallel_calls=tf.data.AUTOTUNE)
            .map(episode, num_parallel_calls=tf.data.AUTOTUNE)
            .interleave(tf.data.Dataset.from_tensor_slices, cycle_length=16,
                        num_parallel_calls=tf.data.AUTOTUNE)
            .shuffle(work.BUFFER)
            .repeat()
            .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(work.BATCH, drop_remainder=True)
            .prefetch(tf.data.AUTOTUNE)
            .with_options(options))


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
