"""filesystem=: TFRecord files of a Python object, and what happens when it fails."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import unittest

import recordpipe as rp
from support import FilesTest


class Memory:
    """A file system of a dict, with hooks that fail or wait."""

    def __init__(self, files=None):
        self.files = dict(files or {})
        self.reads = []
        self.before_read = lambda path, start: None
        self.most = 1 << 30  # bytes of one read

    def __reduce__(self):
        return Memory, (self.files,)

    def status(self, path):
        if path in self.files:
            data = self.files[path]
            return "file", len(data), f"{hash(data)}"
        folder = path.rstrip("/") + "/"
        if any(name.startswith(folder) for name in self.files):
            return "directory", 0, ""
        return None

    def read_range(self, path, start, length, version):
        self.reads.append((path, start, length))
        self.before_read(path, start)
        return memoryview(self.files[path])[start : start + min(length, self.most)]

    def list(self, directory, prefix):
        folder = "" if directory == "." else directory.rstrip("/") + "/"
        for name in self.files:
            if name.startswith(folder):
                first, slash, _ = name[len(folder) :].partition("/")
                yield first, "directory" if slash else "file", None

    def open_writer(self, path):
        return MemoryWriter(self, path)


class MemoryWriter:
    def __init__(self, memory, path):
        self.memory, self.path, self.data = memory, path, bytearray()

    def write(self, data):
        self.data += data

    def close(self):
        self.memory.files[self.path] = bytes(self.data)

    def abort(self):
        self.data = None


class FileSystemTest(FilesTest):
    def setUp(self):
        super().setUp()
        # Larger than the blocks that are read, and of records that lie across their ends.
        self.records = [bytes([i % 251]) * (i % 7919) for i in range(3000)]
        rp.write_tfrecords(self.folder / "a.tfrecord", self.records)
        rp.write_tfrecords(self.folder / "b.tfrecord", self.records[::-1])
        self.memory = Memory(
            {
                f"in/{name}": (self.folder / name).read_bytes()
                for name in ("a.tfrecord", "b.tfrecord")
            }
        )
        self.all = self.records + self.records[::-1]

    def dataset(self, paths="in/*.tfrecord", **options):
        return rp.tfrecords(paths, filesystem=self.memory, **options)


class Reading(FileSystemTest):
    def test_the_elements_are_those_of_local_files(self):
        local = rp.tfrecords(self.folder / "*.tfrecord")
        for threads in (1, 2, 4):
            for name in ("in/*.tfrecord", "in", "in/{a,b}.tfrecord", ["in/a.tfrecord", "in/b.*"]):
                with self.subTest(threads=threads, name=name):
                    remote = self.dataset(name).with_options(threads=threads).prefetch()
                    self.assertEqual([*iter(remote)], self.all)
        self.assertEqual(
            list(self.dataset(cycle_length=2)),
            list(rp.tfrecords(self.folder / "*.tfrecord", cycle_length=2)),
        )
        self.assertEqual(list(self.dataset().shuffle(seed=7)), list(local.shuffle(seed=7)))
        self.assertEqual(self.dataset()[4711], local[4711])
        self.assertEqual(len(self.dataset()), 6000)

    def test_compressed_files(self):
        rp.convert(self.folder / "a.tfrecord", self.folder / "a.tfrecord.zst")
        self.memory.files["in/a.tfrecord.zst"] = (self.folder / "a.tfrecord.zst").read_bytes()
        self.assertEqual(list(self.dataset("in/*.zst")), self.records)

    def test_large_ranges_several_at_a_time(self):
        under_way, most = [0], [0]
        lock = threading.Lock()
        four = threading.Event()
        records = [bytes([i]) * 1_000_000 for i in range(32)]
        rp.write_tfrecords(self.folder / "large", records)
        self.memory.files["large"] = (self.folder / "large").read_bytes()

        def wait(path, start):
            if start <= 512 << 10:
                return  # the head, and the first block behind it
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
                if under_way[0] == 4:
                    four.set()
            four.wait(timeout=30)
            with lock:
                under_way[0] -= 1

        self.memory.before_read = wait
        self.assertEqual(list(iter(self.dataset("large"))), records)  # without len()
        self.assertEqual(most[0], 4)
        lengths = [length for _, _, length in self.memory.reads]
        self.assertLessEqual(max(lengths), 8 << 20)
        blocks = [length for length in lengths if length >= 512 << 10]
        self.assertLess(len(blocks), 9)  # of 32 MB

    def test_a_pass_resumes_in_another_dataset(self):
        for make in (lambda d: d, lambda d: d.shuffle(100, seed=3).prefetch()):
            dataset = make(self.dataset())
            whole = [*iter(dataset.epoch(0))]
            iterator = iter(dataset.epoch(0))
            for _ in range(4000):
                next(iterator)
            state = iterator.state_dict()
            again = iter(pickle.loads(pickle.dumps(dataset)).with_options(threads=3).epoch(0))
            again.load_state_dict(state)
            self.assertEqual([*again], whole[4000:])

    def test_a_state_is_refused_for_an_object_that_changed(self):
        iterator = iter(self.dataset("in/a.tfrecord"))
        next(iterator)
        state = iterator.state_dict()
        data = self.memory.files["in/a.tfrecord"]
        self.memory.files["in/a.tfrecord"] = self.memory.files["in/b.tfrecord"][: len(data)]
        with self.assertRaisesRegex(rp.Error, "in/a.tfrecord"):
            iter(self.dataset("in/a.tfrecord")).load_state_dict(state)

    def test_file_urls_are_on_this_machine(self):
        local = f"file://{self.folder}/a.tfrecord"
        self.assertEqual(list(self.dataset([local, "in/b.tfrecord"])), self.all)
        self.assertEqual(list(rp.tfrecords(local)), self.records)
        rp.convert("in/b.tfrecord", f"file://{self.folder}/c.tfrecord", filesystem=self.memory)
        self.assertEqual(list(rp.tfrecords(self.folder / "c.tfrecord")), self.records[::-1])

    def test_toolkit(self):
        files = {"filesystem": self.memory}
        self.assertEqual(rp.info("in/*", **files).records, 6000)
        calls = []
        report = rp.verify("in/*", progress=lambda *call: calls.append(call), **files)
        self.assertTrue(report.intact)
        self.assertEqual(report.records, 6000)
        size = sum(map(len, self.memory.files.values()))
        self.assertEqual(calls[-1], (size, size))
        made = rp.index("in/a.tfrecord", **files)
        self.assertEqual(made[0].records, 3000)
        self.assertTrue(rp.index("in/a.tfrecord", check=True, **files)[0].error is None)
        self.memory.files["examples"] = self.examples(10).read_bytes()
        self.assertIn("id", rp.schema("examples", **files).features())
        self.assertEqual(rp.stats("examples", "id", **files)["id"].int64.max, 9)
        parsed = rp.tfrecords("examples", **files).parse()
        self.assertEqual([row["id"] for row in parsed], list(range(10)))
        self.memory.files["bad"] = self.memory.files["in/a.tfrecord"][:1000000] + b"x" * 1000
        self.assertFalse(rp.verify("bad", **files).intact)
        saved = rp.salvage("bad", "saved", **files)
        self.assertEqual(len(list(rp.tfrecords("saved", **files))), saved.records_written)

    def test_a_missing_file(self):
        for call in (rp.verify, lambda path, **files: list(rp.tfrecords(path, **files))):
            with self.assertRaisesRegex(rp.NotFoundError, "in/none: no such file"):
                call("in/none", filesystem=self.memory)
        with self.assertRaisesRegex(rp.NotFoundError, "no file matches"):
            self.dataset("in/none*")

    def test_what_is_no_file_system(self):
        with self.assertRaisesRegex(TypeError, "fsspec, pyarrow.fs or obstore.*int"):
            rp.tfrecords("x", filesystem=3)

    def test_urls_need_obstore(self):
        try:
            import obstore  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(rp.UnsupportedError, r'pip install "recordpipe\[cloud\]"'):
                rp.tfrecords("s3://bucket/a.tfrecord")
        else:
            self.skipTest("obstore is installed")


class Small(Memory):
    """Many small files; remembers what is asked for at a time."""

    def __init__(self, files=None):
        super().__init__(files)
        self.lock = threading.Lock()
        self.calls = []
        self.under_way = self.most = 0
        self.together = 0  # calls wait until so many are under way
        self.released = threading.Event()

    def call(self, name, path):
        if path not in self.files:
            return
        with self.lock:
            self.calls.append((name, path))
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            if self.together and self.under_way >= self.together:
                self.released.set()
        if self.together:
            self.released.wait(timeout=30)
        with self.lock:
            self.under_way -= 1

    def status(self, path):
        self.call("status", path)
        return super().status(path)

    def read_range(self, path, start, length, version):
        self.call("read_range", path)
        return super().read_range(path, start, length, version)


class OneRequest(Small):
    """Opens a file with one request, as an object store does."""

    is_object_store = True
    reads_are_conditional = True

    def read_head(self, path, length):
        self.call("read_head", path)
        status = Memory.status(self, path)
        return None if status is None else (status, self.files[path][:length])

    def list(self, directory, prefix):
        for name, kind, _ in super().list(directory, prefix):
            path = f"{directory.rstrip('/')}/{name}"
            yield name, kind, len(self.files[path]) if kind == "file" else None


class ManyFiles(FilesTest):
    def small(self, kind, count=200):
        """A file system of files of one record each."""
        names = [f"in/{i:04}" for i in range(count)]
        files = {}
        for i, name in enumerate(names):
            files[name] = self.numbered(1, "one", first=i).read_bytes()
        return kind(files), [str(i).encode() for i in range(count)]

    def test_files_are_opened_many_at_a_time(self):
        for kind in (Small, OneRequest):
            memory, records = self.small(kind)
            dataset = rp.tfrecords("in/*", filesystem=memory)
            # Fewer than 64 threads of each kind may begin before the first one has ended.
            memory.together = 40
            self.assertEqual([*iter(dataset)], records)
            self.assertGreaterEqual(memory.most, 40)
            self.assertLessEqual(memory.most, 130)

    def test_a_small_file_is_one_request(self):
        memory, records = self.small(OneRequest)
        dataset = rp.tfrecords("in/*", filesystem=memory)
        memory.calls.clear()
        self.assertEqual([*iter(dataset)], records)
        self.assertEqual([name for name, _ in memory.calls], ["read_head"] * 200)
        memory.calls.clear()
        self.assertTrue(rp.verify("in/*", filesystem=memory).intact)
        self.assertEqual([name for name, _ in memory.calls], ["read_head"] * 200)

    def test_functions_ask_for_many_at_a_time(self):
        for function in (rp.verify, rp.info):
            memory, _ = self.small(OneRequest)
            memory.together = 24
            self.assertEqual(function("in/*", filesystem=memory).records, 200)
            self.assertGreaterEqual(memory.most, 24)

    def test_a_missing_file_is_an_error_in_its_turn(self):
        for kind in (Small, OneRequest):
            memory, records = self.small(kind)
            dataset = rp.tfrecords("in/*", filesystem=memory)
            del memory.files["in/0100"]
            good = []
            with self.assertRaisesRegex(rp.NotFoundError, "in/0100"):
                for record in dataset:
                    good.append(record)
            self.assertEqual(good, records[:100])

    def test_read_heads_that_are_wrong(self):
        for head, error in (
            ((("file", 100, ""), b"x" * 101), "in/0000: .*read_head.*101 bytes, not 100"),
            ((("file", 100, ""), 3), "bytes-like"),
            (3, "subscriptable|indexing"),
        ):
            memory, _ = self.small(OneRequest, 1)
            memory.read_head = lambda path, length, head=head: head
            with self.assertRaisesRegex((rp.Error, TypeError), error):
                list(rp.tfrecords("in/0000", filesystem=memory))

    def test_a_short_head_is_continued(self):
        memory, records = self.small(OneRequest, 3)
        memory.read_head = lambda path, length: (
            Memory.status(memory, path),
            memory.files[path][:5],
        )
        self.assertEqual([*iter(rp.tfrecords("in/*", filesystem=memory))], records)


class MemoryLimit(FilesTest):
    """What is in flight, and has not been read yet, is bounded."""

    def most_held(self, dataset, memory):
        """The most bytes of ranges that were asked for and not yet returned as records."""
        held, most = [0], [0]
        lock = threading.Lock()
        read_range = memory.read_range

        def counted(path, start, length, version):
            with lock:
                held[0] += length
                most[0] = max(most[0], held[0])
            return read_range(path, start, length, version)

        memory.read_range = counted
        for record in dataset:
            with lock:
                held[0] -= len(record)
        return most[0]

    def memory_of(self, files, megabytes):
        rp.write_tfrecords(self.folder / "a", [b"x" * (1 << 20)] * megabytes)
        data = (self.folder / "a").read_bytes()
        return Memory({f"in/{i:02}": data for i in range(files)})

    def test_of_one_stream(self):
        memory = self.memory_of(1, 48)
        dataset = rp.tfrecords("in/00", filesystem=memory)
        self.assertGreater(self.most_held(dataset, memory), 16 << 20)
        memory = self.memory_of(1, 48)
        limited = rp.tfrecords("in/00", filesystem=memory).with_options(
            memory_limit=16 << 20, chunk_size=1
        )
        self.assertLess(self.most_held(limited, memory), 16 << 20)

    def test_of_streams_that_are_read_ahead(self):
        memory = self.memory_of(8, 12)
        limited = rp.tfrecords("in/*", filesystem=memory).with_options(
            memory_limit=32 << 20, chunk_size=1
        )
        self.assertLess(self.most_held(limited, memory), 32 << 20)

    def test_of_streams_at_a_time(self):
        memory = self.memory_of(16, 24)
        dataset = rp.tfrecords("in/*", filesystem=memory, cycle_length=16)
        dataset = dataset.with_options(chunk_size=1)
        # 128 MiB, and a block of each.
        self.assertLess(self.most_held(dataset, memory), (128 + 16 * 8 + 64) << 20)


class Writing(FileSystemTest):
    def test_files_appear_whole(self):
        with rp.Writer("out.tfrecord", index=True, shards=2, filesystem=self.memory) as writer:
            for record in self.records:
                writer.write(record)
            self.assertNotIn("out-00000-of-00002.tfrecord", self.memory.files)
        self.assertEqual(len(list(self.dataset("out@2.tfrecord"))), 3000)
        self.assertIn("out-00001-of-00002.tfrecord.idx", self.memory.files)
        before = dict(self.memory.files)
        with self.assertRaises(KeyError), rp.Writer("new", filesystem=self.memory) as writer:
            writer.write(b"x" * 20_000_000)
            raise KeyError
        self.assertEqual(self.memory.files, before)

    def test_convert(self):
        files = {"filesystem": self.memory}
        report = rp.convert("in/*", "out", shards=3, shuffle=True, compression="gzip", **files)
        self.assertEqual(report.records, 6000)
        self.assertEqual(sorted(rp.tfrecords("out-*", **files)), sorted(self.all))
        before = dict(self.memory.files)
        with self.assertRaisesRegex(rp.UnsupportedError, "split by size"):
            rp.convert("in/*", "parts", max_bytes=4_000_000, **files)
        self.assertEqual(self.memory.files, before)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "in/a.tfrecord"):
            rp.convert("in/a.tfrecord", "in/a.tfrecord", limit=1, **files)

    def test_a_writer_that_fails(self):
        class Full(MemoryWriter):
            def close(self):
                raise OSError(28, "the bucket is full")

        self.memory.open_writer = lambda path: Full(self.memory, path)
        before = dict(self.memory.files)
        with self.assertRaisesRegex(OSError, "the bucket is full"):
            rp.write_tfrecords("out", [b"x"], filesystem=self.memory)
        self.assertEqual(self.memory.files, before)


class Failing(FileSystemTest):
    def test_an_exception_keeps_its_traceback_and_the_next_pass_is_good(self):
        failures = [TimeoutError("the store does not answer")]

        def fail_once(path, start):
            if path == "in/a.tfrecord" and start == 512 << 10 and failures:
                raise failures.pop()

        for threads in (1, 2):
            failures[:] = [TimeoutError("the store does not answer")]
            self.memory.before_read = fail_once
            dataset = self.dataset().with_options(threads=threads)
            iterator = iter(dataset)
            good = []
            notes, frames = [], []
            try:
                for record in iterator:
                    good.append(record)
            except TimeoutError as error:
                notes = error.__notes__
                frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            self.assertIn("fail_once", frames)
            self.assertIn("in/a.tfrecord", "".join(notes))
            self.assertEqual(good, self.all[: len(good)])
            self.assertGreater(len(good), 0)
            self.assertEqual([*iter(dataset)], self.all)

    def test_verify_reports_a_file_that_cannot_be_read(self):
        def fail(path, start):
            if path == "in/a.tfrecord":
                raise PermissionError("a is forbidden")

        self.memory.before_read = fail
        first, second = rp.verify("in/*", filesystem=self.memory).files
        self.assertIsInstance(first.error, rp.PermissionDeniedError)
        self.assertIn("a is forbidden", str(first.error))
        self.assertTrue(second.intact)

    def test_short_reads_are_continued(self):
        self.memory.most = 100_001
        self.assertEqual(list(self.dataset()), self.all)

    def test_wrong_reads_are_errors(self):
        class Wrong(Memory):
            result = None

            def read_range(self, path, start, length, version):
                return self.result

        wrong = Wrong(self.memory.files)
        for result, error in (
            (b"", "in/a.tfrecord: it ends here.*replaced"),
            (b"x" * 9_000_000, "in/a.tfrecord: .*returned 9000000 bytes"),
        ):
            wrong.result = result
            with self.assertRaisesRegex(rp.FileSystemError, error):
                next(iter(rp.tfrecords("in/a.tfrecord", filesystem=wrong)))
        wrong.result = 3
        with self.assertRaises(TypeError):
            next(iter(rp.tfrecords("in/a.tfrecord", filesystem=wrong)))

    def test_an_object_that_is_replaced_is_named(self):
        # What is read ahead comes after the replacement.
        is_replaced = threading.Event()
        self.memory.before_read = lambda path, start: start == 0 or is_replaced.wait(30)
        iterator = iter(self.dataset("in/a.tfrecord").with_options(threads=1, chunk_size=1))
        next(iterator)
        self.memory.files["in/a.tfrecord"] = self.memory.files["in/a.tfrecord"][:800_000]
        is_replaced.set()
        with self.assertRaisesRegex(rp.FileSystemError, "in/a.tfrecord: .*replaced"):
            list(iterator)

    def test_an_object_of_the_same_size_that_is_replaced_is_named(self):
        data = self.memory.files["in/a.tfrecord"]
        swapped = rp.encode_example({"x": 1})
        iterator = iter(self.dataset("in/a.tfrecord").with_options(threads=1, chunk_size=1))
        next(iterator)
        self.memory.files["in/a.tfrecord"] = data[:-1] + bytes([data[-1] ^ 1]) + swapped[:0]
        with self.assertRaisesRegex(rp.Error, "in/a.tfrecord"):
            list(iterator)


_SLOW = """
    import os, sys, time
    sys.path.insert(0, {tests!r})
    import recordpipe as rp
    from filesystem_test import Memory

    memory = Memory({{"a": open({path!r}, "rb").read()}})

    def wait(path, start):
        if {slow}:
            os.write(1, b"waiting\\n")
            time.sleep(600)

    memory.before_read = wait
    try:
        {call}
    except KeyboardInterrupt:
        os.write(1, b"interrupted\\n")  # in one piece, beside those of other threads
        memory.before_read = lambda path, start: None
        print(len([*iter(rp.tfrecords("a", filesystem=memory))]), flush=True)
        os._exit(0)
