"""Helpers for the tests of `tfrecord create`: comparison of the output, .npy files and PNGs."""
import os
import struct
import zlib

from tfrecord_test_case import TfrecordTest, record


def npy(descr, shape, data, order="False", version=(1, 0), extra=""):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {extra}}}"
    size = 12 if version[0] > 1 else 10
    header += " " * (-(size + len(header) + 1) % 64) + "\n"
    length = struct.pack("<I" if version[0] > 1 else "<H", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + data


def png(width, height, payload=b"", pixel=bytes(3)):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + \
            struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + pixel * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0,
                                                             0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", payload)


class CreateTest(TfrecordTest):
    def text(self, name, content):
        (self.folder / name).write_bytes(content if isinstance(content, bytes)
                                         else content.encode())

    def created(self, *arguments, expected, **options):
        """Checks that `create` makes exactly these payloads."""
        self.run_it("create", *arguments, "-o", "out", **options)
        self.assertEqual((self.folder / "out").read_bytes(),
                         b"".join(record(payload) for payload in expected))

    def refused(self, words, *arguments, status=2, **options):
        before = sorted(os.listdir(self.folder))
        self.expect_failure(words, "create", *arguments, "-o", "out", status=status, **options)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
