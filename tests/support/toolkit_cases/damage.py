"""Cases of convert with damaged files."""
import gzip

from damaged_files import THREE, FIRST, THIRD, flipped
from toolkit_cases.contents import IDS, cut_streams, damaged_contents
from toolkit_cases.selection import selection_errors


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
        yield case(f"{name}, skipped", {"on_damage": "resync"}, {"out": records}, content, report={
            "regions_skipped": len(regions),
            "bytes_skipped": sum(end - begin for begin, end, *_ in regions), ...: ...})
    for name, content, records, lost, _ in cut_streams():
        yield case(f"{name}, skipped", {"on_damage": "resync"}, {"out": records}, content, report={
            "regions_skipped": 1, "bytes_skipped": 0, "compressed_bytes_skipped": lost, ...: ...})
    middle = flipped(THREE, 8 * 40)
    for options in {"where": "record.number >= 0"}, {}:
        yield case(f"damage behind the limit, {options}",
                   {**options, "limit": 1, "on_damage": "resync"}, {"out": [FIRST]}, middle,
                   report={"regions_skipped": 0, "bytes_skipped": 0, ...: ...})
    for options, outputs in (
            ({"shards": 2}, {"out-00000-of-00002": [FIRST], "out-00001-of-00002": [THIRD]}),
            ({"shuffle": True, "shards": 2}, {"out-00000-of-00002": 1, "out-00001-of-00002": 1}),
            ({"sample_count": 500}, {"out": [FIRST, THIRD]}), ({"shuffle": True}, {"out": 2})):
        yield case(f"damage and {options}", {**options, "on_damage": "resync"}, outputs, middle,
                   report={"regions_skipped": 1, "bytes_skipped": 46, ...: ...})
