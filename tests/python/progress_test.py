"""Long work on files: its progress, its end by exceptions and Ctrl-C, and what it leaves behind."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
from unittest import mock

import recordpipe as rp
from recordpipe.progress import line_text
from support import FilesTest

# Verifies a file that takes minutes.
SLOW = """
import signal, sys
import recordpipe as rp
salvage = rp.salvage  # its import is over when a signal comes, which could be lost in an import
def work():
    print("working", flush=True)
    salvage(sys.argv[1], sys.argv[2])
"""


class Stop(Exception):
    pass


class Progress(FilesTest):
    def slow_file(self):
        """A file that takes minutes, because each of its bytes might begin a record."""
        path = self.folder / "slow"
        with path.open("wb") as file:
            file.truncate(200 * 2**30)  # no disk space is used
        return path

    def images(self, count=40):
        """A file of 1 MiB records that don't compress well; gzip takes 30 ms for each."""
        path = self.folder / "images"
        with rp.Writer(path) as writer:
            for _ in range(count):
                writer.write(os.urandom(2**19) + bytes(2**19))
        return path

    def functions(self, source):
        target = self.folder / "target"
        return (
            lambda progress: rp.info(source, progress=progress),
            lambda progress: rp.verify(source, progress=progress),
            lambda progress: rp.schema(source, progress=progress),
            lambda progress: rp.stats(source, progress=progress),
            lambda progress: rp.salvage(source, target, progress=progress),
            lambda progress: rp.index(source, progress=progress),
            lambda progress: rp.index(source, check=True, progress=progress),
            lambda progress: rp.convert(source, target, progress=progress),
            lambda progress: rp.convert(source, target, shards=2, progress=progress),
            lambda progress: rp.convert(source, target, shuffle=True, progress=progress),
        )

    def test_a_function_hears_of_all_bytes(self):
        path = self.examples(1000)
        size = path.stat().st_size
        for number, function in enumerate(self.functions(path)):
            with self.subTest(number):
                calls = []
                function(lambda done, total, calls=calls: calls.append((done, total)))
                passes = 2 if number == 8 else 1
                self.assertEqual(calls[-1], (passes * size, passes * size))

    def test_calls_are_on_the_thread_of_the_caller_and_rare(self):
        calls = []

        def hear(done, total):
            calls.append((done, total, threading.get_ident()))

        path = self.images()
        begin = time.monotonic()
        rp.convert(path, self.folder / "a.gz", level=9, progress=hear)
        seconds = time.monotonic() - begin
        self.assertGreater(len(calls), 2)
        self.assertLess(len(calls), 10 * seconds + 2)
        self.assertEqual({ident for *_, ident in calls}, {threading.get_ident()})
        done = [call[0] for call in calls]
        self.assertEqual(done, sorted(done))
        self.assertEqual({call[1] for call in calls}, {path.stat().st_size})

    def test_an_exception_stops_the_work_and_leaves_nothing_behind(self):
        def stop(done, total):
            raise Stop(done, total)

        slow = self.slow_file()
        target = self.folder / "target"
        for function in (
            lambda: rp.verify(slow, progress=stop),
            lambda: rp.salvage(slow, target, progress=stop),
            lambda: rp.convert(slow, target, on_damage="resync", progress=stop),
        ):
            with self.assertRaises(Stop) as raised:
                function()
            self.assertLess(raised.exception.args[0], raised.exception.args[1])
        images = self.images()
        for options in ({"level": 9}, {"level": 9, "shards": 3}, {"level": 9, "shuffle": True}):
            with self.assertRaises(Stop):
                rp.convert(images, target, compression="zlib", progress=stop, **options)
        self.assertEqual(sorted(os.listdir(self.folder)), ["images", "slow"])

    def test_an_exception_of_the_last_call_arrives_and_files_are_whole(self):
        source = self.examples(1000)
        size = source.stat().st_size

        def everything():
            return {path.name: path.read_bytes() for path in self.folder.iterdir()}

        for number, function in enumerate(self.functions(source)):
            total = 2 * size if number == 8 else size
            with self.subTest(number):
                function(None)
                expected = everything()
                for path in self.folder.iterdir():
                    if path != source and number != 6:  # an index is there to be checked
                        path.unlink()

                def stop(done, _, total=total):
                    if done == total:
                        raise Stop

                with self.assertRaises(Stop):
                    function(stop)
                self.assertEqual(everything(), expected)
                if number != 5:
                    for path in self.folder.iterdir():
                        if path != source:
                            path.unlink()

    def test_other_threads_run_meanwhile(self):
        heard, over = threading.Event(), threading.Event()

        def hear(done, total):
            heard.set()
            if over.is_set():
                raise Stop

        def work():
            with contextlib.suppress(Stop):
                rp.verify(slow, progress=hear)

        slow = self.slow_file()
        thread = threading.Thread(target=work)
        thread.start()
        self.assertTrue(heard.wait(60))
        over.set()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_control_c_stops_the_work_and_leaves_nothing_behind(self):
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                SLOW
                + """
for attempt in range(2):
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""",
                self.slow_file(),
                self.folder / "target",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "working\n")
            time.sleep(0.2)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline(), "interrupted\n")
            self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(os.listdir(self.folder), ["slow"])

    def test_the_interpreter_may_end_while_a_daemon_thread_works(self):
        slow = self.slow_file()
        for progress in ("False", "lambda done, total: None") * 2:
            script = f"""
import atexit, sys, threading, time
atexit.register(lambda: print(rp.info(sys.argv[2]).records))
import recordpipe as rp
threading.Thread(target=rp.verify, args=[sys.argv[1]], kwargs=dict(progress={progress}),
                 daemon=True).start()
time.sleep(0.2)
"""
            done = subprocess.run(
                [sys.executable, "-c", script, slow, self.numbered(3)],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "3\n", ""))

    def test_a_handler_that_raises_nothing_does_not_stop_the_work(self):
        noted = []
        before = signal.signal(signal.SIGINT, lambda *_: noted.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def interrupt(done, total):
            if not noted:
                os.kill(os.getpid(), signal.SIGINT)

        path = self.images(10)
        report = rp.convert(path, self.folder / "a.gz", level=9, progress=interrupt)
        self.assertEqual((report.records, noted), (10, [1]))

    def test_a_bar_of_tqdm(self):
        bars = []

        class Bar:
            def __init__(self, **options):
                self.options, self.n, self.total, self.closed = options, 0, None, False
                bars.append(self)

            def update(self, count):
                self.n += count

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.closed = True

        tqdm = types.ModuleType("tqdm.auto")
        tqdm.tqdm = Bar
        path = self.examples(100)
        with mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": tqdm}):
            rp.verify(path, progress=True)
        (bar,) = bars
        self.assertEqual((bar.n, bar.total), (path.stat().st_size,) * 2)
        self.assertEqual((bar.options["desc"], bar.options["unit"]), ("verify", "B"))
        self.assertTrue(bar.closed)

    def test_a_line_without_tqdm_and_nothing_by_default(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        path = self.examples(100)
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            for progress, shown in ((True, "\rverify: 100 % of 0.0 MB\n"), (False, "")):
                with mock.patch("sys.stderr", Terminal()) as terminal:
                    rp.verify(path, progress=progress)
                self.assertEqual(terminal.getvalue(), shown)

    def test_the_line_says_how_fast_and_how_long(self):
        for arguments, text in (
            ((10, 100, 0.5), " 10 % of 0.0 MB"),
            ((30 * 10**6, 90 * 10**6, 2), " 33 % of 90.0 MB, 15.0 MB/s, 0:00:04 left"),
            ((10**6, 7201 * 10**6, 1), "  0 % of 7,201.0 MB, 1.0 MB/s, 2:00:00 left"),
            ((10**6, 10**6, 1), "100 % of 1.0 MB, 1.0 MB/s"),
            ((0, 0, 5), "100 % of 0.0 MB"),
        ):
            self.assertEqual(line_text(*arguments), text)

    def test_no_bar_without_standard_error(self):
        path = self.numbered(3)
        with mock.patch("sys.stderr", None):
            self.assertEqual(rp.info(path, progress=True).records, 3)


if __name__ == "__main__":
    unittest.main()
