"""Cases of what both the command tfrecord and the Python package can do: convert, salvage, schema,
stats and verify. tests/cli/tfrecord_cases_test.py runs them through the command,
tests/python/toolkit_cases_test.py through the package; a case fails where one differs.

A case that only one of them can have (text for a terminal, exit codes, pickling, ...) is in the tests of
its side.
"""
import dataclasses
import functools
import gzip
import math
import pathlib
import statistics
import struct
import tempfile
import zlib

from damaged_files import CASES, THREE, FIRST, SECOND, THIRD, flipped, header
from example_bytes import (DATA, bytes_feature, example, field, float_feature, int64_feature,
                           named_example, varint)
from example_bytes import record as slow_record

record = functools.lru_cache(maxsize=None)(slow_record)  # CRCs are slow in Python


@dataclasses.dataclass(frozen=True)
class Case:
    """
    Attributes:
        function: of the package; a subcommand of tfrecord.
        files: names to contents. All are inputs, in this order, unless `inputs` has their names.
        options: keyword arguments of the package; options of the command are made of them.
        target: of convert and salvage.
        report: what `tfrecord FUNCTION --json` prints, as a list if it is one line for each file; a
            dict that has ... as a key may have others, too. None: anything.
        outputs: names of written files to their records, or to the number of records.
        code: of schema: "cpp" or "python" to the text that is generated.
        error: a class of the package's exception, and words of the message.
        note: words of the warning. Empty: anything.
    """
    name: str
    function: str
    files: dict
    options: dict = dataclasses.field(default_factory=dict)
    inputs: tuple = ()
    target: str = "out"
    report: object = None
    outputs: dict = None
    code: dict = dataclasses.field(default_factory=dict)
    error: tuple = None
    note: str = ""


class Failed(Exception):
    """What a function raised: the message, and for the package the exception's classes."""

    def __init__(self, message, classes=None):
        super().__init__(message)
        self.message, self.classes = message, classes


class ToolkitCases:
    """The tests of both sides. run_case(case, inputs, target) returns the report, and the code of a
    schema, or raises Failed. It stores the warnings in `notes`, as text."""

    def check_all(self, function):
        for case in globals()[f"{function}_cases"]():
            with self.subTest(case.name), tempfile.TemporaryDirectory() as folder:
                check(self, case, pathlib.Path(folder))

    def test_convert(self):
        self.check_all("convert")

    def test_salvage(self):
        self.check_all("salvage")

    def test_schema(self):
        self.check_all("schema")

    def test_stats(self):
        self.check_all("stats")

    def test_verify(self):
        self.check_all("verify")


def check(test, case, folder):
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    inputs = [str(folder / name) for name in case.inputs or case.files]
    try:
        report, code = test.run_case(case, inputs, str(folder / case.target))
    except Failed as failed:
        test.assertIsNotNone(case.error, failed.message)
        for name, content in case.files.items():
            test.assertEqual((folder / name).read_bytes(), content)
        kind, words = case.error
        test.assertIn(words, failed.message)
        if failed.classes is not None:
            test.assertIn(kind, failed.classes, failed.message)
        outputs = {}
    else:
        test.assertIsNone(case.error, report)
        test.assertIn(case.note, test.notes)
        if case.report is not None:
            expect_equal(test, without(f"{folder}/", report), case.report)
        test.assertEqual(code, case.code)
        outputs = case.outputs
    if outputs is None:
        return
    written = {path.name: path for path in folder.iterdir() if path.name not in case.files}
    test.assertEqual(sorted(written), sorted(outputs))
    for name, expected in outputs.items():
        found = records_of(written[name].read_bytes())
        test.assertEqual(len(found) if isinstance(expected, int) else found, expected, name)


def without(folder, value):
    """A value of JSON without the folder at the beginning of its paths."""
    if isinstance(value, dict):
        return {name: without(folder, item) for name, item in value.items()}
    if isinstance(value, list):
        return [without(folder, item) for item in value]
    return value.removeprefix(folder) if isinstance(value, str) else value


