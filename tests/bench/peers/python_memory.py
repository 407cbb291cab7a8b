"""Prints the peak of anonymous and shared memory in the second and the last quarter of 200,000
batches, and the peak of mapped files, in MiB. usage: python_memory.py TABLE"""
import sys

import recordpipe as rp
import table

BATCHES = 200_000
STEP = 500


def memory(*names):
    with open("/proc/self/status", encoding="ascii") as status:
        values = dict(line.split(":", 1) for line in status)
    return sum(int(values[name].split()[0]) for name in names) / 1024


def main():
    features = {name: rp.FixedLenFeature([], "int64") for name in table.CATEGORIES}
    features[table.RAGGED] = rp.RaggedFeature("int64")
    batches = iter(rp.tfrecords(sys.argv[1]).parse(features).shuffle(16_384, seed=7).repeat()
                   .batch(64).prefetch())
    peaks, file = [0.0] * 4, 0.0
    for i in range(BATCHES):
        next(batches)
        if i % STEP == 0:
            quarter = i * 4 // BATCHES
            peaks[quarter] = max(peaks[quarter], memory("RssAnon", "RssShmem"))
            file = max(file, memory("RssFile"))
    print(peaks[1], peaks[3], file)


if __name__ == "__main__":
    main()
