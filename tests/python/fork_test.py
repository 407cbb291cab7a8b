"""Processes made by fork(), also while threads of the parent iterate; spawn and forkserver."""

import gzip
import multiprocessing
import pickle
import subprocess
import sys
import unittest

import recordpipe as rp
from support import FilesTest

# The parent's threads are anywhere in the library when the main thread forks: within locked
# sections, waiting for the GIL, reading ahead. They run for a few random milliseconds before each
# fork, and pause while the child checks everything. It ends in one of three ways.
FORKS = """
import faulthandler, gc, os, random, signal, sys, threading, time
import numpy
import recordpipe as rp

gc.freeze()  # what the modules have made is no garbage in any child
plain, compressed, forks = sys.argv[1], sys.argv[2], int(sys.argv[3])

def examples():
    return rp.tfrecords(plain).parse({"id": rp.FixedLenFeature([], "int64")})

def last_digit(value):
    return value[-1:]

datasets = [
    examples().shuffle(64, seed=3).batch(16).prefetch().with_options(threads=4),
    rp.tfrecords(plain).cache().shuffle(50, seed=2).with_options(threads=3, chunk_size=8),
    rp.tfrecords(compressed).map(last_digit).prefetch(2).with_options(threads=2, chunk_size=4),
    rp.tfrecords(plain).map(len).cache().batch(7).with_options(threads=3, chunk_size=4),
    rp.tfrecords([plain, plain], cycle_length=2).batch(5),
]

def content(element):
    return str({key: value.tolist() for key, value in element.items()}
               if isinstance(element, dict) else
               element.tolist() if hasattr(element, "tolist") else element)

def all_of(dataset):
    return [content(element) for element in dataset.epoch(1)]

expected = [all_of(dataset) for dataset in datasets]
examples_by_index = rp.tfrecords(plain)
record_7 = examples_by_index[7]
held = []
ended = threading.Event()
running = threading.Event()

def consume(dataset):
    endless = iter(dataset.repeat())
    for number, element in enumerate(endless):
        running.wait()
        if ended.is_set():
            return
        if number % 5 == 0:
            held.append(element)
            del held[:-20]
        examples_by_index[number % 7]

# Most iterators of the threads are of the very datasets that the children iterate, and the caches
# fill while they do.
uncached = [rp.tfrecords(plain).cache().batch(3), rp.tfrecords(plain).map(len).cache().batch(9)]

def refill():
    while not ended.is_set():
        for dataset in uncached:
            running.wait()
            for _ in zip(range(3), dataset):
                pass

inherited = [iter(dataset) for dataset in datasets]
for iterator in inherited:
    next(iterator)
threads = [threading.Thread(target=consume, args=[dataset]) for dataset in datasets[:3]]
threads.append(threading.Thread(target=refill))

def check(number):
    for iterator in inherited:
        for use in (lambda: next(iterator), iterator.state_dict, iterator.stats,
                    lambda: iterator.position, lambda: iterator.epoch):
            try:
                use()
            except rp.InvalidArgumentError as error:
                assert "made before fork()" in str(error) and "new one" in str(error), error
            else:
                raise AssertionError("an inherited iterator works")
    inherited[0].close()
    for at in {number % len(datasets), 0}:
        got = all_of(datasets[at])
        assert got == expected[at], (at, got[:3], expected[at][:3])
    for dataset in uncached:
        assert sum(1 for _ in dataset) > 10
    assert examples_by_index[7] == record_7
    for element in held:
        content(element)
    held.clear()
    if number % 2:
        inherited.clear()
    gc.collect()

moments = random.Random(1)
for thread in threads:
    thread.start()
for number in range(forks):
    running.set()
    time.sleep(moments.uniform(0.001, 0.006))
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(40, exit=True)
        check(number)
        if number % 3 == 0:
            os._exit(0)
        if number % 3 == 1:
            sys.exit(0)
        raise SystemExit(0)
    running.clear()
    deadline = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = "hung"
            break
        time.sleep(0.001)
    if status != 0:
        print("child", number, "ended with", status, flush=True)
        ended.set()
        os._exit(1)
ended.set()
running.set()
for thread in threads:
    thread.join()
print("forked", forks, [next(iterator) is not None for iterator in inherited].count(True))
"""


def total(dataset, queue):
    queue.put([sum(len(record) for record in dataset), len(dataset)])


def identity(value):
    return value