def expect_equal(test, found, expected, place="report"):
    """A "reason" begins with the expected one. None means that the name is absent."""
    if isinstance(expected, dict):
        test.assertIsInstance(found, dict, place)
        names = {name for name in found if found[name] is not None}
        wanted = {name for name in expected if name is not ... and expected[name] is not None}
        if ... in expected:  # may have others, except those that are expected to be None
            names -= names - expected.keys()
        test.assertEqual(names, wanted, place)
        for name in names:
            expect_equal(test, found[name], expected[name], f"{place}.{name}")
    elif isinstance(expected, list):
        test.assertEqual(len(found), len(expected), (place, found))
        for i, (one, other) in enumerate(zip(found, expected)):
            expect_equal(test, one, other, f"{place}[{i}]")
    elif isinstance(expected, str) and place.endswith(".reason"):
        test.assertTrue(found.startswith(expected), (place, found))
    else:
        test.assertEqual(found, expected, place)


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


REGION = ("begin", "end", "reason", "records_before")


def damage_report(content, records, regions, **known):
    """What verify and salvage report of a file; regions as in damaged_files.CASES."""
    compression = next((name for name, start in (("gzip", b"\x1f"), ("zlib", b"\x78"))
                        if content.startswith(start)), "none")
    size = {"bytes": len(content)} if compression == "none" else {}
    return {"path": "a", "records": records, "intact": not regions,
            "regions": [dict(zip(REGION, region)) | {...: ...} for region in regions],
            "bytes_lost": sum(end - begin for begin, end, *_ in regions),
            "compression": compression, **size, ...: ..., **known}


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


def verify_cases():
    for name, content, records, lost, end in cut_streams():
        at = 67 if len(records) == 2 else 88
        yield Case(name, "verify", {"a": content}, report=[
            {"records": len(records), "intact": False, "bytes_lost": 0, "bytes": at,
             "compressed_bytes_lost": lost, "regions": [
                 {"begin": 67, "end": 67, "records_before": 2,
                  "reason": "garbage after the end of the gzip stream at "
                            f"{content.index(b'x' * 999)} of the file{end}", ...: ...}],
             ...: ...}])
    for name, content, records, regions in damaged_contents():
        count = records if isinstance(records, int) else len(records)
        for threads in (1, 3) if name in CASES else (0,):
            yield Case(f"{name}, {threads} threads", "verify", {"a": content},
                       {"threads": threads}, report=[damage_report(content, count, regions)])
    middle = flipped(THREE, 8 * 40)
    yield Case("several files", "verify", {"a": middle, "b": gzip.compress(THREE)}, report=[
        {"path": "a", "records": 2, "intact": False, "regions": [
            {"begin": 21, "end": 67, "reason": "data CRC mismatch: corrupted record",
             "records_before": 1}], "bytes": 88, "bytes_lost": 46, "compression": "none"},
        {"path": "b", "records": 3, "intact": True, "regions": [], "bytes": 88, "bytes_lost": 0,
         "compression": "gzip"}])
    yield Case("zstd", "verify", {"a": (DATA / "zstd/vectors.tfrecords.zst").read_bytes()},
               report=[{"records": 6, "bytes": 135, "intact": True, "compression": "zstd",
                        ...: ...}])
    yield Case("missing", "verify", {"a": THREE}, inputs=("none*",),
               error=("NotFoundError", "no file matches"))
    yield Case("threads", "verify", {"a": THREE}, {"threads": 1025},
               error=("ValueError", "1024"))


