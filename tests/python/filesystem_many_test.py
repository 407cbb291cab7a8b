"""filesystem=: many files, opened at a time, in bounded memory."""

import threading
import unittest

import recordpipe as rp
from memory_files import Memory, OneRequest, Small
from records import frame
from support import FilesTest


class ManyFiles(FilesTest):
    def small(self, kind, count=200):
        """A file system of files of one record each."""
        names = [f"in/{i:04}" for i in range(count)]
        contents = [str(i).encode() for i in range(count)]
        return kind(dict(zip(names, map(frame, contents), strict=True))), contents

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

    def max_held(self, dataset, memory):
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
        self.assertGreater(self.max_held(dataset, memory), 16 << 20)
        memory = self.memory_of(1, 48)
        limited = rp.tfrecords("in/00", filesystem=memory).with_options(
            memory_limit=16 << 20, chunk_size=1
        )
        self.assertLess(self.max_held(limited, memory), 16 << 20)

    def test_of_streams_that_are_read_ahead(self):
        memory = self.memory_of(8, 12)
        limited = rp.tfrecords("in/*", filesystem=memory).with_options(
            memory_limit=32 << 20, chunk_size=1
        )
        self.assertLess(self.max_held(limited, memory), 32 << 20)

    def test_of_streams_at_a_time(self):
        memory = self.memory_of(16, 24)
        dataset = rp.tfrecords("in/*", filesystem=memory, cycle_length=16)
        dataset = dataset.with_options(chunk_size=1)
        # 128 MiB, and a block of each.
        self.assertLess(self.max_held(dataset, memory), (128 + 16 * 8 + 64) << 20)


if __name__ == "__main__":
    unittest.main()
