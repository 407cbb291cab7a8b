"""Cases of stats."""
import math
import statistics

from damaged_files import THREE, flipped
from example_bytes import example, float_feature, named_example
from toolkit_cases.case import Case
from toolkit_cases.contents import EXAMPLE_LIST, EXTENDED, IDS, LABELLED, STEPS, framed
from toolkit_cases.selection import selection_errors


def quantiles(*values):
    return dict(zip(("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99"), values))


def stats_cases():
    undecided = {"records": 1, "first": "an Example except for field 5 of an Example (byte 15)"}
    for kind, with_features in ((None, 0), ("example", 1)):
        yield Case(f"a field of another message, kind={kind}", "stats", {"a": framed(EXTENDED)},
                   {"kind": kind} if kind else {},
                   report={"records": 1, "with_features": with_features,
                           "undecided": None if kind else undecided, ...: ...})
    yield Case("lists of Examples", "stats", {"a": framed(EXAMPLE_LIST)}, {"where": "id == 2"},
               report={"records": 1, "with_features": 1, ...: ...})
    yield Case("damage that is skipped", "stats", {"a": flipped(THREE, 8 * 40), "b": THREE},
               {"on_damage": "resync"},
               report={"records": 5, "regions_skipped": 1, "bytes_skipped": 46, ...: ...})
    yield Case("ints and bytes", "stats", {"a": framed(
        *(named_example({"label": [i % 4]}) for i in range(9)),
        named_example({"name": ["cat", b"\xff"]}))}, report={
            "records": 10, "record_sizes": {"min": 18, "max": 22, "mean": 18.4, ...: ...},
            "with_features": 10, "features": {
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
        "records": 3, "record_sizes": {"min": 0, "max": 78, ...: ...}, "with_features": 2,
        "features": {"label": {"share": 0.5, ...: ...}},
        "feature_lists": {"frames": {...: ...}, "words": {
            "steps": 2, "values": {"min": 1, "max": 2}, "int64": {"count": 3, ...: ...},
            ...: ...}}})
    yield Case("no records", "stats", {"a": b""},
               report={"records": 0, "with_features": 0, "features": {}})
    yield Case("names beyond the limit", "stats", {"a": framed(
        named_example({f"f{i:03}": [i] for i in range(210)}), named_example({"": [1]}))},
        report={"records": 2, "record_sizes": {...: ...}, "with_features": 2, "left_out": 11,
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
