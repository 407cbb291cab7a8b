"""Signals that come again and again, as those of a timer, while an iterator waits."""

import subprocess
import sys
import unittest

from support import FilesTest

# collect(): the elements, and the exceptions that handlers have raised on the way. Handlers may
# raise only while `allowed`, within list.extend(), which runs no code of Python between two
# elements: elsewhere, an exception could come between next() and the use of its element.
START = """
import collections, gc, os, random, signal, sys, threading, time
import recordpipe as rp
class Raised(Exception):
    pass
allowed = False
sent, rings = 0, 0
def throw():
    global allowed, sent
    allowed = False
    sent += 1
    raise Raised
def every(seconds, handler):
    def ring(*_):
        global rings
        rings += 1
        handler()
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
def collect(iterator, after=lambda got: None):
    global allowed
    got, caught = [], 0
    while True:
        try:
            allowed = True
            got.extend(iterator)
            allowed = False
            return got, caught
        except Raised:
            caught += 1
            after(got)
calls = collections.Counter()
def slow(value):
    calls[value] += 1
    time.sleep(seconds)
    return value
seconds = 0.02
def variants(dataset, chunk_size=4):
    for threads in (1, 2):
        for ahead in (dataset, dataset.prefetch(1)):
            yield ahead.with_options(threads=threads, chunk_size=chunk_size)
"""


