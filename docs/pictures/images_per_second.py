#!/usr/bin/env python3
"""Draws data/images_per_second.csv: images/s in Python beside tf.data, PyTorch and Grain.

usage: images_per_second.py [--check]

Writes docs/pictures/images_per_second.svg; with --check, fails if it would change. Fails if a row
is not in docs/benchmarks.md, whose measurements these are. Standard library only.
"""

import csv
import sys

import drawing

WIDTH, LEFT, TOP, GROUP = 600, 150, 62, 48
WIDEST = WIDTH - LEFT - 140  # pixels, for the largest number
STYLE = (
    drawing.STYLE
    + """
text { font-size: 14px } text.title { font-size: 15px } line { stroke-width: 16 }"""
)


def number(text):
    return float(text[:-2]) * 1e6 if text.endswith(" M") else float(text.replace(",", ""))


def read():
    with (drawing.ROOT / "data/images_per_second.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    documented = (drawing.ROOT / "docs/benchmarks.md").read_text("utf-8")
    for row in rows:
        cells = (f"| {row['recordpipe_images_per_second']} images/s | {row['peer']}, "
                 f"{row['peer_images_per_second']} | {row['ratio']} (")  # fmt: skip
        if cells not in documented:
            sys.exit(f"docs/benchmarks.md has no such row: {cells}")
    return rows


def bar(name, value, largest, top, note=""):
    end = LEFT + round(WIDEST * number(value) / largest, 1)
    kind = "recordpipe" if name == "recordpipe" else "peer"
    return (f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{name}</text>'
            f'<line class="{kind}" x1="{LEFT}" x2="{end}" y1="{top + 8}" y2="{top + 8}"/>'
            f'<text class="{kind}" x="{end + 6}" y="{top + 13}">{value}{note}</text>')  # fmt: skip


def chart(rows):
    title = "CIFAR-10 in Python: images/s on two cores"
    out = [f'<text class="title" x="8" y="20">{title}</text>',
           '<text x="8" y="42">records to shuffled, cropped, flipped float32 batches of 128; '
           "pairs in turns</text>"]  # fmt: skip
    largest = max(number(row["recordpipe_images_per_second"]) for row in rows)
    for index, row in enumerate(rows):
        top = TOP + index * GROUP
        note = f" ({float(row['ratio']):.0f} times)"
        out.append(bar("recordpipe", row["recordpipe_images_per_second"], largest, top, note))
        out.append(bar(row["peer"], row["peer_images_per_second"], largest, top + 18))
    bottom = TOP + len(rows) * GROUP + 14
    (source,) = {(row["measured"], row["machine"]) for row in rows}
    out.append(f'<text x="8" y="{bottom}">measured {source[0]}, {source[1]}; medians of 7 rounds'
               "</text>")  # fmt: skip
    return drawing.svg(WIDTH, bottom + 12, title, out, STYLE)


if __name__ == "__main__":
    drawing.write_or_check(__doc__, {"images_per_second.svg": chart(read())})
