"""Cases of convert: formats, shards, selections, plans and arguments."""
import gzip
import math

from damaged_files import THREE
from toolkit_cases.case import Case
from toolkit_cases.contents import EXTENDED, IDS, PAYLOADS, framed, records_of
from toolkit_cases.damage import damage_cases
from toolkit_cases.edit import edit_cases
from toolkit_cases.split import split_cases


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
    yield case("plan of damaged files", {"shards": 2, "dry_run": True, "on_damage": "resync"}, {},
               {"a": IDS[:-1], "b": IDS}, report={
                   "records": None, "read_twice": ["a", "b"], ...: ...})
    yield case("plan of a cut file", {"dry_run": True}, {}, IDS[:-1],
               error=("DataLossError", "truncated record at"))
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
            ({"on_damage": "resync", "check_crc": False}, "contradict each other"),
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
