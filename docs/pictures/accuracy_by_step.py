#!/usr/bin/env python3
"""Draws data/accuracy.csv: the accuracy on the eval split by step, a chart for each training.

usage: accuracy_by_step.py [--check]

Writes docs/pictures/accuracy_*.svg; with --check, fails if they would change. Colours follow the
reader's light or dark scheme. Standard library only.
"""

import csv

import drawing

DATA = drawing.ROOT / "data/accuracy.csv"
CHARTS = {  # training: the file's name, the steps after which the learning rate falls
    "ResNet-44 on an H100, bf16": ("accuracy_resnet44_gpu", (25_584, 38_376)),
    "ResNet-44 on the CPU, fp32": ("accuracy_resnet44_cpu", (25_584, 38_376)),
    "model A on the CPU, fp32": ("accuracy_model_a", ()),
}
WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 96, 40, 40
STYLE = drawing.STYLE + """
.fall { stroke: #8c959f; stroke-dasharray: 3 3 } polyline { fill: none; stroke-width: 1.8 }"""


def colour(trainer):
    return "recordpipe" if trainer == "recordpipe" else "peer"


def read():
    """{training: (date, {trainer: [(step, accuracy)]})}"""
    trainings = {}
    with DATA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            _, lines = trainings.setdefault(row["training"], (row["measured"], {}))
            lines.setdefault(row["trainer"], []).append((int(row["step"]), float(row["accuracy"])))
    return trainings


def chart(title, measured, lines, falls):
    last = max(step for points in lines.values() for step, _ in points)
    low = 10 * int(min(value for points in lines.values() for _, value in points) // 10)
    high = 90

    def x(step):
        return round(LEFT + (WIDTH - LEFT - RIGHT) * step / last, 1)

    def y(value):
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low), 1)

    out = [f'<text class="title" x="{LEFT}" y="20">{title}: accuracy by step</text>',
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
        out.append(f'<polyline class="{colour(name)}" points="{text}"/>')
        ends.append((y(points[-1][1]), x(points[-1][0]), name))
    for height, place, name in ends:
        above = any(height < other < height + 16 and place == there for other, there, _ in ends)
        shift = -6 if above else 8 if place == x(last) else 30  # not over the other line
        out.append(f'<text class="{colour(name)}" x="{place + 6}" y="{height + shift}">'
                   f"{name}</text>")
    return drawing.svg(WIDTH, HEIGHT, f"{title}: accuracy by step", out, STYLE)


def main():
    pictures = {}
    for training, (measured, lines) in read().items():
        name, falls = CHARTS[training]
        pictures[f"{name}.svg"] = chart(training, measured, lines, falls)
    drawing.write_or_check(__doc__, pictures)


if __name__ == "__main__":
    main()
