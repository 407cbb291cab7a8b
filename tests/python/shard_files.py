"""Shards, functions of a shard, and executors, for the tests of functions on many files."""

import concurrent.futures
import multiprocessing
import threading

import recordpipe as rp
from support import FilesTest


def count(path):
    return len(rp.tfrecords(path))


def count_or_fail(bad, path):
    if path.endswith(bad):
        raise ValueError("bad luck")
    return count(path)


def processes():
    # Not fork: threads of other tests may hold locks.
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=context)


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Remembers how many tasks were submitted and have not ended at a time."""

    def __init__(self):
        super().__init__(2)
        self.running = self.most = 0
        self.lock = threading.Lock()

    def submit(self, *arguments):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        future = super().submit(*arguments)
        future.add_done_callback(self.ended)
        return future

    def ended(self, _):
        with self.lock:
            self.running -= 1


class Twice(concurrent.futures.ThreadPoolExecutor):
    """Runs each task twice, at the same time; the caller waits now for the first of the two, now
    for the second one."""

    def __init__(self):
        super().__init__(8)
        self.others = []

    def submit(self, *arguments):
        two = [super().submit(*arguments), super().submit(*arguments)]
        self.others.append(two.pop(len(self.others) % 2))
        return two[0]


class ShardsTest(FilesTest):
    def shards(self, counts=(3, 0, 5, 2, 7)):
        for i, size in enumerate(counts):
            self.examples(size, f"train-{i:03}.tfrecord", first=10 * i)
        return str(self.folder / "train-*")
