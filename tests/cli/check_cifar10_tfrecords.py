#!/usr/bin/env python3
"""Compares TFRecord files with the CIFAR-10 archive they were made from, image by image.

usage: check_cifar10_tfrecords.py ARCHIVE DATA_DIR

The decoder is independent: it uses Python's standard library (and libzstd for zstd files), no code
of recordpipe. Checks every record's framing, both CRCs, the Example, the label and all pixels, in
order, for the train, validation and eval files in DATA_DIR (one file each, or shards; plain, gzip,
zlib or zstd). Prints a line per split. Exits with status 1 at the first difference.
"""
import argparse
import ctypes
import gzip
import io
import itertools
import pathlib
import pickle
import re
import struct
import sys
import tarfile
import zlib

IMAGE = 3072
SPLITS = {
    "train": ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4"],
    "validation": ["data_batch_5"],
    "eval": ["test_batch"],
}


class Mismatch(Exception):
    pass


# --- the archive -----------------------------------------------------------------------------


class Array:
    """Stands for a NumPy array of uint8 while unpickling: rows of IMAGE bytes."""

    def __setstate__(self, state):
        _, self.shape, _, fortran, self.data = state
        assert not fortran

    def row(self, i):
        return self.data[i * IMAGE:(i + 1) * IMAGE]


class DType:
    def __init__(self, name, *_):
        assert name in ("u1", b"u1"), name

    def __setstate__(self, state):
        pass


def frombuffer(data, _dtype, shape, order):
    assert order == "C"
    array = Array()
    array.data, array.shape = bytes(data), shape
    return array


class BatchUnpickler(pickle.Unpickler):
    ALLOWED = {
        "_reconstruct": lambda *_: Array(),
        "ndarray": object,
        "dtype": DType,
        "_frombuffer": frombuffer,
        "encode": lambda text, encoding: text.encode(encoding),
    }

    def find_class(self, module, name):
        assert module.split(".")[0] in ("numpy", "_codecs"), module
        return self.ALLOWED[name]


def read_pickle(content):
    batch = BatchUnpickler(io.BytesIO(content), encoding="bytes").load()
    batch = {key.decode() if isinstance(key, bytes) else key: batch[key] for key in batch}
    labels, data = batch["labels"], batch["data"]
    assert data.shape == (len(labels), IMAGE) and len(data.data) == len(labels) * IMAGE
    return [(label, data.row(i)) for i, label in enumerate(labels)]


def read_binary(content):
    assert len(content) % (1 + IMAGE) == 0
    return [(content[at], content[at + 1:at + 1 + IMAGE])
            for at in range(0, len(content), 1 + IMAGE)]


def read_archive(path):
    """Returns {batch name: [(label, pixels), ...]}."""
    batches = {}
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            name = pathlib.PurePosixPath(member.name).name
            batch = name.removesuffix(".bin")
            if batch in itertools.chain(*SPLITS.values()):
                content = archive.extractfile(member).read()
                batches[batch] = read_binary(content) if name != batch else read_pickle(content)
    return batches


# --- the TFRecord files ----------------------------------------------------------------------


def make_crc_tables():
    one = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        one.append(i)
    two = [one[(one[i & 255] ^ i >> 8) & 255] ^ one[i & 255] >> 8 for i in range(65536)]
    return one, two


CRC_OF_BYTE, CRC_OF_PAIR = make_crc_tables()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for pair in struct.unpack_from(f"<{len(data) // 2}H", data):
        crc = crc >> 16 ^ CRC_OF_PAIR[(crc ^ pair) & 0xFFFF]
    if len(data) % 2:
        crc = crc >> 8 ^ CRC_OF_BYTE[(crc ^ data[-1]) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def zstd_decompressed(content):
    """Uses libzstd, because Python has no module for zstd."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompressBound.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_decompressBound.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    library.ZSTD_decompress.restype = ctypes.c_size_t
    room = library.ZSTD_decompressBound(content, len(content))
    assert room < 1 << 32, "no zstd frames"
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_decompress(out, room, content, len(content))
    assert size <= room, "a damaged zstd frame"
    return out.raw[:size]


def read_file(path):
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress(content)
    if content[:1] == b"\x78":
        return zlib.decompress(content)
    if content[:4] == b"\x28\xb5\x2f\xfd":
        return zstd_decompressed(content)
    return content


def records(path):
    content, at = read_file(path), 0
    while at < len(content):
        length, = struct.unpack_from("<Q", content, at)
        data = content[at + 12:at + 12 + length]
        crcs = struct.unpack_from("<I", content, at + 8) + struct.unpack_from(
            "<I", content, at + 12 + length)
        if crcs != (masked_crc32c(content[at:at + 8]), masked_crc32c(data)):
            raise Mismatch(f"{path}: a CRC is wrong at {at}")
        yield data
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Returns [(field number, bytes)] of a message that has length-delimited fields only."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, tag
        length, at = varint(data, at)
        yield tag >> 3, data[at:at + length]
        at += length


def one_field(data, number):
    (found, value), = fields(data)
    assert found == number, found
    return value


def read_example(data):
    """Returns {name: value}, in the order in which they are written."""
    features = []
    for number, entry in fields(one_field(data, 1)):
        assert number == 1, number
        (_, key), (_, feature) = fields(entry)
        (kind, values), = fields(feature)
        value = one_field(values, 1)
        if kind == 3:
            value, end = varint(value, 0)
        else:
            assert kind == 1, kind
        features.append((key.decode(), value))
    return features


def files_of(directory, split):
    shards = sorted(path for path in directory.iterdir()
                    if re.fullmatch(split + r"-\d{5}-of-\d{5}\.tfrecords", path.name))
    if not shards:
        return [directory / f"{split}.tfrecords"]
    if [path.name for path in shards] != [
            f"{split}-{i:05}-of-{len(shards):05}.tfrecords" for i in range(len(shards))]:
        raise Mismatch(f"{directory}: not one whole set of shards of {split}")
    return shards


def check_split(split, batches, files):
    wanted = itertools.chain.from_iterable(batches[name] for name in SPLITS[split])
    found = itertools.chain.from_iterable(records(path) for path in files)
    count = 0
    for expected, record in itertools.zip_longest(wanted, found):
        if expected is None or record is None:
            raise Mismatch(f"{split}: {'more' if expected is None else 'fewer'} records than "
                           f"images after {count}")
        label, pixels = expected
        if read_example(record) != [("image", pixels), ("label", label)]:
            raise Mismatch(f"{split}: record {count} is another Example than image {count} needs")
        count += 1
    print(f"{split}: {count} records are right, in {len(files)} file(s)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("data_dir", type=pathlib.Path)
    args = parser.parse_args()
    batches = read_archive(args.archive)
    try:
        for split in SPLITS:
            check_split(split, batches, files_of(args.data_dir, split))
    except Mismatch as mismatch:
        sys.exit(f"check_cifar10_tfrecords: {mismatch}")


if __name__ == "__main__":
    main()