"""


class Processes(FileSystemTest):
    def test_a_program_ends_while_a_read_hangs(self):
        call = 'next(iter(rp.tfrecords("a", filesystem=memory).with_options(chunk_size=1)))'
        program = self.start(call + "; print('last', flush=True)", "start == 512 << 10")
        output = program.communicate(timeout=60)[0]
        self.assertIn("waiting", output)
        self.assertIn("last", output)
        self.assertEqual(program.returncode, 0)

    def test_a_program_ends_while_a_read_goes_on_and_on(self):
        # It takes the GIL again and again while the interpreter ends.
        call = (
            "os.write = lambda *_: [time.sleep(0.001) for _ in range(10**6)]; "
            'next(iter(rp.tfrecords("a", filesystem=memory).with_options(chunk_size=1)))'
        )
        program = self.start(call, "start == 512 << 10")
        program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0)

    def start(self, call, slow="start > 0"):
        script = textwrap.dedent(_SLOW).format(
            tests=str(pathlib.Path(__file__).parent),
            path=str(self.folder / "a.tfrecord"),
            call=call,
            slow=slow,
        )
        program = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def run_slow(self, call):
        program = self.start(call)
        self.assertEqual(program.stdout.readline(), "waiting\n")
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        lines = program.stdout.read().split()
        self.assertEqual([line for line in lines if line != "waiting"], ["interrupted", "3000"])

    def test_ctrl_c_while_a_read_of_a_pass_hangs(self):
        self.run_slow('[*iter(rp.tfrecords("a", filesystem=memory))]')

    def test_ctrl_c_while_a_read_of_verify_hangs(self):
        self.run_slow('rp.verify("a", filesystem=memory)')

    def test_ctrl_c_while_a_read_of_a_task_hangs(self):
        self.run_slow(f'rp.convert_to_dir("a", "file://{self.folder}/out", filesystem=memory)')
        self.assertEqual(os.listdir(self.folder / "out"), [".shards"])

    def test_ctrl_c_while_a_read_of_a_task_of_an_executor_hangs(self):
        self.run_slow(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "    with ThreadPoolExecutor(1) as executor:\n"
            '        rp.verify("a", filesystem=memory, executor=executor)'
        )

    def test_ctrl_c_while_files_are_opened(self):
        # Those that are opened ahead hang, too.
        self.run_slow(
            'memory.files |= {f"b{i}": memory.files["a"] for i in range(70)}\n'
            "    memory.before_read = lambda path, start: wait(path, 1)\n"
            '    [*iter(rp.tfrecords(["a", "b*"], filesystem=memory))]'
        )

    def test_ctrl_c_while_sizes_are_asked_for(self):
        self.run_slow(
            "memory.before_read = lambda path, start: wait(path, 1)\n"
            "    memory.status = lambda path: (\n"
            "        memory.before_read(path, 1), Memory.status(memory, path))[1]\n"
            '    rp.verify(["a"] * 9, filesystem=memory)'
        )

    def test_ctrl_c_while_a_read_of_random_access_hangs(self):
        self.run_slow('[*iter(rp.tfrecords("a", filesystem=memory).shuffle(seed=7))]')

    def test_a_forked_process_reads_too(self):
        dataset = self.dataset().prefetch()
        iterator = iter(dataset)
        first = [next(iterator) for _ in range(10)]
        pid = os.fork()
        if pid == 0:
            os._exit(0 if [*iter(dataset)] == self.all else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual([*first, *iterator], self.all)


if __name__ == "__main__":
    unittest.main()
