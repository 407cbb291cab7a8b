"""filesystem=: TFRecord files of a Python object, and what happens when it fails."""

import pickle
import threading
import traceback
import unittest

import recordpipe as rp
from memory_files import FileSystemTest, Memory, MemoryWriter


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
        with self.assertRaisesRegex(TypeError, "fsspec .*pyarrow.fs.*int"):
            rp.tfrecords("x", filesystem=3)

    def test_urls_that_need_a_file_system(self):
        for url in ("az://container/a.tfrecord", "hdfs://host/a.tfrecord"):
            with self.assertRaisesRegex(rp.UnsupportedError, f"{url}: .*pass one"):
                rp.tfrecords(url)


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
        # Blocks behind the first one are read after the replacement; the samples for the file's
        # fingerprint, which begin elsewhere, before it.
        is_replaced = threading.Event()

        def wait(path, start):
            if start > 0 and start % (512 << 10) == 0:
                self.assertTrue(is_replaced.wait(30))

        self.memory.before_read = wait
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


if __name__ == "__main__":
    unittest.main()
