"""Cases of verify and salvage."""
import gzip

from damaged_files import CASES, THREE, FIRST, SECOND, THIRD, flipped
from example_bytes import DATA
from toolkit_cases.case import Case
from toolkit_cases.contents import PAYLOADS, cut_streams, damaged_contents


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