def salvage_cases():
    for name, content, records, regions in damaged_contents():
        count = records if isinstance(records, int) else len(records)
        if regions and not count:
            yield Case(name, "salvage", {"a": content},
                       error=("DataLossError", "no intact record"))
        else:
            yield Case(name, "salvage", {"a": content}, outputs={"out": records},
                       report=[damage_report(content, count, regions)])
    yield Case("the output exists", "salvage", {"a": THREE, "out": b"before"},
               {"no_clobber": True}, inputs=("a",), outputs={},
               error=("AlreadyExistsError", "exists, and would be replaced"))
    yield Case("several files", "salvage", {"a": flipped(THREE, 8 * 40), "b": THREE},
               outputs={"out": [FIRST, THIRD, *PAYLOADS]}, report=[
                   damage_report(THREE, 2, [(21, 67, "data CRC mismatch: corrupted record")]),
                   damage_report(THREE, 3, [], path="b")])
    for options, target in (({"compression": "gzip"}, "out"), ({"compression": "zlib"}, "out"),
                            ({"compression": "none"}, "out.gz"), ({}, "out.gz")):
        yield Case(f"to {target}, {options}", "salvage",
                   {"a": gzip.compress(flipped(THREE, 8))}, options, target=target,
                   outputs={target: [SECOND, THIRD]})
    for name, content, records, lost, _ in cut_streams():
        yield Case(name, "salvage", {"a": content}, outputs={"out": records},
                   report=[{"compressed_bytes_lost": lost, "bytes_lost": 0, ...: ...}])
    yield Case("onto its input", "salvage", {"a": b"x" + THREE}, target="a",
               error=("InvalidArgumentError", "would be replaced"))
    yield Case("one is missing", "salvage", {"a": THREE}, inputs=("a", "none"),
               error=("NotFoundError", "none"))


def step(*values):
    return field(1, field(3, field(1, b"".join(map(varint, values)))))


def entry(name, value):
    return field(1, field(1, name.encode()) + field(2, value))


BOXES = [0.5, 1.0, 1.5, 2.0]
LABELLED = framed(
    named_example({"image": [b"\xff"], "label": [1], "box": BOXES}),
    named_example({"image": [b"\xfe"], "label": [2], "box": BOXES, "words": ["a", "b"]}),
    example(box=float_feature(*BOXES), image=bytes_feature(b"\xfd"),
            label=int64_feature(3), words=bytes_feature()))
STEPS = framed((DATA / "golden/sequences/steps.pb").read_bytes())
IDS = framed(*(named_example({"id": [i], "name": [f"n{i}"]}) for i in range(20)))
EVENT = framed(struct.pack("<Bd", 9, 1599759586.0))


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
import tensorflow as tf

