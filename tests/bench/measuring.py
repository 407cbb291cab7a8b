"""Measures the time and memory of commands and makes large files, for the benchmark scripts."""
import base64
import os
import pathlib
import statistics
import subprocess
import time

RECORDS_OF_30_MB = 100


def timed(*command, stderr=None):
    """Returns the command's seconds, and its maximum resident set in MiB.

    The latter includes the memory of this process at the start of the command: keep this process
    small.
    """
    start = time.perf_counter()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                          stderr=stderr) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return seconds, usage.ru_maxrss / 1024


def medians(measured, floor):
    """Returns the speed relative to the floor, from the times of each round: median, minimum and
    maximum."""
    ratios = [f / m for m, f in zip(measured, floor)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def small_records(tfrecord, data, path, copies=25):
    """Writes records with an image and a label: `copies` times the 40,000 records of the training
    file."""
    train = pathlib.Path(data) / "train.tfrecords"
    timed(tfrecord, "convert", *[train] * copies, "-o", path)
    return path


def large_records(tfrecord, data, path):
    """Writes 100 records, each with an image of 30 MB and a label."""
    line = path.with_suffix(".jsonl")
    with open(pathlib.Path(data) / "train.tfrecords", "rb") as train, open(line, "w") as out:
        out.write('{"label": 3, "image": {"base64": "')
        for _ in range(100):
            out.write(base64.b64encode(train.read(300_000)).decode())
        out.write('"}}\n')
    one = path.with_suffix(".one")
    timed(tfrecord, "create", line, "-o", one)
    timed(tfrecord, "convert", *[one] * RECORDS_OF_30_MB, "-o", path)
    line.unlink()
    one.unlink()
    return path
