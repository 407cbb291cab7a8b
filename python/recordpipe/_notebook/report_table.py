"""The tables that notebooks show of reports: text, bars of shares, and histograms.

Bars are block characters: they need no styles, which pages that others see often remove.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from recordpipe._notebook.cells import STYLE, cut, escaped, quiet

__all__ = ["Bar", "Bars", "Report", "ReportTable"]

_ROWS = 100
_WIDTH = 16  # characters of a bar
_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Bar(NamedTuple):
    """A share, from 0 to 1, and what is written behind it."""

    share: float
    text: str


class Bars(NamedTuple):
    """Counts, as a histogram."""

    counts: Sequence[float]


Cell: TypeAlias = str | Bar | Bars


class ReportTable(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Cell]]


class Report:
    """What notebooks show as a table."""

    __slots__ = ()

    def _report(self) -> ReportTable:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        table = self._report()
        rows = [*table.rows]
        head = "".join(f"<th>{_html(name)}</th>" for name in table.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_html(cell)}</td>" for cell in row) + "</tr>"
            for row in rows[:_ROWS]
        )
        more = f"<div>... {len(rows) - _ROWS:,} more</div>" if len(rows) > _ROWS else ""
        return (
            f'{STYLE}<div class="recordpipe"><div>{_html(table.title)}</div><div class="scroll">'
            f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"{more}</div>"
        )


def _html(cell: Cell) -> str:
    if isinstance(cell, Bar):
        return f"{_bar(cell.share)} {quiet(cell.text)}"
    if isinstance(cell, Bars):
        most = max([*cell.counts, 1])
        return "".join(_BLOCKS[_part(count / most, 8)] for count in cell.counts)
    return escaped(cut(cell, 120))


def _bar(share: float) -> str:
    whole, eighths = divmod(_part(share, 8 * _WIDTH), 8)
    return "█" * whole + (_EIGHTHS[eighths] if eighths else "")


def _part(share: Any, parts: int) -> int:
    """Of `parts`, at least one of a share that isn't 0."""
    return min(parts, max(round(share * parts), 1)) if share > 0 else 0
