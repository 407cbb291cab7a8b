"""How notebooks show a Dataset: a table of the first records, and the plan.

The table shows the first records of the files with the features of parse(), in the order of the
files: cheap, whatever follows. A shuffle reads as much as its buffer holds, and functions in Python
may be slow or have effects, so what follows parse() is not run; the plan below the table names it.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import Any

import numpy as np

from recordpipe._notebook.cells import STYLE, Cells, cut, escaped, quiet
from recordpipe._plan.execution_operators import WithOptions
from recordpipe._plan.found_features import skipping_errors
from recordpipe._plan.parse_operators import ParseOperator, features_of
from recordpipe._plan.plan import Plan
from recordpipe._plan.source_plans import Tfds, Tfrecords
from recordpipe._plan.step_operators import Steps
from recordpipe.features import type_text
from recordpipe.iterator import Iterator
from recordpipe.ragged import Ragged

__all__ = ["html_repr", "text_repr"]

_ROWS = 5
_COLUMNS = 24
_ROW_BYTES = 16 << 20  # no further row is read after so many bytes
_MEMORY = 1 << 30  # of the pipeline that reads the rows
_PLAN_LINES = 40
_PLAN_COLUMNS = 160


def text_repr(plan: Plan) -> str:
    """Returns the plan, and the features as code for parse()."""
    lines = ["<recordpipe.Dataset", *_plan(plan)]
    features = features_of(plan)
    if features is not None:
        lines.append("features={")
        lines += [f"  {name!r}: {feature!r}," for name, feature in features.items()][:_PLAN_LINES]
        if len(features) > _PLAN_LINES:
            lines.append(f"  ...  # {len(features)} in all: Dataset.features")
        lines.append("}")
    return "\n".join(lines) + ">"


def html_repr(plan: Plan) -> str:
    """Returns HTML. Never raises: an error is a line of it."""
    try:
        table = _table(plan)
    except Exception as error:
        table = _failure("the first records can't be shown", error)
    try:
        lines = f"<pre>{escaped(chr(10).join(_plan(plan)), lines=True)}</pre>"
    except Exception as error:
        lines = _failure("the plan can't be shown", error)
    return f'{STYLE}<div class="recordpipe">{table}{lines}</div>'


def _failure(what: str, error: Exception) -> str:
    text = escaped(cut(f"{what}: {type(error).__name__}: {error}", 500))
    return f'<div class="failed">{text}</div>'


def _plan(plan: Plan) -> list[str]:
    lines = [cut(line, _PLAN_COLUMNS) for line in plan._explained()]
    if len(lines) <= _PLAN_LINES:
        return lines
    half = _PLAN_LINES // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} more operators ...", *lines[-half:]]


def _table(plan: Plan) -> str:
    source = plan._source
    if isinstance(source, Tfds):
        steps = [each for each in plan._operators if isinstance(each, Steps)][:1]
        encoded = plan._of(replace(source, decode_images=False, left_encoded=()))
        return _first_table(encoded._with(steps), plan, {}, "steps" if steps else "Examples")
    if not isinstance(source, Tfrecords):
        return ""
    for path in source.paths:
        if reason := _why_not_read(path):
            return quiet(f"the first records are not shown: {reason}", "div")
    parsers = [each for each in plan._operators if isinstance(each, ParseOperator)][:1]
    features = parsers[0].features_and_lists() if parsers else {}
    types = {name: type_text(feature) for name, feature in features.items()}
    return _first_table(
        plan._first(0)._with(parsers), plan, types if parsers else {"record": "bytes"}, "records"
    )


def _first_table(records: Plan, plan: Plan, types: dict[str, str], what: str) -> str:
    """``types``: of the columns; empty: those of the first row."""
    rows, error = _first_rows(skipping_errors(records, plan._operators))
    if rows and not types:
        types = {name: _type_of(value) for name, value in rows[0].items()}
    names = list(types)
    parts = []
    if rows:
        notes = [f"the first {len(rows)} {what}, in the order of the files"]
        if names == ["record"]:
            notes.append("parse() shows their features")
        if len(names) > _COLUMNS:
            notes.append(f"{_COLUMNS} of {len(names)} features")
        columns = [(name, types[name]) for name in names[:_COLUMNS]]
        parts = [
            f'<div class="scroll">{_rows(columns, rows)}</div>',
            quiet("; ".join(notes), "div"),
        ]
    if error is not None:
        parts.append(_failure(f"{what.removesuffix('s')} {len(rows)}", error))
    elif not rows:
        parts.append(quiet(f"no {what}", "div"))
    return "".join(parts)


def _rows(columns: list[tuple[str, str]], rows: list[dict[str, Any]]) -> str:
    """Returns the table; a column has a name and a type."""
    cells = Cells()
    head = "".join(f"<th>{escaped(cut(name))}<br>{quiet(kind)}</th>" for name, kind in columns)

    def cell(row: dict[str, Any], name: str, kind: str) -> str:
        is_missing = kind.startswith("optional") and not row[f"{name}_mask"]
        return f"<td>{'' if is_missing else cells.of(row[name])}</td>"

    body = ("<tr>" + "".join(cell(row, *column) for column in columns) + "</tr>" for row in rows)
    return (
        f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )


def _first_rows(records: Plan) -> tuple[list[dict[str, Any]], Exception | None]:
    """Returns the first rows, and the error that ended them, if one did."""
    rows: list[dict[str, Any]] = []
    size = 0
    try:
        small = records._then(WithOptions(threads=1, chunk_size=1, memory_limit=_MEMORY))
        with Iterator(small._native, None, None) as iterator:
            while len(rows) < _ROWS and size < _ROW_BYTES:
                row = next(iterator, None)
                if row is None:
                    break
                rows.append(_as_dict(row))
                size += sum(_size(value) for value in rows[-1].values())
    except Exception as error:
        return rows, error
    return rows, None


def _as_dict(row: Any) -> dict[str, Any]:
    if isinstance(row, dict):
        flat: dict[str, Any] = {}
        for name, value in row.items():
            inner = _as_dict(value) if isinstance(value, dict) else {"": value}
            flat |= {f"{name}/{each}".removesuffix("/"): one for each, one in inner.items()}
        return flat
    if isinstance(row, tuple):  # of a SequenceExample: its context, its feature lists
        return {**row[0], **row[1]}
    return {"record": row}


def _type_of(value: Any) -> str:
    """Such as "float32 7", of a value of tfds() or steps()."""
    if isinstance(value, Ragged):
        return "ragged"
    array = np.asarray(value, object if isinstance(value, (bytes, list)) else None)
    dtype = "" if array.dtype == object else f"{array.dtype}"
    return " ".join([dtype or "bytes", *map(str, array.shape)])


def _size(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Ragged):
        return _size(value.values)
    array = np.asarray(value)
    if array.dtype == object:
        return sum(_size(item) for item in array.ravel().tolist())
    return array.nbytes


def _why_not_read(path: str) -> str:
    """Returns why the file is not read to be shown; "" if it is."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return ""  # a pattern, or an error that reading names
    return "a pipe can be read once only" if is_pipe else ""
