"""python3 -m recordpipe FUNCTION: calls a function, for programs in other languages.

    echo '{"sources": ["a.tfrecord"], "target": "a.parquet"}' | python3 -m recordpipe convert

FUNCTION is convert or convert_to_dir; standard input has its arguments, as an object of JSON.
Standard output is its report, or {"error": {"kind", "path", "offset", "reason", "hint"}}: one line
of JSON. If standard error is a terminal, it shows the progress. Exit status: 0; 2 after an error;
130 after Ctrl-C. `tfrecord export` and `create` run it for Parquet and Arrow.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import recordpipe as rp


def main(names: list[str]) -> int:
    if len(names) != 1 or names[0] not in ("convert", "convert_to_dir"):
        print(__doc__, end="", file=sys.stderr)
        return 2
    try:
        arguments = json.load(sys.stdin)
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
        return {name: getattr(error, name) for name in ("kind", "path", "offset", "reason", "hint")}
    kind = "io" if isinstance(error, OSError) else "invalid_argument"
    return {"kind": kind, "path": None, "offset": None, "reason": str(error), "hint": ""}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
