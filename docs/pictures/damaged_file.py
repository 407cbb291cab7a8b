#!/usr/bin/env python3
"""Draws a terminal in which the program tfrecord saves the records of a damaged file.

usage: damaged_file.py [--check]

Runs the commands on a file that it makes and damages, and writes docs/pictures/damaged_file.svg;
with --check, fails if it would change. RECORDPIPE_TFRECORD: the program (default:
build/release/tfrecord). Standard library only.
"""

import html
import json
import os
import pathlib
import subprocess
import tempfile

import drawing

COMMANDS = ("tfrecord salvage damaged.tfrecord -o saved.tfrecord", "tfrecord verify saved.tfrecord")
COLUMNS, CHARACTER, LINE, MARGIN, TOP = 71, 8.4, 19, 16, 44
STYLE = """
rect { fill: #161b22; stroke: #57606a }
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d1d9;
  white-space: pre }
.prompt { fill: #f0f6fc; font-weight: 600 } .damaged { fill: #ff7b72 } .intact { fill: #7ee787 }"""


def damaged_file(program, folder):
    """10,000 records, of which one has a wrong byte and the last one no end."""
    rows = (json.dumps({"x": [i, i * i / 8], "y": i / 2}) for i in range(10_000))
    (folder / "rows.jsonl").write_text("\n".join(rows), "utf-8")
    path = folder / "damaged.tfrecord"
    subprocess.run([program, "create", "rows.jsonl", "-o", path], cwd=folder, check=True,
                   capture_output=True)  # fmt: skip
    data = bytearray(path.read_bytes())
    data[300_000] ^= 1
    path.write_bytes(data[:-20])


def session(program):
    """The lines of the terminal: (class, text)."""
    with tempfile.TemporaryDirectory() as name:
        damaged_file(program, pathlib.Path(name))
        for command in COMMANDS:
            yield "prompt", f"$ {command}"
            printed = subprocess.run([program, *command.split()[1:]], cwd=name, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
            for line in printed.stdout.splitlines():
                is_damage = ": damaged" in line or line.startswith("  [")
                kind = "damaged" if is_damage else "intact" if ": intact" in line else "plain"
                for start in range(0, len(line), COLUMNS):  # as a terminal wraps it
                    yield kind, line[start : start + COLUMNS]


def terminal(lines):
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), TOP + len(lines) * LINE + 4
    out = [f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>']
    for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{MARGIN + 4 + 18 * index}" cy="17" r="5.5" fill="{colour}"/>')
    for index, (kind, line) in enumerate(lines):
        length = f' textLength="{round(len(line) * CHARACTER, 1)}"' if line.strip() else ""
        out.append(f'<text class="{kind}" x="{MARGIN}" y="{TOP + index * LINE + 6}"{length} '
                   f'xml:space="preserve">{html.escape(line, quote=False)}</text>')  # fmt: skip
    return drawing.svg(width, height, "tfrecord salvage saves what is intact", out, STYLE)


if __name__ == "__main__":
    tfrecord = os.environ.get("RECORDPIPE_TFRECORD") or drawing.ROOT / "build/release/tfrecord"
    picture = terminal(list(session(pathlib.Path(tfrecord).resolve())))
    drawing.write_or_check(__doc__, {"damaged_file.svg": picture})
