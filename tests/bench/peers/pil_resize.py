"""PIL's row of bench_resize: smaller JPEG images of files. usage: pil_resize.py PROCESSES FOLDER FILE...

The files are read and written by recordpipe, so that only the images differ.
"""
import io
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import recordpipe as rp
from PIL import Image

FEATURES = {"image/encoded": rp.FixedLenFeature([], "bytes"),
            "image/class/label": rp.FixedLenFeature([], "int64")}


def smaller(file):
    image = Image.open(io.BytesIO(file))
    short = min(image.size)
    if short > 256:
        image = image.resize(tuple(side * 256 // short for side in image.size), Image.BILINEAR)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90)
    return out.getvalue(), image.size


def convert(paths):
    path, target = paths
    with rp.Writer(target) as writer:
        for row in rp.tfrecords(path).parse(FEATURES).with_options(threads=1):
            image, (width, height) = smaller(row["image/encoded"])
            writer.write({"image/encoded": image, "image/height": height, "image/width": width,
                          "image/class/label": int(row["image/class/label"])})


def main():
    processes, folder, *files = sys.argv[1:]
    targets = [os.path.join(folder, f"pil-{i}") for i in range(len(files))]
    with ProcessPoolExecutor(int(processes)) as pool:
        list(pool.map(convert, zip(files, targets)))


if __name__ == "__main__":
    main()
