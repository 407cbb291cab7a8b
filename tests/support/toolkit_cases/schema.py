"""Cases of schema."""
import gzip
import struct
import zlib

from damaged_files import flipped
from example_bytes import example, named_example
from toolkit_cases.case import Case
from toolkit_cases.contents import EVENT, EXAMPLE_LIST, EXTENDED, IDS, LABELLED, STEPS, framed
from toolkit_cases.selection import selection_errors


def schema_cases():
    box, image = ({"kind": "float", "values": 4}, {"kind": "bytes", "values": 1})
    label, words = {"kind": "int64"}, {"kind": "bytes", "values": {"min": 0, "max": 2}}
    yield Case("Examples", "schema", {"a": LABELLED}, report={
        "records": 3, "kinds": {"Example": 3}, "kind": "Example", "features": {
            "box": {**box, "share": 1.0}, "image": {**image, "share": 1.0},
            "label": {**label, "values": 1, "share": 1.0}, "words": {**words, "share": 2 / 3}}},
        code={"cpp": """\
#include "recordpipe/example/parse_example.h"

const recordpipe::ExampleSchema schema = {
    {"box", recordpipe::FixedLen{recordpipe::FeatureKind::floats, {4}}},
    {"image", recordpipe::FixedLen{recordpipe::FeatureKind::bytes}},
    {"label", recordpipe::FixedLen{recordpipe::FeatureKind::int64s}},
    {"words", recordpipe::Ragged{recordpipe::FeatureKind::bytes}},
};
""", "python": """\
import recordpipe as rp

features = {
    "box": rp.FixedLenFeature([4], "float32"),
    "image": rp.FixedLenFeature([], "bytes"),
    "label": rp.FixedLenFeature([], "int64"),
    "words": rp.RaggedFeature("bytes"),
}
""", "tensorflow": """\
import tensorflow as tf

features = {
    "box": tf.io.FixedLenFeature([4], tf.float32),
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "words": tf.io.RaggedFeature(tf.string),
}
"""})
    other = framed(named_example({"label": [1, 2]}), b"text", b"")
    yield Case("all files together", "schema", {"a": LABELLED, "b": other}, report={
        "records": 6, "kinds": {"Example": 5, "unknown": 1}, "kind": "mixed", "features": {
            "box": {**box, "share": 0.6}, "image": {**image, "share": 0.6},
            "label": {**label, "values": {"min": 1, "max": 2}, "share": 0.8},
            "words": {**words, "share": 0.4}}})
    yield Case("SequenceExamples", "schema", {"a": STEPS}, report={
        "records": 1, "kinds": {"SequenceExample": 1}, "kind": "SequenceExample",
        "features": {"label": {**label, "values": 1, "share": 1.0}},
        "feature_lists": {
            "frames": {"kind": "bytes", "values": 1, "share": 1.0, "steps": 2},
            "words": {"kind": "int64", "values": {"min": 1, "max": 2}, "share": 1.0, "steps": 3}}},
        code={"python": """\
import recordpipe as rp

context_features = {
    "label": rp.FixedLenFeature([], "int64"),
}
sequence_features = {
    "frames": rp.FixedLenSequenceFeature([], "bytes"),
    "words": rp.RaggedFeature("int64"),
}
""", "tensorflow": """\
import tensorflow as tf

context_features = {
    "label": tf.io.FixedLenFeature([], tf.int64),
}
sequence_features = {
    "frames": tf.io.FixedLenSequenceFeature([], tf.string),
    "words": tf.io.RaggedFeature(tf.int64),
}
""", "cpp": """\
#include "recordpipe/example/parse_sequence_example.h"

const recordpipe::SequenceExampleSchema schema = {
    .context =
        {
            {"label", recordpipe::FixedLen{recordpipe::FeatureKind::int64s}},
        },
    .feature_lists =
        {
            {"frames", recordpipe::FixedLenSequence{recordpipe::FeatureKind::bytes, {}, false}},
            {"words", recordpipe::Ragged{recordpipe::FeatureKind::int64s}},
        },
};
"""})
    odd = framed(named_example({"x": [1]}), named_example({"x": [1.5]}), example(none=b""),
                 named_example({'"\\\n?é': [1]}))
    yield Case("what has no place in a schema", "schema", {"a": odd}, report={
        "features": {'"\\\n?é': {"kind": "int64", "values": 1, "share": 0.25},
                     "none": {"kind": "none", "values": None, "share": 0.0},
                     "x": {"kind": "mixed", "values": 1, "share": 0.5}}, ...: ...},
        code={"cpp": """\
#include "recordpipe/example/parse_example.h"

const recordpipe::ExampleSchema schema = {
    {"\\"\\\\\\012?é", recordpipe::Ragged{recordpipe::FeatureKind::int64s}},
    // "none": never a list
    // "x": lists of several kinds
};
""", "python": """\
import recordpipe as rp

features = {
    "\\"\\\\\\n?é": rp.FixedLenFeature([], "int64", optional=True),
    # "none": never a list
    # "x": lists of several kinds
}
"""})
    name = "n" * (1 << 20)
    yield Case("names beyond the limit", "schema", {"a": framed(
        *(named_example({f"{i}{name}": [i], "label": [i]}) for i in range(6)))}, report={
            "records": 6, "left_out": 3, "features": {
                "label": {"kind": "int64", "values": 1, "share": 1.0},
                **{f"{i}{name}": {"kind": "int64", "values": 1, "share": 1 / 6}
                   for i in range(3)}}, ...: ...})
    damaged = flipped(LABELLED, 8 * 12)
    yield Case("damage", "schema", {"a": damaged, "b": LABELLED},
               error=("DataLossError", "data CRC mismatch"))
    yield Case("damage that is skipped", "schema", {"a": damaged, "b": LABELLED},
               {"on_damage": "resync"}, report={
                   "records": 5, "regions_skipped": 1,
                   "bytes_skipped": 16 + struct.unpack_from("<Q", LABELLED)[0], ...: ...})
    yield Case("no records", "schema", {"a": b""}, report={
        "records": 0, "kinds": {}, "kind": "unknown", "features": {}},
        code={"python": "import recordpipe as rp\n\nfeatures = {\n}\n"})
    yield Case("Events", "schema", {"a": EVENT}, report={
        "records": 1, "kinds": {"Event": 1}, "kind": "Event", "features": {}})
    yield Case("an Example and a field of another message", "schema", {"a": framed(EXTENDED)},
               report={"kind": "unknown", "features": {}, "undecided": {
                   "records": 1, "first": "an Example except for field 5 of an Example (byte 15)"},
                   ...: ...})
    id_one = {"id": {"kind": "int64", "values": 1, "share": 1.0}}
    yield Case("the same, read as an Example", "schema", {"a": framed(EXTENDED)},
               {"kind": "example"}, report={"kind": "Example", "features": id_one, ...: ...})
    yield Case("an Example, read as none", "schema", {"a": framed(named_example({"id": [1]}))},
               {"kind": "unknown"}, report={"kind": "unknown", "features": {}, ...: ...})
    yield Case("lists of Examples", "schema", {"a": framed(EXAMPLE_LIST)}, report={
        "kind": "ExampleListWithContext", "features": {
            "query": {"kind": "bytes", "values": 1, "share": 1.0}},
        "feature_lists": {"id": {"kind": "int64", "values": 1, "share": 1.0, "steps": 2}},
        ...: ...})
    files = {"a": IDS, "b": gzip.compress(IDS)}
    for options, count in (({}, 40), ({"where": "id >= 7"}, 26), ({"limit": 0}, 0),
                           ({"where": "id >= 7", "limit": 4}, 4),
                           ({"where": "has(id) or id == 77"}, 40),
                           ({"where": "id not in [3, 4]"}, 36),
                           ({"where": "has(idx) and idx > 3"}, 0),
                           ({"where": "record.number < 2"}, 4),
                           ({"where": "record.number < 2", "limit": 3}, 3),
                           ({"where": "matches(record.path, r'b$')"}, 20)):
        yield Case(f"chosen by {options}", "schema", files, options,
                   report={"records": count, ...: ...})
    yield Case("a feature that only unread records may have", "schema", files,
               {"where": "id >= 0 or idx > 3", "limit": 4}, report={"records": 4, ...: ...},
               note="names idx, which no record that was read has; there are id")
    yield from selection_errors("schema", LABELLED)
    yield Case("without CRCs", "schema", {"a": flipped(IDS, 8 * len(IDS) - 1)},
               {"check_crc": False}, report={"records": 20, ...: ...})
    zipped = zlib.compress(IDS)
    yield Case("compressed twice", "schema", {"a": gzip.compress(gzip.compress(IDS))},
               report={"records": 20, ...: ...})
    yield Case("another format", "schema", {"a": b"PAR1" + bytes(range(90))},
               error=("DataLossError", "this is a Parquet file"))
    yield Case("compressed", "schema", {"a": zipped}, {"input_compression": "zlib"},
               report={"records": 20, ...: ...})
    yield Case("a record too large", "schema", {"a": zipped}, {"max_record_size": 10},
               error=("LimitExceededError", "more than the 10 allowed"))
