"""tfrecord --ray ADDRESS COMMAND: commands of `tfrecord` on the machines of a Ray cluster."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from recordpipe.ray import Executor

__all__ = ["main"]

_DESCRIPTION = """\
Runs a command on a Ray cluster. Each file is a task, which runs again if its machine is lost. All
machines need recordpipe, and the files under the same paths. ADDRESS is the cluster's HOST:PORT,
auto, or local (this machine alone). Reports have the format of the Python package. --json prints
the same objects as the command without --ray; for stats, those of the Python package.
Exit status: 0 done; 1 a file is damaged (verify); 2 an error.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command, and returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        import ray
        import recordpipe as rp
        from recordpipe.__main__ import in_options
        from recordpipe.ray import Executor
    except ImportError as error:
        print(f"tfrecord --ray: {error} (pip install 'ray[data]')", file=sys.stderr)
        return 2
    try:
        ray.init(address=given.ray, log_to_driver=False, logging_level="warning")
        with Executor() as executor:
            command: Callable[[argparse.Namespace, Executor], int] = given.command
            return command(given, executor)
    except (rp.Error, OSError, ValueError) as error:
        print(f"tfrecord {given.name}: {in_options(str(error))}", file=sys.stderr)
        return 2
    finally:
        ray.shutdown()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "tfrecord",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--ray", metavar="ADDRESS", required=True)
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    def add(name: str, command: Callable[..., int], text: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        one.set_defaults(command=command)
        one.add_argument("files", nargs="+", metavar="FILE", help="paths, folders, patterns")
        one.add_argument(
            "--recursive", action="store_true", help="read folders below a folder, too"
        )
        one.add_argument("--input-compression", choices=("none", "gzip", "zlib", "zstd"))
        one.add_argument("--max-record-size", type=int, default=2**30, metavar="BYTES")
        one.add_argument("--json", action="store_true", help="print JSON")
        return one

    add("verify", _verify, "Checks every CRC, and says which bytes are damaged.")
    stats = add("stats", _stats, "Says what values features have, of all files together.")
    stats.add_argument("--features", action="append", default=[], metavar="NAME")
    stats.add_argument("--where", metavar="EXPRESSION")
    stats.add_argument("--skip-corrupt", action="store_true")
    for name, command, text in (
        ("convert", _convert, "Writes each file anew, to a file of the same name."),
        (
            "salvage",
            _salvage,
            "Writes the intact records of each file to a file of the same name.",
        ),
    ):
        one = add(name, command, text)
        one.add_argument("--to-dir", required=True, metavar="DIR")
        one.add_argument("--compression", choices=("none", "gzip", "zlib", "zstd"))
        one.add_argument("--resume", action="store_true", help="keep what an earlier run has made")
        one.add_argument("--keep-going", action="store_true", help="go on after a file that failed")
        if name == "convert":
            one.add_argument("--where", metavar="EXPRESSION")
            one.add_argument("--select", action="append", metavar="NAME")
            one.add_argument("--drop", action="append", default=[], metavar="NAME")
            one.add_argument("--skip-corrupt", action="store_true")
    return parser


def _reading(given: argparse.Namespace) -> dict[str, Any]:
    return {
        "recursive": given.recursive,
        "input_compression": given.input_compression,
        "max_record_size": given.max_record_size,
    }


def _files(given: argparse.Namespace) -> list[str]:
    return [_shared(file) for file in given.files]


def _shared(path: str) -> str:
    """Absolute: the workers' directory is another one."""
    return path if "://" in path else os.path.abspath(path)


def _on_damage(given: argparse.Namespace) -> Literal["raise", "resync"]:
    return "resync" if given.skip_corrupt else "raise"


def _verify(given: argparse.Namespace, executor: Executor) -> int:
    import recordpipe as rp

    report = rp.verify(_files(given), executor=executor, **_reading(given))
    if not given.json:
        print(report)
    for file in report if given.json else ():
        regions = [
            {name: getattr(one, name) for name in ("begin", "end", "reason", "records_before")}
            for one in file.regions
        ]
        line = {"path": file.path, "regions": regions, "records": file.records}
        line["intact"] = file.intact
        if file.error is not None:
            line["error"] = str(file.error)
        else:
            line |= {name: getattr(file, name) for name in ("bytes", "bytes_lost", "compression")}
        print(json.dumps(line))
    if any(file.error for file in report):
        return 2
    return 0 if report.intact else 1


def _stats(given: argparse.Namespace, executor: Executor) -> int:
    import recordpipe as rp
    from recordpipe.schema import counted

    found = rp.stats(
        _files(given),
        given.features,
        where=given.where,
        on_damage=_on_damage(given),
        executor=executor,
        **_reading(given),
    )
    if found.regions_skipped:
        regions = counted(found.regions_skipped, "damaged region")
        of = counted(found.bytes_skipped, "byte")
        print(f"tfrecord stats: skipped {regions} of {of}", file=sys.stderr)
    if given.json:
        print(json.dumps(dataclasses.asdict(found), default=lambda value: value.decode("latin-1")))
    else:
        print(found)
    return 0


def _job(given: argparse.Namespace, executor: Executor, function: Any, **options: Any) -> int:
    from recordpipe.__main__ import in_options

    report = function(
        _files(given),
        _shared(given.to_dir),
        compression=given.compression,
        executor=executor,
        resume=given.resume,
        keep_going=given.keep_going,
        **_reading(given),
        **options,
    )
    for shard in report.shards:
        for region in shard.skipped:
            place = f"[{region.begin:,}, {region.end:,}), {region.reason}"
            print(f"tfrecord {given.name}: {shard.input}: skipped {place}", file=sys.stderr)
    for shard in report.shards if given.json else ():
        line = {"path": shard.input, "output": shard.path, "records": shard.records}
        print(json.dumps({**line, "bytes": shard.bytes, "was_there": shard.was_there}))
    for failed in report.failed:
        text = in_options(str(failed.error))
        if given.json:
            print(json.dumps({"path": failed.input, "error": text}))
        print(f"tfrecord {given.name}: {text}", file=sys.stderr)
    if not given.json:
        print(report)
    return 0 if report.complete else 2


def _convert(given: argparse.Namespace, executor: Executor) -> int:
    import recordpipe as rp

    options = {name: getattr(given, name) for name in ("where", "select", "drop")}
    options["on_damage"] = _on_damage(given)
    return _job(given, executor, rp.convert_to_dir, **options)


def _salvage(given: argparse.Namespace, executor: Executor) -> int:
    import recordpipe as rp

    return _job(given, executor, rp.salvage_to_dir)
