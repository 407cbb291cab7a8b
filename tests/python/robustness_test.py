"""No crash, deadlock or leak, whatever a program does with iterators, functions and threads."""

import dataclasses
import errno
import gc
import os
import subprocess
import sys
import threading
import time
import unittest
import weakref

import recordpipe as rp
from support import FilesTest


def identity(value):
    return value


class Robustness(FilesTest):
    def pipelines(self):
        """Datasets in whose iterators threads of all kinds run."""
        numbers = rp.tfrecords(self.numbered(300)).with_options(threads=3, chunk_size=4)
        examples = rp.tfrecords(self.examples(100)).parse({"id": rp.FixedLenFeature([], "int64")})
        return [
            numbers.shuffle(16, seed=1).prefetch(4),
            numbers.map(identity).batch(4).prefetch(2),
            numbers.cache().filter(len),
            numbers.interleave(lambda value: rp.from_list([value] * 3), cycle_length=2),
            examples.shuffle(10, seed=2).batch(8).prefetch().with_options(threads=2),
            rp.from_generator(lambda: (str(i) for i in range(200))).prefetch(),
        ]

    def script(self, script, *arguments, timeout=60):
        process = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return process.returncode, process.stdout, process.stderr

    def test_an_iterator_collected_by_a_thread_of_its_own_pass(self):
        # A cycle holds the iterator, and a function of its pass runs the garbage collector.
        status, output, errors = self.script(
            """
import gc, threading, time
import recordpipe as rp
main, collected, is_ready = threading.main_thread(), threading.Event(), False
def collect(value):
    if is_ready and threading.current_thread() is not main and not collected.is_set():
        gc.collect()
        collected.set()
    time.sleep(1e-4)
    return value
class Trainer:
    pass
gc.disable()
trainer = Trainer()
trainer.me = trainer
dataset = rp.from_list(range(10_000)).map(collect)
trainer.iterator = iter(dataset.with_options(threads=2, chunk_size=4).prefetch(4))
next(trainer.iterator)
is_ready = True
del trainer
print(collected.wait(30))
"""
        )
        self.assertEqual((status, output, errors), (0, "True\n", ""))

    def test_exceptions_that_take_no_notes(self):
        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            code: int

        class Refusing(Exception):
            def add_note(self, note):
                raise ValueError(note)

        class Misused(Exception):
            __notes__ = 3

        for error in (Frozen(3), Refusing("a"), Misused("b")):

            def fail(_, error=error):
                raise error

            iterator = iter(rp.from_list([1, 2]).map(fail))
            for _ in range(3):
                with self.assertRaises(type(error)) as raised:
                    next(iterator)
                self.assertIs(raised.exception, error)

    def test_notes_name_the_record_once(self):
        error = KeyError("again")

        def fail(*_):
            raise error

        records = rp.tfrecords(self.numbered(3))
        for dataset in (records.map(fail), records.filter(fail), records.scan(0, fail)):
            error.__notes__ = []
            iterator = iter(dataset)
            for _ in range(3):
                with self.assertRaises(KeyError):
                    next(iterator)
            (note,) = error.__notes__
            self.assertRegex(note, "the record of .*numbered.tfrecord at offset 0")

    def test_each_pass_of_a_scan_has_its_own_initial_state(self):
        def count(seen, value):
            seen.append(value)
            return seen, len(seen)

        dataset = rp.from_list([1, 2, 3]).scan([], count)
        self.assertEqual([list(dataset), list(dataset)], [[1, 2, 3], [1, 2, 3]])

    def test_iterators_dropped_at_every_place(self):
        for dataset in self.pipelines():
            for count in (0, 1, 2, 7, 10**6):
                iterator = iter(dataset)
                for _, _ in zip(range(count), iterator, strict=False):
                    pass
                del iterator

    def test_each_element_goes_to_one_of_the_threads(self):
        dataset = rp.tfrecords(self.numbered(2000)).map(int).prefetch().with_options(threads=2)
        iterator = iter(dataset)
        parts = [[] for _ in range(4)]
        threads = [threading.Thread(target=part.extend, args=[iterator]) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(sorted(number for part in parts for number in part), list(range(2000)))

    def test_close_by_another_thread_ends_a_wait(self):
        dataset = rp.tfrecords(self.numbered(3)).repeat().filter(lambda value: time.sleep(0.001))
        for _ in range(5):
            iterator = iter(dataset.prefetch())
            results = []
            thread = threading.Thread(
                target=lambda into=results, iterator=iterator: into.append(list(iterator))
            )
            thread.start()
            time.sleep(0.02)
            iterator.close()
            thread.join(30)
            self.assertEqual(results, [[]])

    def test_memory_threads_and_descriptors_after_many_iterators(self):
        datasets = self.pipelines()

        def resident():
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        def drop(count):
            for number in range(count):
                next(iter(datasets[number % len(datasets)]))

        def settled(folder, most):
            deadline = time.monotonic() + 20
            while len(os.listdir(folder)) > most and time.monotonic() < deadline:
                time.sleep(0.01)  # threads end after their iterator
            return len(os.listdir(folder))

        tasks, descriptors = (len(os.listdir(f"/proc/self/{name}")) for name in ("task", "fd"))
        drop(1000)
        before = resident()
        drop(3000)
        if "LD_PRELOAD" not in os.environ:  # AddressSanitizer keeps freed memory for a while
            self.assertLess(resident() - before, 8 << 20)
        self.assertLessEqual(settled("/proc/self/task", tasks + 1), tasks + 1)  # Ctrl-C's
        self.assertLessEqual(settled("/proc/self/fd", descriptors), descriptors)

    def test_garbage_collection_at_every_step(self):
        class Owner:
            pass

        gone = []
        thresholds = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for dataset in self.pipelines():
                owner = Owner()
                owner.iterator = iter(dataset.map(lambda value: [value]))
                owner.batch = next(owner.iterator)
                owner.itself = owner
                gone.append(weakref.ref(owner))
                for _ in zip(range(20), owner.iterator, strict=False):
                    pass
                del owner
        finally:
            gc.set_threshold(*thresholds)
        gc.collect()
        self.assertEqual([reference() for reference in gone], [None] * len(gone))

    def test_a_function_may_iterate_datasets_but_not_wait_for_its_own_iterator(self):
        inner = rp.from_list([1, 2, 3]).map(identity).with_options(threads=2)
        dataset = rp.from_list([10, 20]).map(lambda value: value + sum(inner))
        self.assertEqual(list(dataset.with_options(threads=2)), [16, 26])
        # Also the Dataset that it belongs to.
        depth = []

        def recurse(value):
            if len(depth) == 3:
                return value
            depth.append(value)
            return list(itself)

        itself = rp.from_list([1]).map(recurse)
        self.assertEqual(list(itself), [[[[1]]]])

    def test_a_function_that_uses_the_iterator_that_runs_it(self):
        used = []
        for use in (next, list, lambda iterator: iterator.state_dict()):
            dataset = rp.from_list([1, 2, 3]).map(lambda value, use=use: use(used[-1]))
            used.append(iter(dataset.with_options(threads=1)))
            with self.assertRaisesRegex(rp.InvalidArgumentError, "in the middle of next"):
                next(used[-1])
        closing = rp.from_list([1, 2, 3, 4]).map(lambda value: running.close())
        running = iter(closing.with_options(threads=1))
        self.assertEqual(list(running), [])
        # Elements that other threads have in work may be the last ones.
        running = iter(closing.with_options(threads=2))
        self.assertIn(list(running), ([], [None], [None, None]))

    def test_exceptions_of_every_class_come_through(self):
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError):
            for threads in (1, 3):

                def fail(value, kind=kind):
                    raise kind("from the function")

                dataset = rp.from_list(list(range(20))).map(fail).with_options(threads=threads)
                with self.subTest(kind=kind, threads=threads):
                    try:
                        next(iter(dataset))
                    except kind as error:
                        self.assertEqual(str(error), "from the function")
                    else:
                        self.fail("no exception")

    def test_stop_iteration_from_a_function_does_not_end_the_stream(self):
        # As in a generator (PEP 479): a pass that ended early without a word would lose elements.
        def fail(value):
            raise StopIteration("from the function")

        for threads in (1, 3):
            with self.subTest(threads=threads):
                dataset = rp.from_list(list(range(20))).map(fail).with_options(threads=threads)
                with self.assertRaises(RuntimeError) as raised:
                    list(dataset)
                self.assertIsInstance(raised.exception.__cause__, StopIteration)

    def test_deep_recursion_and_odd_values_in_functions(self):
        def deep(value):
            return deep(value)

        with self.assertRaises(RecursionError):
            list(rp.from_list([1] * 10).map(deep).prefetch().with_options(threads=3))
        odd = [None, type, ..., 10**1000, b"x" * (10 << 20), float("nan"), object(), sys, []]
        got = list(rp.from_list(range(9)).map(lambda i: odd[i]).with_options(threads=2))
        self.assertTrue(all(a is b for a, b in zip(got, odd, strict=True)))

    def test_the_interpreter_ends_in_every_state(self):
        begin = """
import sys, threading
import recordpipe as rp
def identity(value):
    return value
dataset = rp.tfrecords(sys.argv[1]).repeat().map(identity).prefetch().with_options(threads=3)
iterator = iter(dataset)
next(iterator)
"""
        ends = {
            "a global": "",
            "a cycle": "cycle = [iterator, dataset]; cycle.append(cycle); del iterator",
            "a function's global": "identity.iterator = iterator; del iterator",
            "daemon threads": """
def consume():
    for _ in iterator:
        pass
for _ in range(3):
    threading.Thread(target=consume, daemon=True).start()
""",
            "a generator half-way": """
half = iter(rp.from_generator(lambda: iter(range(10**6))).map(identity).prefetch())
next(half)
""",
            "a batch": """
kept = next(iter(rp.from_list(list(range(100))).batch(4).prefetch()))
sys.modules["kept"] = [kept, iterator]
""",
        }
        path = self.numbered(50)
        for name, end in ends.items():
            with self.subTest(name):
                self.assertEqual(self.script(begin + end, path), (0, "", ""))
        with self.subTest("a daemon thread that writes what it reads"):
            write = """
def write():
    features = ({"size": len(record)} for record in iterator)
    rp.write_tfrecords(sys.argv[2], features)
threading.Thread(target=write, daemon=True).start()
import time
time.sleep(0.1)
"""
            written = self.folder / "written"
            self.assertEqual(self.script(begin + write, path, written), (0, "", ""))
            self.assertFalse(written.exists(), "a file of some of the records looks whole")
        with self.subTest("an exception"):
            status, _, errors = self.script(begin + "1 / 0", path)
            self.assertEqual(
                (status, errors.splitlines()[-1]), (1, "ZeroDivisionError: division by zero")
            )

    def test_a_function_that_uses_its_own_iterator(self):
        script = """
import faulthandler, recordpipe as rp, threading
faulthandler.dump_traceback_later(50, exit=True)
for operator in ("map", "filter", "flat_map", "scan", "generator"):
    for threads in (1, 3):
        for prefetch in (False, True):
            for use in ("state_dict", "position", "next", "load_state_dict", "stats", "close"):
                refused = []
                ready = threading.Event()
                def call(*arguments):
                    ready.wait()
                    try:
                        if use == "position":
                            iterator.position
                        elif use == "next":
                            next(iterator)
                        elif use == "load_state_dict":
                            iterator.load_state_dict(state)
                        else:
                            getattr(iterator, use)()
                    except rp.InvalidArgumentError as error:
                        refused.append(str(error))
                def generate():
                    for i in range(100):
                        call()
                        yield i
                numbers = rp.from_list(range(100))
                dataset = {
                    "map": lambda: numbers.map(lambda x: (call(), x)[1]),
                    "filter": lambda: numbers.filter(lambda x: (call(), True)[1]),
                    "flat_map": lambda: numbers.flat_map(lambda x: (call(), [x])[1]),
                    "scan": lambda: numbers.scan(0, lambda s, x: (call(), (s, x))[1]),
                    "generator": lambda: rp.from_generator(generate),
                }[operator]()
                dataset = dataset.with_options(threads=threads, chunk_size=3)
                if prefetch:
                    dataset = dataset.prefetch(2)
                iterator = iter(dataset)
                state = iter(numbers).state_dict()
                ready.set()
                seen = list(iterator)
                if use == "close":
                    assert len(seen) < 100 and not refused, (operator, use, seen)
                else:
                    assert seen == list(range(100)) and len(refused) == 100, (operator, use)
                iterator.close()
# Another iterator, made inside or outside, is no problem.
outer = iter(rp.from_list(range(1000)).map(lambda x: x).prefetch())
inner = rp.from_list(range(3)).map(lambda x: x).prefetch()
dataset = rp.from_list(range(100)).map(lambda x: (next(outer), list(inner))).prefetch()
assert [pair[1] for pair in dataset] == [[0, 1, 2]] * 100
print("done")
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_os_errors_have_the_name_of_their_file(self):
        path = str(self.folder / "missing.tfrecord")
        with self.assertRaises(FileNotFoundError) as caught:
            list(rp.tfrecords(path))
        error = caught.exception
        self.assertEqual((error.filename, error.errno), (path, errno.ENOENT))
        self.assertTrue(str(error).startswith(path), str(error))
        self.assertNotIn("Errno", str(error))


if __name__ == "__main__":
    unittest.main()
