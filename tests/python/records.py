"""Writes TFRecord files of Examples, independently of recordpipe: plain Python, from the format."""

import functools
import struct


def _crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@functools.cache
def header(length):
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", masked_crc(packed))


def frame(data, crc=True):
    """A record; without `crc`, the data's CRC, which takes long to compute, is 0."""
    return header(len(data)) + data + struct.pack("<I", masked_crc(data) if crc else 0)


def varint(number):
    number &= 2**64 - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values):
    """A Feature of ints, floats, or bytes; an empty list of ints if there are no values."""
    if not values:
        return field(3, b"")
    if all(isinstance(value, bytes) for value in values):
        return field(1, b"".join(field(1, value) for value in values))
    if any(isinstance(value, float) for value in values):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(varint(value) for value in values)))


def entries(values):
    """A map of names to messages."""
    return b"".join(
        field(1, field(1, name.encode()) + field(2, value)) for name, value in values.items()
    )


def features(values):
    return entries({name: feature(value) for name, value in values.items()})


def example(values):
    return field(1, features(values))


def sequence_example(context, lists):
    """Each list has a list of values for each step."""
    steps = {
        name: b"".join(field(1, feature(step)) for step in values) for name, values in lists.items()
    }
    return field(1, features(context)) + field(2, entries(steps))


def write(path, records):
    path.write_bytes(b"".join(frame(record) for record in records))
    return path
