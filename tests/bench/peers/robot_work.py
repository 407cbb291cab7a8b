"""What the programs of bench_robotics share."""
import glob
import itertools
import time

BATCH = 64
ACTIONS = 8
SIZE = 224
SMALL = 56  # of the cameras of 64x64 with which memory is measured for long
BUFFER = 100_000
CAMERAS = ("image", "wrist_image")
MEASURED = 40  # batches of a measurement


def files(folder):
    return sorted(glob.glob(f"{folder}/*.tfrecord-?????-of-?????"))


def rate(batches):
    """Steps per second."""
    start = time.perf_counter()
    count = sum(1 for _ in itertools.islice(batches, MEASURED))
    return count * BATCH / (time.perf_counter() - start)


def processor_time(batches):
    """Microseconds of all cores per step, when buffers are full."""
    for _ in itertools.islice(batches, MEASURED):
        pass
    start = time.process_time()
    count = sum(1 for _ in itertools.islice(batches, 2 * MEASURED))
    return 1e6 * (time.process_time() - start) / (count * BATCH)


def memory():
    """Anonymous and shared memory, and that of mapped files, in MiB."""
    with open("/proc/self/status", encoding="ascii") as status:
        values = dict(line.split(":", 1) for line in status)
    size = {name: int(values[name].split()[0]) / 1024 for name in ("RssAnon", "RssShmem", "RssFile")}
    return size["RssAnon"] + size["RssShmem"], size["RssFile"]


def report(batches, counts):
    """Prints, for each count of batches: the count, and memory()."""
    done = 0
    for count in counts:
        for _ in itertools.islice(batches, count - done):
            pass
        done = count
        print(count, *(f"{size:.1f}" for size in memory()), flush=True)
