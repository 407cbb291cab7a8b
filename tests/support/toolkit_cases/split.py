"""Cases of convert that split by a feature."""
import math
import struct

from example_bytes import named_example
from toolkit_cases.contents import IDS, framed, records_of


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
