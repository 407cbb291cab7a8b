"""Makes data/image/values.json: what normalisation and the colour distortions make of small images,
worked out value by value from the definitions (those of tf.image and of TensorFlow's CIFAR-10
tutorial) with Python's standard library only.

    python3 data/make_image_values.py data/image/values.json           writes the file
    python3 data/make_image_values.py --check data/image/values.json   exits 1 where it would differ

Normalised values are rounded to float after each operation, as the definitions' operations are; the
colour distortions' are exact but for the last rounding.
"""

import fractions
import json
import math
import pathlib
import random
import statistics
import struct
import sys

HEIGHT, WIDTH, CHANNELS = 6, 5, 3


def single(value):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def window(image, place):
    """The pixels [y][x][channel] that the window shows, zeros outside the image."""
    def pixel(y, x):
        inside = 0 <= y < HEIGHT and 0 <= x < WIDTH
        return [image[(c * HEIGHT + y) * WIDTH + x] if inside else 0 for c in range(CHANNELS)]

    rows = [[pixel(y + place["top"], x + place["left"]) for x in range(place["width"])]
            for y in range(place["height"])]
    return [row[::-1] for row in rows] if place["flip"] else rows


def each_value(pixels, function):
    return [function(value, c) for row in pixels for pixel in row for c, value in enumerate(pixel)]


def normalized(pixels, scale, mean, stddev):
    scale, mean, stddev = single(scale), [*map(single, mean)], [*map(single, stddev)]
    return each_value(pixels, lambda x, c: single(
        single(single(x * scale) - mean[c]) / stddev[c]))


def per_image_standardization(pixels):
    values = each_value(pixels, lambda x, c: x)
    mean = single(statistics.fmean(values))
    stddev = single(math.sqrt(statistics.pvariance(map(fractions.Fraction, values))))
    divisor = max(stddev, single(1 / math.sqrt(len(values))))
    return each_value(pixels, lambda x, c: single(single(x - mean) / divisor))


def recolored(pixels, brightness, contrast, standardize):
    """The values, and how far apart those are that were neighbours in 0..255."""
    brightness, contrast = (fractions.Fraction(single(x)) for x in (brightness, contrast))
    brighter = [[[x + brightness for x in pixel] for pixel in row] for row in pixels]
    means = [statistics.mean(pixel[c] for row in brighter for pixel in row)
             for c in range(CHANNELS)]
    values = each_value(brighter, lambda x, c: (x - means[c]) * contrast + means[c])
    grey_level = contrast
    if standardize:
        mean = statistics.mean(values)
        stddev = math.sqrt(statistics.pvariance(values, mean))
        divisor = max(stddev, 1 / math.sqrt(len(values)))
        values = [(x - mean) / fractions.Fraction(divisor) for x in values]
        grey_level /= fractions.Fraction(divisor)
    return {"expected": [single(float(x)) for x in values], "grey_level": float(grey_level)}


def cases():
    rng = random.Random(7)
    size = HEIGHT * WIDTH * CHANNELS
    images = {
        "noise": [rng.randrange(256) for _ in range(size)],
        "dark": [rng.randrange(3) for _ in range(size)],
        "one_odd_value": [200] * (size - 1) + [201],
        "uniform": [77] * size,
        "one_colour": [250] * 30 + [3] * 30 + [90] * 30,
    }
    places = [
        {"height": HEIGHT, "width": WIDTH, "top": 0, "left": 0, "flip": False},
        {"height": HEIGHT, "width": WIDTH, "top": -2, "left": 1, "flip": True},
        {"height": 4, "width": 4, "top": 1, "left": 1, "flip": True},
    ]
    normalizations = [
        {"scale": single(1 / 255), "mean": [0, 0, 0], "stddev": [1, 1, 1]},
        {"scale": 1, "mean": [125.3, 123, 113.9], "stddev": [63, 62.1, 66.7]},
        {"scale": single(1 / 255), "mean": [0.4914, 0.4822, 0.4465],
         "stddev": [0.247, 0.2435, 0.2616]},
    ]
    recolorings = [(0, 1, True), (-41.5, 0.2, True), (62.9, 1.79, True), (10.25, 0.6, False)]
    for name, image in images.items():
        for place in places:
            pixels = window(image, place)
            case = {"image_name": name, "image_height": HEIGHT, "image_width": WIDTH,
                    "image": image, **place}
            if name == "noise":
                for options in normalizations:
                    yield {**case, "kind": "normalized", **options,
                           "expected": normalized(pixels, **options)}
            yield {**case, "kind": "per_image", "expected": per_image_standardization(pixels)}
            if place["top"] < 0:
                continue
            for brightness, contrast, standardize in recolorings:
                yield {**case, "kind": "recolored", "brightness": brightness,
                       "contrast": contrast, "standardize": standardize,
                       **recolored(pixels, brightness, contrast, standardize)}


def main():
    path = pathlib.Path(sys.argv[-1])
    text = "[\n" + ",\n".join(json.dumps(case) for case in cases()) + "\n]\n"
    if sys.argv[1] == "--check":
        return 0 if path.read_text(encoding="utf-8") == text else f"{path} is not what {__file__} writes"
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
