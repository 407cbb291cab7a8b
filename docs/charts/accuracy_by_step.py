#!/usr/bin/env python3
"""Draws data/accuracy.csv: the accuracy on the eval split by step, a chart for each training.

usage: accuracy_by_step.py [--check]

Writes docs/charts/accuracy_*.svg; with --check, fails if they would change. Colours follow the
reader's light or dark scheme. Standard library only.
"""

import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data/accuracy.csv"
CHARTS = {  # training: the file's name, the steps after which the learning rate falls
    "ResNet-44 on an H100, bf16": ("accuracy_resnet44_gpu", (25_584, 38_376)),
    "ResNet-44 on the CPU, fp32": ("accuracy_resnet44_cpu", (25_584, 38_376)),
    "model A on the CPU, fp32": ("accuracy_model_a", ()),
}
WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 96, 40, 40
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; fill: #1f2328 }
.grid { stroke: #d0d7de } .fall { stroke: #8c959f; stroke-dasharray: 3 3 }
.recordpipe { stroke: #0969da } .PyTorch { stroke: #bc4c00 }
text.recordpipe { stroke: none; fill: #0969da } text.PyTorch { stroke: none; fill: #bc4c00 }
polyline { fill: none; stroke-width: 1.8 }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .title { fill: #f0f6fc } .grid { stroke: #30363d }
  .recordpipe { stroke: #58a6ff } .PyTorch { stroke: #f0883e }
  text.recordpipe { fill: #58a6ff } text.PyTorch { fill: #f0883e }
}"""


def read():
    """{training: (date, {trainer: [(step, accuracy)]})}"""
    trainings = {}
    with DATA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            _, lines = trainings.setdefault(row["training"], (row["measured"], {}))
            lines.setdefault(row["trainer"], []).append((int(row["step"]), float(row["accuracy"])))
    return trainings


def svg(title, measured, lines, falls):
    last = max(step for points in lines.values() for step, _ in points)
    low = 10 * int(min(value for points in lines.values() for _, value in points) // 10)
    high = 90

    def x(step):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * step / last, 1)

    def y(value):
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low), 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'role="img" aria-label="{title}: accuracy by step">',
           f"<style>{STYLE}\n</style>",
           f'<text class="title" x="{LEFT}" y="20">{title}: accuracy by step</text>',
           f'<text x="{WIDTH - 8}" y="20" text-anchor="end">measured {measured}</text>']
    for value in range(low, high + 1, 10):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value)}" '
                   f'y2="{y(value)}"/><text x="{LEFT - 6}" y="{y(value) + 4}" '
                   f'text-anchor="end">{value}%</text>')
    for step in range(0, last + 1, 20_000):
        out.append(f'<text x="{x(step)}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">'
                   f"{step:,}</text>")
    for step in falls:
        out.append(f'<line class="fall" x1="{x(step)}" x2="{x(step)}" y1="{TOP}" '
                   f'y2="{HEIGHT - BOTTOM}"><title>the learning rate falls after step {step:,}'
                   f"</title></line>")
    ends = []
    for name, points in lines.items():
        text = " ".join(f"{x(step)},{y(value)}" for step, value in points)
        out.append(f'<polyline class="{name}" points="{text}"/>')
        ends.append((y(points[-1][1]), x(points[-1][0]), name))
    for height, place, name in ends:
        above = any(height < other < height + 16 and place == there for other, there, _ in ends)
        shift = -6 if above else 8 if place == x(last) else 30  # not over the other line
        out.append(f'<text class="{name}" x="{place + 6}" y="{height + shift}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    changed = []
    for training, (measured, lines) in read().items():
        name, falls = CHARTS[training]
        path = HERE / f"{name}.svg"
        text = svg(training, measured, lines, falls)
        if not path.exists() or path.read_text("utf-8") != text:
            changed.append(path.name)
            if not sys.argv[1:]:
                path.write_text(text, "utf-8")
    if changed and sys.argv[1:]:
        sys.exit(f"not what accuracy_by_step.py draws: {', '.join(changed)}; run it")


if __name__ == "__main__":
    main()