class Signals(FilesTest):
    def run_script(self, script, *arguments):
        # Python 3.12 and newer warn of each fork() in a process with threads.
        options = ["-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"]
        process = subprocess.run(
            [sys.executable, *options, "-c", START + script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual((process.returncode, process.stderr), (0, ""), process.stdout)
        return process.stdout

    def test_what_handlers_raise_reaches_the_caller_and_no_element_is_lost(self):
        # Two sources, one of which the kernel may deliver to any thread. Handlers ran in functions
        # that were computed again on the way to the place of a stopped pass; and functions that
        # failed because the pass was about to be stopped failed the pass.
        output = self.run_script("""
def maybe(*_):
    if allowed and random.random() < 0.3:
        throw()
def ring(*_):
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 0.002))
    maybe()
over = False
def kill():
    while not over:
        time.sleep(random.uniform(0, 0.002))
        os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGALRM, ring)
signal.signal(signal.SIGUSR1, maybe)
source = threading.Thread(target=kill)
source.start()
signal.setitimer(signal.ITIMER_REAL, 0.001)
dataset = rp.from_list(range(3000)).map(lambda x: x).filter(lambda x: x % 3)
def check_place(got):
    assert iterator.position == len(got), (iterator.position, len(got))
    if len(got) % 2:
        iterator.load_state_dict(iterator.state_dict())
for after in (lambda got: None, check_place):
    for _ in range(3):
        for options in variants(dataset, 16):
            before = sent
            iterator = iter(options)
            got, caught = collect(iterator, after)
            print(got == [x for x in range(3000) if x % 3], caught == sent - before)
over = True
source.join()
signal.setitimer(signal.ITIMER_REAL, 0)
""")
        self.assertEqual(output, "True True\n" * 24)

    def test_a_timer_shorter_than_an_element_does_not_begin_it_again(self):
        output = self.run_script("""
for handler in (lambda: None, lambda: allowed and throw()):
    every(0.005, handler)
    for dataset in variants(rp.from_list(range(12)).map(slow)):
        rings = 0
        calls.clear()
        got, _ = collect(iter(dataset))
        # The first signal stops the chunks in work, later ones nothing.
        print(got == list(range(12)), max(calls.values()) <= 2, rings > 1)
signal.setitimer(signal.ITIMER_REAL, 0)
""")
        self.assertEqual(output, "True True True\n" * 8)

    def test_the_way_to_a_state_ends_beside_a_timer(self):
        output = self.run_script("""
def add(state, value):
    return state, slow(value) if slowly else value
slowly = False
iterator = iter(rp.from_list(range(100)).scan(None, add))
for _ in range(20):
    next(iterator)
state = iterator.state_dict()
slowly = True
every(0.005, lambda: None)
iterator.load_state_dict(state)
slowly = False
print(rings > 1, iterator.position, list(iterator) == list(range(20, 100)))
# An exception ends it; the iterator then starts its epoch again, unless it was at the place.
slowly = True
for _ in range(2):
    every(0.005, lambda: allowed and throw())
    try:
        allowed = True
        iterator.load_state_dict(state)
    except Raised:
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("raised", iterator.position in (0, 20))
slowly = False
place = iterator.position
print(list(iterator) == list(range(place, 100)))
""")
        self.assertEqual(output, "True 20 True\nraised True\nraised True\nTrue\n")

    def test_a_count_of_records_ends_beside_a_timer(self):
        output = self.run_script(
            """
dataset = rp.tfrecords([sys.argv[1]] * 5000)
every(0.001, lambda: None)
print(len(dataset), rings > 1)
signal.setitimer(signal.ITIMER_REAL, 0)
""",
            self.numbered(100),
        )
        self.assertEqual(output, "500000 True\n")

    def test_control_c_after_a_signal_stops_the_functions(self):
        output = self.run_script("""
def interrupt(value):
    if value in to_send:
        os.kill(os.getpid(), to_send.pop(value))
    return slow(value)
for dataset in variants(rp.from_list(range(40)).map(interrupt), 20):
    every(0, lambda: None)
    to_send = {8: signal.SIGALRM, 12: signal.SIGINT}
    calls.clear()
    seconds = 0.02
    iterator = iter(dataset)
    got = []
    try:
        got.extend(iterator)
    except KeyboardInterrupt:
        begun = sum(calls.values())
        time.sleep(0.2)
        print(sum(calls.values()) - begun <= 2, iterator.position == len(got), end=" ")
    seconds = 0
    print(got + list(iterator) == list(range(40)))
""")
        self.assertEqual(output, "True True True\n" * 4)

    def test_the_failure_of_a_function_stays_one(self):
        output = self.run_script("""
def fail(value):
    if slow(value) == 6:
        raise ValueError(value)
    return value
for handler in (lambda: None, lambda: allowed and throw()):
    every(0.005, handler)
    for dataset in variants(rp.from_list(range(12)).map(fail)):
        iterator = iter(dataset)
        got = []
        for _ in range(3):
            failed = False
            while not failed:
                try:
                    allowed = True
                    got.extend(iterator)
                except Raised:
                    pass
                except ValueError:
                    failed = True
            allowed = False
        print(got, iterator.position)
signal.setitimer(signal.ITIMER_REAL, 0)
""")
        self.assertEqual(output, "[0, 1, 2, 3, 4, 5] 6\n" * 8)

    def test_iterators_end_while_an_element_is_in_work(self):
        # The exception of a handler has left it.
        output = self.run_script("""
def leave(dataset, exceptions=2):
    global allowed
    iterator = iter(dataset)
    every(0.005, lambda: allowed and throw())
    for _ in range(exceptions):  # the first one stops the pass, the second one leaves it running
        try:
            allowed = True
            print("no exception", next(iterator))
        except Raised:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    return iterator
numbers = rp.from_list(range(40)).map(slow).map(slow).map(slow).map(slow)
endless = rp.from_list([0]).repeat().filter(lambda value: False).prefetch()
for dataset in (*variants(numbers), endless):
    iterator = leave(dataset)
    iterator.close()
    print(list(iterator), end=" ")
    iterator = leave(dataset)
    del iterator
    gc.collect()
    iterator = leave(dataset)
    print(iterator.position, iterator.stats()["skipped"], end=" ")
    other = leave(dataset)
    thread = threading.Thread(target=other.close)
    thread.start()
    print(list(other))
    thread.join()
at_exit = [leave(numbers), leave(endless)]
""")
        self.assertEqual(output, "[] 0 0 []\n" * 5)

    def test_a_handler_forks_while_an_element_is_in_work(self):
        output = self.run_script("""
children = []
def fork():
    if rings == 3:
        child = os.fork()
        if child:
            children.append(child)
iterator = iter(rp.from_list(range(8)).map(slow).with_options(threads=1, chunk_size=4))
every(0.005, fork)
parent = os.getpid()
try:
    got = list(iterator)
except rp.InvalidArgumentError:
    os._exit(3 if os.getpid() != parent else 4)
signal.setitimer(signal.ITIMER_REAL, 0)
print(got == list(range(8)), [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children])
""")
        self.assertEqual(output, "True [3]\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
