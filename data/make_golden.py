"""Makes data/golden: TFRecord files and Examples, written by code that shares nothing with this
project's own (Python's standard library only), as other writers might have written them.

    python3 data/make_golden.py data/golden           writes the files
    python3 data/make_golden.py --check data/golden   exits 1 where one isn't what it would write
"""

import gzip
import pathlib
import struct
import sys
import zlib


def crc_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRC_OF_BYTE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_OF_BYTE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record_header(length):
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", masked(packed))


def record(data):
    return record_header(len(data)) + data + struct.pack("<I", masked(data))


def index(records):
    """What tfrecord2idx writes: a line for each record, where it starts and its size."""
    lines, start = [], 0
    for data in records:
        lines.append(f"{start} {len(data) + 16}\n")
        start += len(data) + 16
    return "".join(lines).encode()


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(**features):
    entries = [field(1, name.encode()) + field(2, feature) for name, feature in features.items()]
    return field(1, b"".join(field(1, entry) for entry in entries))


def sequence(context, **lists):
    """A SequenceExample: an Example's bytes, then lists of steps."""
    entries = [field(1, name.encode()) + field(2, b"".join(field(1, step) for step in steps))
               for name, steps in lists.items()]
    return context + field(2, b"".join(field(1, entry) for entry in entries))


def bytes_feature(*values):
    return field(1, b"".join(field(1, value) for value in values))


def float_feature(*values):
    return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))


def int64_feature(*values):
    return field(3, field(1, b"".join(varint(value & 2**64 - 1) for value in values)))


IMAGE = bytes(i * 7 % 256 for i in range(3072))

EXAMPLES = {
    "image": example(image=bytes_feature(IMAGE), label=int64_feature(7)),
    # Another order of keys than ours: TensorFlow writes any.
    "keys-unsorted": example(label=int64_feature(7), image=bytes_feature(b"small")),
    "unpacked": example(age=field(3, b"\x08" + varint(13) + b"\x08" + varint(2**64 - 1))),
    "pieces": example(age=field(3, field(1, b"\x01\x02") + field(1, b"\x03") + b"\x08\x04")),
    "floats": example(x=field(2, field(1, struct.pack("<3f", 1.5, float("inf"), float("nan"))))),
    "duplicate-key": example(a=int64_feature(1)) + example(a=int64_feature(2)),
    "kinds-in-turn": example(a=int64_feature(1) + bytes_feature(b"x") + int64_feature(2)),
    "unknown-fields": example(a=int64_feature(1) + b"\x7b\x08\x01\x7c") + b"\x20\x01",
    "no-value": field(1, field(1, field(1, b"a"))),
    "empty": b"",
}

SEQUENCES = {
    "steps": sequence(example(label=int64_feature(3)),
                      frames=[bytes_feature(b"one"), bytes_feature(b"two")],
                      words=[int64_feature(1, 2), b"", int64_feature(3)]),
    "pieces": sequence(b"", a=[int64_feature(1)]) + sequence(b"", b=[int64_feature(2)])
              + field(2, field(1, field(1, b"c") + field(2, field(1, int64_feature(1)))
                               + field(2, field(1, int64_feature(2))))),
    "kinds-differ": sequence(b"", a=[int64_feature(1), bytes_feature(b"x")]),
    "no-steps": sequence(example(), a=[]),
    # As nearly all writers encode steps: one packed list of the same kind each.
    "usual": sequence(b"", a=[int64_feature(5), int64_feature(300), int64_feature(-1)],
                      label=[float_feature(0.5, 1.5), float_feature(2.5, 3.5)],
                      words=[int64_feature(1, 2), field(3, b""), int64_feature(3)],
                      frames=[bytes_feature(b"one"), bytes_feature(b"a long one" * 20)]),
    "unpacked-among-usual": sequence(
        b"", a=[int64_feature(1), field(3, b"\x08\x02"), int64_feature(3)],
        label=[float_feature(1.5), field(2, b"\x0d" + struct.pack("<f", 2.5))]),
}

def flipped(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]


THREE = [record(b"first"), record(b"z" * 30), record(b"third")]

# Damage for those who go on behind it.
SCANS = {
    "length": THREE[0] + flipped(THREE[1], 9) + THREE[2],
    "length-crc": THREE[0] + flipped(THREE[1], 70) + THREE[2],
    "data": THREE[0] + flipped(THREE[1], 120) + THREE[2],
    "garbage": THREE[0] + b"garbage" + THREE[1] + b"more of it",
    "zeros": THREE[0] + bytes(40) + THREE[1] + bytes(100),
    "lies": record_header(60) + record_header(40) + record_header(20) + THREE[2]
            + record_header(2**64 - 1) + THREE[0],
    "nested": record(THREE[0] + THREE[1]) + flipped(record(b"xx" + THREE[2] + THREE[0]), 100),
    "unmasked": struct.pack("<QI", 3, crc32c(struct.pack("<Q", 3))) + b"abc" + THREE[0][-4:],
}

VECTORS = [b"", b"foo", b"abc", b"defg", b"123456789", bytes.fromhex(
    "0a120a100a036b657912090a070a0576616c7565")]


def contents():
    """Name to content, of each file."""
    vectors = b"".join(map(record, VECTORS))
    files = {
        "vectors.tfrecords": vectors,
        "vectors.tfrecords.gz": gzip.compress(vectors, mtime=0),
        "vectors-two-members.tfrecords.gz":
            gzip.compress(vectors[:40], mtime=0) + gzip.compress(vectors[40:], mtime=0),
        "vectors.tfrecords.zz": zlib.compress(vectors),
        "zero-crcs.tfrecords": b"".join(
            struct.pack("<QI", len(data), 0) + data + bytes(4) for data in VECTORS),
        "examples.tfrecords": b"".join(map(record, EXAMPLES.values())),
        "vectors.tfrecords.idx": index(VECTORS),
    }
    for name, data in SCANS.items():
        files[f"scan/{name}.bin"] = data
    for name, data in EXAMPLES.items():
        files[f"examples/{name}.pb"] = data
    for name, data in SEQUENCES.items():
        files[f"sequences/{name}.pb"] = data
    return files


def uncompressed(name, data):
    # Another version of zlib may compress to other bytes.
    if name.endswith(".gz"):
        return gzip.decompress(data)
    if name.endswith(".zz"):
        return zlib.decompress(data)
    return data


def main(arguments):
    check = arguments[:1] == ["--check"]
    folder = pathlib.Path(arguments[check])
    wrong = 0
    for name, data in contents().items():
        path = folder / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        elif uncompressed(name, path.read_bytes()) != uncompressed(name, data):
            print(f"{path} is not what {__file__} writes")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
