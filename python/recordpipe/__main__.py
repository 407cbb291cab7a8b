"""python3 -m recordpipe FUNCTION: calls a function, for programs in other languages.

    echo '{"sources": ["a.tfrecord"], "target": "a.parquet"}' | python3 -m recordpipe convert

FUNCTION is convert or convert_to_dir; standard input has its arguments, as an object of JSON, and
of convert_to_dir "folders": those of its sources, which are files, whose places the outputs keep.
Standard output is its report, or {"error": {"kind", "path", "offset", "reason", "hint"}}: one line
of JSON. Standard error has the warnings, and if it is a terminal, the progress. Exit status: 0; 2
after an error; 130 after Ctrl-C. `tfrecord export` and `create` run it for Parquet and Arrow.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import warnings
from typing import Any

import recordpipe as rp
from recordpipe.inputs import FoundFiles, found_files


def main(names: list[str]) -> int:
    if len(names) != 1 or names[0] not in ("convert", "convert_to_dir"):
        print(__doc__, end="", file=sys.stderr)
        return 2
    warnings.formatwarning = lambda message, *_: f"tfrecord: {message}\n"
    try:
        arguments = json.load(sys.stdin)
        if "folders" in arguments:
            arguments["sources"] = _files(**arguments)._replace(folders=arguments.pop("folders"))
        report = getattr(rp, names[0])(**arguments, progress=sys.stderr.isatty())
        answer = dataclasses.asdict(report)
    except KeyboardInterrupt:
        return 130
    except (NotImplementedError, OSError, TypeError, ValueError, rp.Error) as error:
        answer = {"error": _parts(error)}
    print(json.dumps(answer, default=_parts))
    return 2 if "error" in answer else 0


def _parts(error: Any) -> dict[str, Any]:
    if isinstance(error, rp.Error):
        names = ("kind", "path", "offset", "reason", "hint")
        return {name: getattr(error, name) for name in names} | {"hint": in_options(error.hint)}
    kind = "io" if isinstance(error, OSError) else "invalid_argument"
    return {"kind": kind, "path": None, "offset": None, "reason": str(error), "hint": ""}


def _files(sources: list[str], keep_going: bool, **_: Any) -> FoundFiles:
    try:
        return found_files(sources, False, None)
    except rp.Error:
        if not keep_going:
            raise
        return FoundFiles(sources, [0] * len(sources))  # each fails at its turn, or doesn't


def in_options(text: str) -> str:
    """An error, or its hint, with an option of the command in place of an argument."""
    return re.sub(r"pass on_damage=.* to go on", "--skip-corrupt skips what is damaged", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
