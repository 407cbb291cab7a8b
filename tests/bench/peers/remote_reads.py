"""Reads the objects of folders with the Python package, and prints a line for each: seconds of
verify(), and of a pass of batches. The first folder is read once more before, to connect.

usage: remote_reads.py FOLDER...
"""
import sys
import time

import recordpipe as rp


def verify(folder):
    assert rp.verify(folder).intact


def batches(folder):
    for _ in rp.tfrecords(folder).shuffle(1000, seed=7).map(len).batch(64).prefetch(2):
        pass


def main():
    verify(sys.argv[1])
    for folder in sys.argv[1:]:
        seconds = []
        for read in (verify, batches):
            start = time.perf_counter()
            read(folder)
            seconds.append(time.perf_counter() - start)
        print(*seconds, flush=True)


if __name__ == "__main__":
    main()