features = {
    "\\"\\\\\\n?é": tf.io.RaggedFeature(tf.int64),
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
    yield Case("no records", "schema", {"a": b""}, report={
        "records": 0, "kinds": {}, "kind": "unknown", "features": {}},
        code={"python": "import tensorflow as tf\n\nfeatures = {\n}\n"})
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


# An Example with a field that only some extended schema has, and an ExampleListWithContext.
EXTENDED = named_example({"id": [1]}) + field(5, b"more")
EXAMPLE_LIST = (field(1, named_example({"id": [1]})) + field(1, named_example({"id": [2]}))
                + field(2, named_example({"query": ["shoes"]})))


def selection_errors(function, content, **options):
    """Errors of the functions that read records."""
    for name, files, more, error in (
            ("a feature that no record has", {"a": IDS}, {"where": "idx == 3"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("a feature that no record has, which is not looked at", {"a": IDS},
             {"where": "id >= 0 or idx == 3"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("a feature that no record has, in not", {"a": IDS}, {"where": "not (idx == 3)"},
             ("NotFoundError", "idx, which no record has; there are id")),
            ("no expression", {"a": IDS}, {"where": "id ="}, ("InvalidArgumentError", "column")),
            ("cut", {"a": content[:-1]}, {}, ("DataLossError", "truncated record at")),
            ("a flipped bit", {"a": flipped(content, 8 * len(content) - 1)}, {},
             ("DataLossError", "corrupted record at"))):
        yield Case(name, function, files, {**options, **more}, error=error, outputs={})
    for name, where in (("they lack", "id >= 0 or has(id)"), ("nothing lacks", "not has(idx)")):
        yield Case(f"records of no known kind, for features that {name}", function,
                   {"a": IDS + record(b"foo"), "b": record(b"bar")}, {**options, "where": where},
                   note="2 records are of no known kind, and ")


def quantiles(*values):
    return dict(zip(("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99"), values))


def stats_cases():
    for kind, with_features in ((None, 0), ("example", 1)):
        yield Case(f"a field of another message, kind={kind}", "stats", {"a": framed(EXTENDED)},
                   {"kind": kind} if kind else {},
                   report={"records": 1, "with_features": with_features, ...: ...})
    yield Case("lists of Examples", "stats", {"a": framed(EXAMPLE_LIST)}, {"where": "id == 2"},
               report={"records": 1, "with_features": 1, ...: ...})
    yield Case("ints and bytes", "stats", {"a": framed(
        *(named_example({"label": [i % 4]}) for i in range(9)),
        named_example({"name": ["cat", b"\xff"]}))}, report={
            "records": 10, "with_features": 10, "features": {
                "label": {"kind": "int64", "records": 9, "share": 0.9, "values": 1, "int64": {
                    "count": 9, "min": 0, "max": 3, "mean": 4 / 3,
                    "sd": statistics.pstdev([0, 1, 2, 3, 0, 1, 2, 3, 0]),
                    "quantiles": quantiles(0, 0, 0, 1, 2, 3, 3), "quantiles_are_exact": True,
                    "histogram": {"min": 0, "max": 3,
                                  "counts": [3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2]},
                    "distinct": 4, "distinct_is_exact": True, "most_frequent": [
                        {"value": 0, "count": 3}, {"value": 1, "count": 2},
                        {"value": 2, "count": 2}, {"value": 3, "count": 2}]}},
                "name": {"kind": "bytes", "records": 1, "share": 0.1, "values": 2, "bytes": {
                    "count": 2, "total_bytes": 4,
                    "lengths": {"min": 1, "max": 3, "mean": 2, "sd": 1,
                                "quantiles": quantiles(1.02, 1.1, 1.5, 2, 2.5, 2.9, 2.98),
                                "quantiles_are_exact": True,
                                "histogram": {"min": 1, "max": 3, "counts": [1] + [0] * 14 + [1]}},
                    "long_values": 0, "distinct": 2, "distinct_is_exact": True, "most_frequent": [
                        {"value": "cat", "count": 1}, {"value": {"base64": "/w=="}, "count": 1}]}},
            }})
    for values, found in (
            ((math.nan, math.inf, 1.0, -math.inf, 3.0),
             {"count": 5, "nan": 1, "min": -math.inf, "max": math.inf, "mean": 2.0,
              "histogram": {"min": 1.0, "max": 3.0, ...: ...}, ...: ...}),
            ((1.0, math.nan, 2.0, math.inf),
             {"count": 4, "nan": 1, "min": 1.0, "max": math.inf, "mean": 1.5,
              "quantiles": {"0.5": 2.0, "0.99": math.inf, ...: ...},
              "histogram": {"min": 1.0, "max": 2.0, "counts": [1] + [0] * 14 + [1]}, ...: ...}),
            ((-math.inf, 1.0, 2.0),
             {"count": 3, "nan": 0, "min": -math.inf, "max": 2.0, "mean": 1.5, "sd": 0.5,
              "quantiles": quantiles(-math.inf, -math.inf, -math.inf, 1.0, 1.5, 1.9, 1.98),
              "quantiles_are_exact": True,
              "histogram": {"min": 1.0, "max": 2.0, "counts": [1] + [0] * 14 + [1]},
              "distinct": 3, "distinct_is_exact": True, "most_frequent": [
                  {"value": -math.inf, "count": 1}, {"value": 1.0, "count": 1},
                  {"value": 2.0, "count": 1}]}),
            ((math.nan,), {"count": 1, "nan": 1}),
            ((-math.inf, math.inf),
             {"count": 2, "nan": 0, "min": -math.inf, "max": math.inf, "mean": None,
              "histogram": None, ...: ...})):
        yield Case(f"floats {values}", "stats", {"a": framed(example(x=float_feature(*values)))},
                   report={"features": {"x": {"float": found, ...: ...}}, ...: ...})
    texts = [b"cat"] * 3 + [b"\xff\x00"] * 2 + [b"x" * 40]
    yield Case("long bytes", "stats", {"a": framed(*(named_example({"x": [t]}) for t in texts))},
               report={"features": {"x": {"kind": "bytes", "bytes": {
                   "total_bytes": 53, "long_values": 1, "lengths": {"min": 2, "max": 40, ...: ...},
                   "most_frequent": [{"value": "cat", "count": 3},
                                     {"value": {"base64": "/wA="}, "count": 2}], ...: ...},
                                         ...: ...}}, ...: ...})
    yield Case("other messages", "stats", {"a": STEPS + framed(b"text", b"")}, report={
        "records": 3, "with_features": 2, "features": {"label": {"share": 0.5, ...: ...}},
        "feature_lists": {"frames": {...: ...}, "words": {
            "steps": 2, "values": {"min": 1, "max": 2}, "int64": {"count": 3, ...: ...},
            ...: ...}}})
    yield Case("no records", "stats", {"a": b""},
               report={"records": 0, "with_features": 0, "features": {}})
    yield Case("names beyond the limit", "stats", {"a": framed(
        named_example({f"f{i:03}": [i] for i in range(210)}), named_example({"": [1]}))},
        report={"records": 2, "with_features": 2, "left_out": 11,
                "features": {f"f{i:03}": {...: ...} for i in range(200)}})
    yield Case("two features", "stats", {"a": IDS}, {"features": ["name", "id"]},
               report={"features": {"id": {...: ...}, "name": {...: ...}}, ...: ...})
    for options, count in (({"features": ["id"]}, 20), ({"features": "id", "where": "id < 4"}, 4),
                           ({"features": "id", "where": "id < 4", "limit": 3}, 3)):
        yield Case(f"chosen by {options}", "stats", {"a": IDS}, options, report={
            "records": count, "features": {"id": {"int64": {"max": count - 1, ...: ...}, ...: ...}},
            ...: ...})
    yield Case("a feature that no record has", "stats", {"a": IDS}, {"features": "idd"},
               error=("NotFoundError", "named idd; there are id, name"))
    yield from selection_errors("stats", LABELLED)


def convert_cases():
    extended = framed(EXTENDED)
    yield Case("an edit of a message with another field", "convert", {"a": extended},
               {"rename": {"id": "x"}}, outputs={},
               error=("DataLossError", "but an Example except for field 5 of an Example (byte 15)"))
    yield Case("the same, read as an Example", "convert", {"a": extended},
               {"rename": {"id": "x"}, "kind": "example"}, outputs={},
               error=("UnsupportedError", "the edit would lose field 5 of an Example"))
    yield Case("a selection of a message with another field", "convert", {"a": extended},
               {"where": "id == 1", "kind": "example"}, outputs={"out": [EXTENDED]})
    ids = records_of(IDS)
    numbers = [str(i).encode() for i in range(20)]
    numbered = framed(*numbers)

    def case(name, options, outputs, content=IDS, **more):
        files = content if isinstance(content, dict) else {"a": content}
        return Case(name, "convert", files, options, outputs=outputs, **more)

    for name in ("gzip", "zlib", "none"):
        yield case(name, {"compression": name}, {"out": ids})
    for target in ("out.gz", "out.zlib"):
        yield case(f"to {target}", {}, {target: ids}, target=target, report={
            "files": [{"path": target, "records": 20, ...: ...}], ...: ...})
    yield case("a pattern", {}, {"out": [b"1", *PAYLOADS]},
               {"c": gzip.compress(THREE), "a": framed(b"0"), "b": framed(b"1")}, inputs=("[bc]*",))
    yield case("several files", {}, {"out": [*PAYLOADS, *numbers]},
               {"a": gzip.compress(THREE), "b": numbered, "c": b""}, report={
                   "files": [{"path": "out", "records": 23, "bytes": 88 + len(numbered)}],
                   "regions_skipped": 0, "bytes_skipped": 0})
    yield case("nothing", {}, {"out": []}, b"")
    exists = ("AlreadyExistsError", "exists, and would be replaced")
    for name, options in (("out", {}), ("out-00001-of-00003", {"shards": 3}),
                          ("out-train", {"split": {"train": 0.5, "val": 0.5}})):
        yield case(f"{name} exists", {"no_clobber": True, **options}, {},
                   {"a": IDS, name: b"before"}, inputs=("a",), error=exists)
    yield case("no file exists", {"no_clobber": True}, {"out": ids})
    yield case("levels", {"compression": "gzip", "level": "fast"}, {"out": ids})
    shards = [f"out-0000{i}-of-00003" for i in range(3)]
    parts = [numbers[:6], numbers[6:13], numbers[13:]]
    yield case("shards", {"shards": 3}, dict(zip(shards, parts)), numbered, report={
        "files": [{"path": path, "records": len(part), "bytes": len(framed(*part))}
                  for path, part in zip(shards, parts)], ...: ...})
    yield case("more shards than records", {"shards": 5},
               dict(zip((f"out-0000{i}-of-00005" for i in range(5)), ([], [], [b"1"], [], [b"2"]))),
               framed(b"1", b"2"))
    yield case("shards of nothing", {"shards": 2},
               {"out-00000-of-00002": [], "out-00001-of-00002": []}, b"")
    for threads in (1, 2, 4):
        yield case(f"round-robin on {threads} threads",
                   {"shards": 3, "shards_by": "round-robin", "threads": threads},
                   {path: numbers[i::3] for i, path in enumerate(shards)}, numbered)
    sizes = [b"x" * 84, b"y" * 84, b"z" * 34, b"w" * 84, b"v" * 284]
    yield case("max_bytes", {"max_bytes": 200},
               dict(zip(shards, (sizes[:2], sizes[2:4], sizes[4:]))), framed(*sizes))
    for options, chosen in (
            ({"where": "id >= 7"}, ids[7:]), ({"where": "id >= 7", "threads": 3}, ids[7:]),
            ({"where": "id >= 7", "limit": 2}, ids[7:9]), ({"limit": 5}, ids[:5]),
            ({"where": "id == 77"}, []), ({"sample": 0}, []), ({"sample": 1}, ids),
            ({"sample_count": 13, "seed": 3}, 13), ({"sample_count": 13, "shuffle": True}, 13),
            ({"sample_count": 100}, ids), ({"shuffle": True}, 20)):
        yield case(f"chosen by {options}", options, {"out": chosen})
    yield case("shards of a selection", {"where": "id >= 7", "shards": 2},
               {"out-00000-of-00002": ids[7:13], "out-00001-of-00002": ids[13:]})
    yield from split_cases(case)
    yield from edit_cases(case)
    yield from damage_cases(case)
    yield from plan_cases(case, shards)
    yield from argument_cases(case)


def plan_cases(case, shards):
    yield case("plan", {"shards": 3, "dry_run": True}, {}, {"a": IDS, "b": gzip.compress(IDS)},
               report={"inputs": 2, "bytes": len(IDS) + len(gzip.compress(IDS)), "records": None,
                       "read_twice": ["b"], "outputs": shards})
    yield case("plan of plain files", {"shards": 3, "dry_run": True}, {}, report={
        "inputs": 1, "bytes": len(IDS), "records": 20, "read_twice": [], "outputs": shards})
    yield case("plan of splits", {"split": {"x": 0.5, "y": 0.5}, "dry_run": True}, {},
               target="out.gz", report={"outputs": ["out-x.gz", "out-y.gz"], ...: ...})
    yield case("plan of parts", {"max_bytes": 100, "dry_run": True}, {},
               report={"outputs": ["out-?????-of-?????"], ...: ...})
    for options, twice in (({"shards": 2, "shards_by": "round-robin"}, []), ({}, []),
                           ({"shards": 2, "shuffle": True}, []),
                           ({"shards": 2, "where": "id == 3"}, ["a", "b"])):
        yield case(f"plan of {options}", {**options, "dry_run": True}, {},
                   {"a": IDS, "b": gzip.compress(IDS)}, report={"read_twice": twice, ...: ...})


def argument_cases(case):
    for options, words in (
            ({"shards": 2, "max_bytes": 100}, "two ways to split"),
            ({"sample": 0.5, "sample_count": 2}, "two ways to sample"),
            ({"sample": 1.5}, "1.5"), ({"sample": math.nan}, "nan"),
            ({"skip_corrupt": True, "check_crc": False}, "contradict each other"),
            ({"level": 3}, "without a compression"), ({"compression": "lzma"}, "lzma"),
            ({"compression": "gzip", "level": 10}, "level 10 is not between 0 and 9"),
            ({"shards": 0}, "0"), ({"shards": 100_000}, "99999"), ({"threads": 1025}, "1024"),
            ({"max_record_size": 0}, "0"), ({"limit": -1}, "-1"), ({"seed": -1}, "-1"),
            ({"shards_by": "deal", "shards": 2}, "deal")):
        yield case(f"arguments {options}", options, {}, error=("ValueError", words))
    yield case("too many at a time", {"shards": 10_001, "shards_by": "round-robin"}, {},
               error=("LimitExceededError", "written at a time"))
    yield case("no such folder", {}, {}, target="none/out", error=("NotFoundError", "none/"))
    yield case("a part onto its input", {"limit": 3}, {}, target="a",
               error=("InvalidArgumentError", "would be replaced"))


def split_hash(value, seed):
    """The documented hash, as a part of 1."""
    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    h = seed
    for x in [*value, len(value)]:
        h = mix((h + 0x9E3779B97F4A7C15) % 2**64)
        h = mix((h + x * 0x9E3779B97F4A7C15) % 2**64)
    return (h >> 11) / 2**53


def split_cases(case):
    ids, split = records_of(IDS), {"train": 0.7, "val": 0.3}
    many = [named_example({"id": [i], "name": [f"n{i % 23}"]}) for i in range(200)]
    for feature, value in (("id", lambda i: struct.pack("<q", i)),
                           ("name", lambda i: b"n%d" % (i % 23))):
        for seed in (0, 5):
            train = [split_hash(value(i), seed) < 0.7 for i in range(len(many))]
            parts = {"train": [one for one, is_train in zip(many, train) if is_train],
                     "val": [one for one, is_train in zip(many, train) if not is_train]}
            yield case(f"split by {feature}, seed {seed}",
                       {"split": split, "split_by": feature, "seed": seed},
                       {f"out-{name}.tfrecord": part for name, part in parts.items()},
                       framed(*many), target="out.tfrecord", report={
                           "files": [{"split": name, "path": f"out-{name}.tfrecord",
                                      "records": len(part), ...: ...}
                                     for name, part in parts.items()], ...: ...})
    yield case("split by a feature that is dropped",
               {"split": split, "split_by": "name", "seed": 5, "drop": "name"},
               {f"out-{name}": len(part) for name, part in parts.items()}, framed(*many))
    for records, words in (([*ids, named_example({"other": [1]})], "is missing"),
                           ([named_example({"id": [1, 2]})], "has not one int64 or bytes"),
                           ([named_example({"id": [0.5]})], "has not one int64 or bytes")):
        yield case(f"a key that {words}", {"split": split, "split_by": "id"}, {}, framed(*records),
                   error=("NotFoundError" if "missing" in words else "DataLossError", words))
    for options, words in (
            ({"split": {"a": 0.5, "b": 0.4}}, "add up to 1"),
            ({"split": {"a": 0.5, "b": 0.6}}, "add up to 1"),
            *(({"split": {name: 1}}, "no name for a split") for name in ("a/b", "", "..")),
            ({"split": {"a": 0, "b": 1}}, "above 0"),
            ({"split": {"a": math.nan, "b": 1}}, "above 0"),
            ({"split": {"a": -1, "b": 2}}, "above 0"),
            ({"split": {"a": 0.5, "b": 0.5}, "sample_count": 10, "shards": 2},
             "a sample of an exact size")):
        yield case(f"arguments {options}", options, {}, error=("ValueError", words))


def edit_cases(case):
    edited = framed(named_example({"b": ["x"], "a": [1, 2], "c": [0.5]}), b"",
                    named_example({"a": [3]}))
    for options, *expected in (
            ({"select": "a"}, {"a": [1, 2]}, {"a": [3]}),
            ({"drop": ["a", "b"]}, {"c": [0.5]}, {}),
            ({"rename": {"a": "z"}}, {"b": ["x"], "c": [0.5], "z": [1, 2]}, {"z": [3]}),
            ({"select": ["a", "b"], "rename": {"a": "b", "b": "a"}},
             {"a": ["x"], "b": [1, 2]}, {"b": [3]})):
        first, last = map(named_example, expected)
        yield case(f"edited by {options}", options, {"out": [first, b"", last]}, edited)
    first = named_example({"a": [1]})
    yield case("a feature that only records behind the limit have", {"limit": 1, "drop": "late"},
               {"out": [first]}, framed(first, named_example({"late": [2]})),
               note="no record that was taken has a feature named late; others have")
    unpacked = bytes.fromhex("0a0d0a0b0a0361676512041a02080d")
    yield case("values keep their bytes", {"select": "age"}, {"out": [unpacked]}, framed(unpacked))
    sequence = framed(field(2, entry("c", step(4)) + entry("a", step(3))) +
                      field(1, entry("b", step(2)[2:]) + entry("a", step(1)[2:])))
    one, two = entry("a", step(1)[2:]), entry("b", step(2)[2:])
    yield case("SequenceExamples, renamed", {"rename": {"c": "0"}}, {"out": [
        field(1, one + two) + field(2, entry("0", step(4)) + entry("a", step(3)))]}, sequence)
    yield case("SequenceExamples, dropped", {"drop": "a"}, {"out": [
        field(1, two) + field(2, entry("c", step(4)))]}, sequence)
    for options, error in (
            ({"select": ["a", "d"]}, ("NotFoundError", "named d; there are")),
            ({"drop": ["d"]}, ("NotFoundError", "named d; there are")),
            ({"rename": {"a": "b"}}, ("AlreadyExistsError", "two features named \"b\""))):
        yield case(f"not edited by {options}", options, {}, edited, error=error)
    yield case("a feature that only unread records may have", {"drop": ["d"], "limit": 1},
               {"out": [named_example({"a": [1, 2], "b": ["x"], "c": [0.5]})]}, edited,
               note="no record that was read has a feature named d; there are")
    yield case("no Example", {"drop": "a"}, {}, framed(named_example({"a": [1]}), b"\xff\xff"),
               error=("DataLossError", "a: not a tf.train.Example"))
    for other in (records_of(EVENT)[0] + b"\x10\x07", b"\x28\x01"):
        for option in ("drop", "select"):
            yield case(f"{option} of {other}", {option: "label"}, {},
                       framed(named_example({"label": [1]}), other),
                       error=("DataLossError", "neither an Example nor a SequenceExample"))


def damage_cases(case):
    yield from selection_errors("convert", IDS)
    contents = {"a byte more": (THREE + b"x", "truncated record at"),
                "a length": (flipped(THREE, 8 * 21), "corrupted record at"),
                "zeros at the end": (THREE + bytes(100), "corrupted record at"),
                "cut gzip": (gzip.compress(THREE)[:-3], "ends"),
                "no records": (b"version https://git-lfs.github.com\n", "Git LFS")}
    for options in ({}, {"shuffle": True}, {"where": "id == 1"}, {"shards": 2},
                    {"shards": 50, "shards_by": "round-robin"}, {"split": {"x": 0.5, "y": 0.5}}):
        if options:
            yield from selection_errors("convert", IDS, **options)
        for name, (content, words) in contents.items():
            yield case(f"{name}, {options}", options, {}, {"a": IDS, "b": content},
                       error=("DataLossError", words))
    for name, content, records, regions in damaged_contents():
        yield case(f"{name}, skipped", {"skip_corrupt": True}, {"out": records}, content, report={
            "regions_skipped": len(regions),
            "bytes_skipped": sum(end - begin for begin, end, *_ in regions), ...: ...})
    for name, content, records, lost, _ in cut_streams():
        yield case(f"{name}, skipped", {"skip_corrupt": True}, {"out": records}, content, report={
            "regions_skipped": 1, "bytes_skipped": 0, "compressed_bytes_skipped": lost, ...: ...})
    middle = flipped(THREE, 8 * 40)
    for options, outputs in (
            ({"shards": 2}, {"out-00000-of-00002": [FIRST], "out-00001-of-00002": [THIRD]}),
            ({"shuffle": True, "shards": 2}, {"out-00000-of-00002": 1, "out-00001-of-00002": 1}),
            ({"sample_count": 500}, {"out": [FIRST, THIRD]}), ({"shuffle": True}, {"out": 2})):
        yield case(f"damage and {options}", {**options, "skip_corrupt": True}, outputs, middle,
                   report={"regions_skipped": 1, "bytes_skipped": 46, ...: ...})
