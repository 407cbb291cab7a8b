"""Ctrl-C while an iterator waits; use from several threads; the end of the interpreter."""

import signal
import subprocess
import sys
import time
import unittest

from support import FilesTest

# Waits for ever: every record fails, and is skipped. say(): unlike print(), os.write() may be
# called by a signal handler that interrupts another one.
ENDLESS = """
import os, signal, sys
import recordpipe as rp
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
dataset = rp.tfrecords(sys.argv[1]).repeat().ignore_errors()
if sys.argv[2] == "prefetch":
    dataset = dataset.prefetch()
iterator = iter(dataset)
"""


class Interrupt(FilesTest):
    def start(self, script, *arguments):
        path = self.numbered(1)
        data = bytearray(path.read_bytes())
        data[12] ^= 1
        path.write_bytes(data)
        process = subprocess.Popen(
            [sys.executable, "-c", ENDLESS + script, path, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_handlers_of_other_signals_run_during_a_wait(self):
        process = self.start(
            """
class Alarm(Exception):
    pass
def ring(*_):
    raise Alarm
for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, ring)
    try:
        say("waiting")
        next(iterator)
    except Alarm:
        say("rang", iterator.position)
""",
            "plain",
        )
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
            self.assertEqual(process.stdout.readline(), "waiting\n")
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), "rang 0\n")

    def test_handlers_of_any_signal_run_after_the_first_one(self):
        # Nothing tells the wait about SIGWINCH, as about a signal that comes while the handler of
        # the library is being installed.
        process = self.start(
            """
def ring(number, frame):
    say("rang", number == signal.SIGWINCH)
    if number == signal.SIGWINCH:
        raise InterruptedError
for number in (signal.SIGALRM, signal.SIGWINCH):
    signal.signal(number, ring)
try:
    say("waiting")
    next(iterator)
except InterruptedError:
    say("ended")
""",
            "plain",
        )
        self.assertEqual(process.stdout.readline(), "waiting\n")
        process.send_signal(signal.SIGALRM)
        self.assertEqual(process.stdout.readline(), "rang False\n")
        time.sleep(0.2)  # until the wait goes on
        process.send_signal(signal.SIGWINCH)
        self.assertEqual(process.stdout.readline(), "rang True\n")
        self.assertEqual(process.stdout.readline(), "ended\n")

    def test_control_c_ends_the_wait_and_the_iterator_goes_on(self):
        for mode in ("plain", "prefetch"):
            process = self.start(
                """
for attempt in range(2):
    try:
        say("waiting")
        next(iterator)
    except KeyboardInterrupt:
        say("interrupted", iterator.position)
iterator.load_state_dict(iterator.state_dict())
say("restored", iterator.position)
""",
                mode,
            )
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), "waiting\n")
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.stdout.readline(), "interrupted 0\n")
            # communicate() would lose what readline() has read ahead.
            self.assertEqual(process.stdout.read(), "restored 0\n")
            self.assertEqual((process.wait(), process.stderr.read()), (0, ""))

    def test_control_c_while_a_function_runs(self):
        # The function itself may run the signal's handler: its thread is the one that iterates.
        script = """
import collections, os, signal, time
import recordpipe as rp
def f(value):
    value = int(value["a"][0]) if isinstance(value, dict) else value
    calls[value] += 1
    if value == 100 and calls[value] == 1:
        os.kill(os.getpid(), signal.SIGINT)
    if not interrupted:
        time.sleep(0.0005 if value < 100 else 0.1)  # so that the interrupt is noticed before 200
    return value
numbers = rp.from_list(range(300))
for threads in (1, 3):
    for dataset in (
        numbers.map(f),
        numbers.map(f).prefetch(),
        numbers.map(f).cache(),
        numbers.filter(lambda value: f(value) >= 0),
        numbers.flat_map(lambda value: [f(value)]),
        numbers.scan(0, lambda state, value: (state, f(value))),
        rp.from_generator(lambda: map(f, range(300))),
        rp.from_list([{"a": i} for i in range(300)]).batch(1).map(f),
    ):
        calls = collections.Counter()
        interrupted = False
        iterator = iter(dataset.with_options(threads=threads))
        got = []
        try:
            got.extend(iterator)
        except KeyboardInterrupt:
            interrupted = True
            print(len(got) <= 100, sum(calls.values()) < 200, end=" ")
        print(iterator.position == len(got), got + list(iterator) == list(range(300)))
"""
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.stdout, done.stderr), ("True True True True\n" * 16, ""))

    def test_control_c_loses_no_element(self):
        # The signal comes while the last element of a wait is computed: next() has an element and
        # an exception to raise.
        script = """
import os, signal, time
import recordpipe as rp
def f(value):
    if not value % 10 and value not in interrupted:
        interrupted.append(value)
        os.kill(os.getpid(), signal.SIGINT)
    return value
for threads in (1, 2):
    interrupted, got = [], []
    options = {"threads": threads, "chunk_size": 1}
    iterator = iter(rp.from_list(range(100)).map(f).prefetch(1).with_options(**options))
    while True:
        try:
            got.append(next(iterator))
        except KeyboardInterrupt:
            assert iterator.position == len(got), (iterator.position, got)
        except StopIteration:
            break
    print(got == list(range(100)), len(interrupted))
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.stdout, done.stderr), ("True 10\n" * 2, ""))

    def test_control_c_ends_the_way_to_a_state(self):
        process = self.start(
            """
