"""Defines damaged TFRecord files, for the tests of verify, salvage, convert and index."""
import gzip
import struct
import zlib

from example_bytes import crc32c, masked, record

FIRST, SECOND, THIRD = b"first", b"z" * 30, b"third"
THREE = record(FIRST) + record(SECOND) + record(THIRD)
DAMAGED = "the file is damaged: compare it with its source, or fetch it again"


def flipped(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]


def header(length):
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", masked(packed))


def unmasked(data):
    packed = struct.pack("<Q", len(data))
    return packed + struct.pack("<I", crc32c(packed)) + data + struct.pack("<I", crc32c(data))


# Name to content, number of intact records, and the regions [begin, end) with the start of their
# reasons.
CASES = {
    "empty": (b"", 0, []),
    "four bytes": (THREE[:4], 0, [(0, 4, "the file ends inside the header")]),
    "nine bytes": (THREE[:9], 0, [(0, 9, "the file ends inside the header")]),
    "cut payload": (THREE[:50], 1, [(21, 50, "the file ends inside the data: ")]),
    "cut footer": (THREE[:-1], 2, [(67, 87, "the file ends inside the data CRC: ")]),
    "length flipped": (flipped(THREE, 8 * 21), 2, [(21, 67, "length CRC mismatch")]),
    "payload flipped": (flipped(THREE, 8 * 40), 2, [(21, 67, "data CRC mismatch")]),
    "length CRC flipped": (flipped(THREE, 8 * 30), 2, [(21, 67, "length CRC mismatch")]),
    "data CRC flipped": (flipped(THREE, 8 * 66), 2, [(21, 67, "data CRC mismatch")]),
    "unmasked": (unmasked(b"abc") + THREE, 3, [(0, 19, "length CRC is not masked")]),
    "2^64-1": (header(2**64 - 1) + THREE, 3, [(0, 12, "a length of 18446744073709551615 bytes")]),
    "beyond the file": (THREE + header(1000) + b"x", 3,
                        [(88, 101, "the file ends inside the data: ")]),
    "beyond, then records": (header(1000) + THREE, 3,
                             [(0, 12, "the length reaches beyond the end of the file")]),
    "zero-length": (record(b"") * 3, 3, []),
    "garbage at the end": (THREE + b"g" * 50, 3, [(88, 138, "no record follows up to the end")]),
    "zeros at the end": (THREE + bytes(5000), 3, [(88, 5088, "zeros up to the end of the file")]),
    "gzip": (gzip.compress(THREE), 3, []),
    "gzip members": (gzip.compress(THREE) + gzip.compress(THREE), 6, []),
    "zlib": (zlib.compress(THREE), 3, []),
    "cut gzip": (gzip.compress(THREE)[:-8], 3, [(88, 88, "gzip stream ends before its trailer")]),
    "damage in gzip": (gzip.compress(flipped(THREE, 8 * 40)), 2,
                       [(21, 67, "data CRC mismatch")]),
}
