"""Provides the tests of `tfrecord convert` with records of several kinds, and an independent reader
of the output."""
import functools
import os
import struct

from tfrecord_test_case import TfrecordTest, named_example
from tfrecord_test_case import record as slow_record

# Computing CRCs is slow in Python.
record = functools.lru_cache(maxsize=None)(slow_record)


def payloads_of(content):
    """Returns the records of a plain file, whose framing must be exact."""
    payloads, at = [], 0
    while at < len(content):
        length, = struct.unpack_from("<Q", content, at)
        payload = content[at + 12:at + 12 + length]
        assert content[at:at + 16 + length] == record(payload), at
        payloads.append(payload)
        at += 16 + length
    return payloads


PAYLOADS = [named_example({"label": [i % 10], "name": [f"n{i}"], "x": [i / 2]})
            for i in range(300)] + [b"", b"not an Example", b"\x00" * 1000]


class ConvertTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *PAYLOADS)
        self.plain = (self.folder / "a").read_bytes()

    def convert(self, *arguments, **options):
        return self.run_it("convert", *arguments, **options)

    def read(self, name):
        return (self.folder / name).read_bytes()

    def names(self):
        return sorted(os.listdir(self.folder))