import time
def add(state, value):
    if slow:
        if value == 5:
            say("restoring")
        time.sleep(0.1)
    return state + [value][:1], value
slow = False
dataset = rp.from_list(range(1000)).scan([], add).with_options(chunk_size=4)
iterator = iter(dataset)
for _ in range(900):
    next(iterator)
state = iterator.state_dict()
slow = True
try:
    iterator.load_state_dict(state)
except KeyboardInterrupt:
    say("interrupted", iterator.position)
slow = False
iterator.load_state_dict(state)
say(next(iterator))
""",
            "plain",
        )
        self.assertEqual(process.stdout.readline(), "restoring\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.read(), "interrupted 0\n900\n")
        self.assertEqual((process.wait(), process.stderr.read()), (0, ""))

    def test_control_c_does_not_wait_for_slow_functions(self):
        process = self.start(
            """
import time
dataset = rp.from_list(range(1000)).map(lambda value: time.sleep(0.1)).prefetch()
try:
    say("waiting")
    list(dataset.with_options(threads=3))
except KeyboardInterrupt:
    say("interrupted")
""",
            "plain",
        )
        self.assertEqual(process.stdout.readline(), "waiting\n")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        self.assertEqual(process.stdout.read(), "interrupted\n")
        self.assertEqual((process.wait(), process.stderr.read()), (0, ""))
        self.assertLess(time.monotonic() - begin, 5)

    def test_control_c_ends_the_count_of_records(self):
        path = self.numbered(20_000)
        for count in ("len(dataset)", "dataset[0]"):
            script = f"""
import sys, recordpipe as rp
dataset = rp.tfrecords([sys.argv[1]] * 50_000)
try:
    print("counting", flush=True)
    {count}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
            with (
                self.subTest(count=count),
                subprocess.Popen(
                    [sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True
                ) as process,
            ):
                self.addCleanup(process.kill)
                self.assertEqual(process.stdout.readline(), "counting\n")
                time.sleep(0.2)
                self.assertIsNone(process.poll())
                start = time.monotonic()
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.stdout.readline(), "interrupted\n")
                self.assertLess(time.monotonic() - start, 20)

    def test_a_handler_that_raises_nothing_does_not_end_the_wait(self):
        process = self.start(
            """
signal.signal(signal.SIGINT, lambda *_: say("noted"))
say("waiting")
next(iterator)
""",
            "plain",
        )
        self.assertEqual(process.stdout.readline(), "waiting\n")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline(), "noted\n")
        self.assertIsNone(process.poll())

    def test_a_handler_that_uses_the_iterator_in_the_middle_of_next(self):
        process = self.start(
            """
def save(*_):
    for method in (iterator.state_dict, iterator.stats, iterator.__next__):
        try:
            method()
        except rp.InvalidArgumentError as error:
            print(error.reason, flush=True)
    iterator.close()
signal.signal(signal.SIGINT, save)
print("waiting", flush=True)
print(list(iterator))
""",
            "plain",
        )
        self.assertEqual(process.stdout.readline(), "waiting\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        expected = "the iterator is in the middle of next()\n" * 3 + "[]\n"
        self.assertEqual((process.returncode, output, errors), (0, expected, ""))

    def test_a_daemon_thread_may_wait_for_the_interpreter_when_it_ends(self):
        script = """
import os, sys, threading
import recordpipe as rp
path = sys.argv[1]
def forever(function):
    while True:
        function()
records = rp.tfrecords(path)
started = threading.Barrier(4)
def thread(function):
    function()
    started.wait()
    forever(function)
for function in (
    lambda: list(rp.tfrecords(path).batch(3).prefetch()),
    lambda: list(rp.tfrecords(path).map(len).batch(3)),
    lambda: records[7],
):
    threading.Thread(target=thread, args=[function], daemon=True).start()
started.wait()
"""
        path = self.numbered(100)
        for _ in range(10):
            ended = subprocess.run(
                [sys.executable, "-c", script, path], capture_output=True, text=True, timeout=60
            )
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_the_interpreter_may_end_while_iterators_run(self):
        for script in (
            "pass",
            "import os; os._exit(0)",
            "sys.exit(0)",
            "import threading; threading.Thread(target=list, args=[iterator], daemon=True).start()",
        ):
            with self.subTest(script=script):
                process = self.start(
                    f"""
many = iter(rp.from_list(range(10**5)).map(lambda x: x).batch(10).prefetch())
next(many)
{script}
""",
                    "plain",
                )
                output, errors = process.communicate(timeout=60)
                self.assertEqual((process.returncode, output, errors), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
