"""recordpipe's rows of bench_robotics: single steps of episodes.

usage: robot_steps.py rate FOLDER          turns.py describes the output
       robot_steps.py first FOLDER         the seconds to the first batch
       robot_steps.py processor FOLDER     microseconds of all cores per step
       robot_steps.py memory FOLDER N ...  memory after each of N batches (robot_work.py)
       robot_steps.py memory-actions FOLDER N ...  the same without images
       robot_steps.py resume FOLDER        milliseconds of saving and of restoring a state in the
                                           middle of an epoch, the next batch's, whether it is equal
"""
import sys
import time

import numpy as np
import recordpipe as rp
import robot_work as work
import turns


def pipeline(folder, images=True):
    names = {camera: f"observation/{camera}" for camera in work.CAMERAS} if images else {}
    ds = rp.tfds(folder).steps(
        features={**names, "action": "action", "language": "language_instruction"},
        offsets={"action": range(work.ACTIONS)})
    for camera in names:
        ds = ds.decode_image(camera, channels=3, dct="fast").resize(camera, (work.SIZE, work.SIZE))
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


def main():
    mode, folder, *counts = sys.argv[1:]
    if mode == "first":
        start = time.perf_counter()
        next(iter(pipeline(folder)))
        print(time.perf_counter() - start)
    elif mode == "resume":
        resume(folder)
    elif mode == "processor":
        print(work.processor_time(iter(pipeline(folder))))
    elif mode == "rate":
        batches = iter(pipeline(folder))
        turns.answer(lambda: work.rate(batches))
    else:
        work.report(iter(pipeline(folder, images=mode == "memory")), map(int, counts))


if __name__ == "__main__":
    main()
