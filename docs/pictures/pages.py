#!/usr/bin/env python3
"""Takes pictures of the page of `tfrecord view` and of a training's report, light and dark.

usage: pages.py PROGRAMS WORK

PROGRAMS: the folder of tfrecord, generate_cifar10_tfrecords and cifar10_main (build/release). WORK:
a folder for the synthetic images, the training and the pages; images and checkpoints in it are used
again. Writes docs/pictures/{view,report}_{light,dark}.png. Needs chromium; training takes minutes.
"""

import os
import pathlib
import subprocess
import sys

import drawing

SIZES = {"view": (860, 560), "report": (860, 850)}
LIMIT = 150_000  # bytes of a picture
TRAINING = ("--num-layers", "14", "--train-batch-size", "64", "--train-steps", "1300",
            "--learning-rate-schedule", "cosine", "--warmup-steps", "200",
            "--batch-norm-decay", "0.99", "--validation-steps", "260")  # fmt: skip
# The report from its curves on: the settings before them fill a screen.
SCROLLED = "<style>section:first-of-type { display: none }</style></head>"


def make_pages(programs, work):
    data, report = work / "data", work / "report.html"
    subprocess.run([programs / "generate_cifar10_tfrecords", "--data-dir", data, "--synthetic"],
                   check=True)  # fmt: skip
    subprocess.run([programs / "cifar10_main", "--data-dir", data, "--job-dir", work / "job",
                    "--report", report, *TRAINING], check=True)  # fmt: skip
    subprocess.run([programs / "tfrecord", "view", data / "train.tfrecords", "-o",
                    work / "view.html"], check=True)  # fmt: skip
    text = report.read_text("utf-8").replace("</head>", SCROLLED, 1)
    (work / "scrolled_report.html").write_text(text, "utf-8")
    return {"view": work / "view.html", "report": work / "scrolled_report.html"}


def take_picture(page, size, scheme, path):
    subprocess.run(
        ["chromium", "--headless", *(["--no-sandbox"] if os.geteuid() == 0 else []),
         "--disable-gpu", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}",
         f"--blink-settings=preferredColorScheme={('dark', 'light').index(scheme)}",
         f"--screenshot={path}", page.as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip
    if path.stat().st_size > LIMIT:
        sys.exit(f"{path} has {path.stat().st_size:,} bytes, more than {LIMIT:,}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    programs, work = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    for name, page in make_pages(programs, work).items():
        for scheme in ("light", "dark"):
            take_picture(page, SIZES[name], scheme, drawing.HERE / f"{name}_{scheme}.png")


if __name__ == "__main__":
    main()
