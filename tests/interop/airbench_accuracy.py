#!/usr/bin/env python3
"""Computes with NumPy the accuracy of a checkpoint of `cifar10_main --recipe airbench`, averaged over
flips and translations, as the program does. Shares no code with it: TFRecords are parsed here too.

usage: airbench_accuracy.py CHECKPOINT EVAL_TFRECORDS
"""
import math
import struct
import sys

import numpy as np
from safetensors.numpy import load_file

BATCH = 500


def read_records(path):
    with open(path, "rb") as file:
        while header := file.read(12):
            data = file.read(struct.unpack("<Q", header[:8])[0])
            file.read(4)
            yield data


def fields_of(message):
    """Yields (number, content) of a protobuf message's fields; a varint's content is its bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            yield key >> 3, message[at:at + value]
            at += value
        else:
            yield key >> 3, bytes([value])


def image_and_label(record):
    """Parses Example{image: bytes[3072], label: int64}."""
    features = {}
    for _, entry in fields_of(dict(fields_of(record))[1]):
        entry = dict(fields_of(entry))
        _, values = next(fields_of(entry[2]))
        features[entry[1]] = next(fields_of(values))[1]
    return np.frombuffer(features[b"image"], np.uint8).reshape(3, 32, 32), features[b"label"][0]


GRID = np.linspace(-8, 8, 160001)
NORMAL = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in GRID])


def gelu(x):
    return (x * np.interp(x, GRID, NORMAL)).astype(np.float32)


def convolution(x, weights, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weights.shape[2:], axis=(2, 3))
    return np.tensordot(windows, weights, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def max_pool(x, window):
    height, width = x.shape[2] // window, x.shape[3] // window
    x = x[:, :, :height * window, :width * window]
    return x.reshape(*x.shape[:2], height, window, width, window).max((3, 5))


class Airbench:
    def __init__(self, checkpoint):
        tensors = load_file(checkpoint)
        # The evaluation uses the averages of the trained variables.
        self.variables = {name: tensors.get(name + "/ExponentialMovingAverage", values)
                          for name, values in tensors.items()}

    def batch_norm(self, x, name):
        mean, variance, beta = (self.variables[f"{name}/{part}"][:, None, None]
                                for part in ("moving_mean", "moving_variance", "beta"))
        return (x - mean) / np.sqrt(variance + np.float32(1e-12)) + beta

    def logits(self, images):
        v = self.variables
        x = images.astype(np.float32) * np.float32(1 / 64) - np.float32(1.89)
        x = gelu(convolution(x, v["whiten/weights"], 0) + v["whiten/biases"][:, None, None])
        for block in ("block1", "block2", "block3"):
            x = max_pool(convolution(x, v[block + "/conv1/weights"], 1), 2)
            x = gelu(self.batch_norm(x, block + "/bn1"))
            x = convolution(x, v[block + "/conv2/weights"], 1)
            x = gelu(self.batch_norm(x, block + "/bn2"))
        x = max_pool(x, 3).reshape(len(images), -1)
        return x @ v["head/weights"].T + v["head/biases"]

    def averaged_logits(self, images):
        padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), "reflect")
        views = [(images, 0.25), (padded[:, :, :32, :32], 0.125), (padded[:, :, 2:, 2:], 0.125)]
        return sum(weight * (self.logits(view) + self.logits(view[..., ::-1]))
                   for view, weight in views)


def count_correct(checkpoint, records):
    """Returns the number of correctly classified images, and that of all images."""
    images, labels = zip(*map(image_and_label, read_records(records)))
    network = Airbench(checkpoint)
    correct = 0
    for at in range(0, len(labels), BATCH):
        logits = network.averaged_logits(np.stack(images[at:at + BATCH]))
        correct += int((logits.argmax(1) == np.array(labels[at:at + BATCH])).sum())
    return correct, len(labels)


if __name__ == "__main__":
    print("{}/{}".format(*count_correct(sys.argv[1], sys.argv[2])))
