"""The files of the cases: contents, what is in them, and where they are damaged."""
import functools
import gzip
import struct
import zlib

from damaged_files import CASES, THREE, FIRST, SECOND, THIRD, flipped, header
from example_bytes import (DATA, bytes_feature, example, field, float_feature, int64_feature,
                           named_example)
from example_bytes import record as slow_record

record = functools.lru_cache(maxsize=None)(slow_record)  # CRCs are slow in Python


def records_of(content):
    """The records of a file that isn't compressed by zstd, whose framing must be exact."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    elif content[:1] == b"\x78":
        content = zlib.decompress(content)
    found, at = [], 0
    while at < len(content):
        length, = struct.unpack_from("<Q", content, at)
        found.append(content[at + 12:at + 12 + length])
        assert content[at:at + 16 + length] == record(found[-1]), at
        at += 16 + length
    return found


def framed(*payloads):
    return b"".join(map(record, payloads))


PLACES = ((0, 21), (21, 67), (67, 88))  # of the records in THREE
PAYLOADS = [FIRST, SECOND, THIRD]

BOXES = [0.5, 1.0, 1.5, 2.0]
LABELLED = framed(
    named_example({"image": [b"\xff"], "label": [1], "box": BOXES}),
    named_example({"image": [b"\xfe"], "label": [2], "box": BOXES, "words": ["a", "b"]}),
    example(box=float_feature(*BOXES), image=bytes_feature(b"\xfd"),
            label=int64_feature(3), words=bytes_feature()))
STEPS = framed((DATA / "golden/sequences/steps.pb").read_bytes())
IDS = framed(*(named_example({"id": [i], "name": [f"n{i}"]}) for i in range(20)))
EVENT = framed(struct.pack("<Bd", 9, 1599759586.0))

# An Example with a field that only some extended schema has, and an ExampleListWithContext.
EXTENDED = named_example({"id": [1]}) + field(5, b"more")
EXAMPLE_LIST = (field(1, named_example({"id": [1]})) + field(1, named_example({"id": [2]}))
                + field(2, named_example({"query": ["shoes"]})))


def damaged_contents():
    """Yields name, content, intact records (or their number), and regions, some with the number of
    records before."""
    for name, (content, records, regions) in CASES.items():
        yield name, content, records, regions
    for bit in range(0, 8 * len(THREE), 29):
        at = next(i for i, (_, end) in enumerate(PLACES) if bit // 8 < end)
        yield (f"bit {bit}", flipped(THREE, bit), PAYLOADS[:at] + PAYLOADS[at + 1:],
               [(*PLACES[at], "", at)])
    for size in range(0, len(THREE), 7):
        whole = sum(end <= size for _, end in PLACES)
        begin = PLACES[whole][0]
        yield (f"{size} bytes", THREE[:size], PAYLOADS[:whole],
               [(begin, size, "", whole)] if begin < size else [])
    yield ("a length that is no size", THREE[:21] + header(2**62) + THREE[21:], PAYLOADS,
           [(21, 33, "the length reaches beyond the end of the file")])
    yield "text", b"<!DOCTYPE html><html></html>", [], [(0, 28, "")]


def cut_streams():
    """Yields name, content, intact records, and compressed bytes that can't be decompressed, with
    how the region's reason ends."""
    members, rest = [gzip.compress(framed(*half)) for half in (PAYLOADS[:2], PAYLOADS[2:])], b"x" * 999
    size = len(members[0]) + len(rest)
    yield "garbage up to the end", members[0] + rest, PAYLOADS[:2], 999, (
        f"; the rest of the file, 999 of its {size} compressed bytes, is lost")
    yield ("garbage between members", rest.join(members), PAYLOADS, 999,
           "; 999 compressed bytes after it are lost")