class Fork(FilesTest):
    def script(self, script, *arguments, timeout=120):
        # Python 3.12 and newer warn of each fork() in a process with threads.
        no_warning = ["-W", "ignore:This process:DeprecationWarning"]
        process = subprocess.run(
            [sys.executable, *no_warning, "-c", script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        self.assertEqual((process.returncode, process.stderr), (0, ""), process.stdout)
        return process.stdout

    def test_200_forks_while_threads_iterate(self):
        plain = self.examples(100)
        compressed = self.folder / "compressed.tfrecord.gz"
        compressed.write_bytes(gzip.compress(plain.read_bytes()))
        self.assertEqual(self.script(FORKS, plain, compressed, 200), "forked 200 5\n")

    def test_children_of_children_and_their_threads(self):
        output = self.script(
            """
import os, sys, threading
import recordpipe as rp
dataset = rp.tfrecords(sys.argv[1]).map(len).with_options(threads=3, chunk_size=2).prefetch()
expected = list(dataset)
for generation in range(4):
    iterator = iter(dataset)
    next(iterator)
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        assert len(list(iterator)) == len(expected) - 1
        if generation == 0:
            print("ok")
        break
    lists = []
    threads = [threading.Thread(target=lambda: lists.append(list(dataset))) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert lists == [expected] * 3
    parallel = iter(rp.tfrecords(sys.argv[1]).map(len).with_options(threads=3, chunk_size=2))
    next(parallel)
    assert len(os.listdir("/proc/self/task")) > 2, "the child computes on threads, too"
""",
            self.numbered(200),
        )
        self.assertEqual(output, "ok\n")

    def test_a_child_leaves_the_files_of_a_writer_alone(self):
        path = self.folder / "written.tfrecord"
        output = self.script(
            """
import os, sys
import recordpipe as rp
path = sys.argv[1]
for compression in (None, "gzip", "zstd"):
    writer = rp.Writer(path, compression=compression, index=compression is None)
    writer.write(b"one")
    for way in ("abandon", "close", "error", "exit"):
        child = os.fork()
        if child == 0:
            if way == "close":
                try:
                    writer.close()
                except rp.InvalidArgumentError as error:
                    assert path in str(error) and "made before fork()" in str(error), error
                else:
                    raise AssertionError("the child closes the parent's file")
            elif way == "error":
                try:
                    with writer:
                        raise KeyError
                except KeyError:
                    pass
            elif way == "abandon":
                del writer
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert not os.path.exists(path)
    # A child that lives on doesn't hold the lock of the file.
    child = os.fork()
    if child == 0:
        import time
        time.sleep(600)
    writer.write(b"two")
    writer.close()
    with rp.Writer(path, compression=compression) as again:
        again.write(b"three")
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert list(rp.tfrecords(path)) == [b"three"]
    os.unlink(path)
    assert not [name for name in os.listdir(os.path.dirname(path)) if "partial" in name]
print("ok")
""",
            path,
        )
        self.assertEqual(output, "ok\n")

    def test_control_c_in_a_child(self):
        output = self.script(
            """
import os, signal, sys, threading, time
import recordpipe as rp

def slow(value):
    time.sleep(0.01)
    return False

endless = rp.tfrecords(sys.argv[1]).repeat().filter(slow).with_options(threads=2).prefetch()
for generation in range(2):
    iterator = iter(endless)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        next(iterator)
    except KeyboardInterrupt:
        pass
    iterator.close()
    if generation == 0:
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("ok")
            break
""",
            self.numbered(5),
        )
        self.assertEqual(output, "ok\n")


class Processes(FilesTest):
    def test_datasets_travel_to_processes_of_each_kind(self):
        path = self.numbered(100)
        dataset = rp.tfrecords(path).shuffle(seed=5).prefetch()
        running = iter(dataset)
        next(running)
        for method in ("fork", "forkserver", "spawn"):
            with self.subTest(method=method):
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                process = context.Process(target=total, args=(dataset, queue))
                process.start()
                self.addCleanup(process.kill)
                self.assertEqual(queue.get(timeout=60), [190, 100])
                process.join(timeout=60)
                self.assertEqual(process.exitcode, 0)

    def test_datasets_pickle_and_iterators_say_why_they_do_not(self):
        dataset = rp.tfrecords(self.examples(6)).parse({"id": rp.FixedLenFeature([], "int64")})
        dataset = dataset.shuffle(4, seed=1).batch(4)
        copy = pickle.loads(pickle.dumps(dataset))
        self.assertEqual(str(list(copy.epoch(2))), str(list(dataset.epoch(2))))
        with self.assertRaisesRegex(TypeError, "state_dict"):
            pickle.dumps(iter(dataset))


class Threads(FilesTest):
    def test_import_and_building_datasets_start_no_thread(self):
        process = subprocess.run(
            [
                sys.executable,
                "-c",
                """
import os, sys
before = len(os.listdir("/proc/self/task"))
import recordpipe as rp
dataset = rp.tfrecords(sys.argv[1]).shuffle(10, seed=1).map(len).batch(2).prefetch()
dataset = dataset.with_options(threads=4)
len(rp.tfrecords(sys.argv[1])), rp.tfrecords(sys.argv[1])[1], repr(dataset)
iterator = iter(dataset)
# NumPy's BLAS starts threads when it is imported.
import numpy
numpys = len(os.listdir("/proc/self/task"))
after = len(os.listdir("/proc/self/task"))
next(iterator)
print(before, after - numpys, len(os.listdir("/proc/self/task")) > after)
""",
                self.numbered(50),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((process.stdout, process.stderr), ("1 0 True\n", ""))


if __name__ == "__main__":
    unittest.main()
