#!/usr/bin/env python
"""Writes small CIFAR batches as this Python and this NumPy pickle them; data/README.md says how
the files in data/pickles were made.

usage: make_pickles.py FOLDER

Works with Python 2.7 and 3. Each batch has two images, whose pixels are a formula that
tests/cifar/pickle_test.cc knows too.
"""
from __future__ import print_function

import os
import pickle
import sys

import numpy

ROWS = 2
PYTHON = "python%d" % sys.version_info[0]
NUMPY = "numpy%s" % numpy.__version__.split(".")[0]


def pixels():
    return numpy.array([[(31 * row + 7 * i + i * i // 251) % 256 for i in range(3072)]
                        for row in range(ROWS)], dtype="uint8")


def cifar10(key=str):
    return {
        key("batch_label"): key("training batch 1 of 5"),
        key("labels"): [6, 9],
        key("data"): pixels(),
        key("filenames"): [key("leptodactylus_s_%06d.png" % i) for i in range(ROWS)],
    }


def cifar100(key=str):
    return {
        key("batch_label"): key("training batch 1 of 1"),
        key("fine_labels"): [19, 99],
        key("coarse_labels"): [11, 0],
        key("data"): pixels(),
        key("filenames"): [key("bos_taurus_s_%06d.png" % i) for i in range(ROWS)],
    }


def write(name, batch, protocol, dump=pickle.dumps):
    path = os.path.join(sys.argv[1], "%s-%s-%s.pickle" % (PYTHON, NUMPY, name))
    with open(path, "wb") as file:
        file.write(dump(batch, protocol))


def write_python2():
    import cPickle
    write("cifar10-protocol2", cifar10(), 2)
    write("cifar10-protocol2-cpickle", cifar10(), 2, cPickle.dumps)
    write("cifar100-protocol2-cpickle", cifar100(), 2, cPickle.dumps)
    longs = cifar10()
    longs["labels"] = [long(label) for label in longs["labels"]]
    write("cifar10-protocol2-longs", longs, 2)
    unicode_keys = {key.decode("ascii"): value for key, value in cifar10().items()}
    write("cifar10-protocol2-unicode", unicode_keys, 2)


def write_python3():
    key = (lambda text: text.encode()) if NUMPY == "numpy1" else str
    for protocol in (2, 3, 4, 5):
        write("cifar10-protocol%d" % protocol, cifar10(key), protocol)
    fortran = cifar10(key)
    fortran["data" if key is str else b"data"] = numpy.asfortranarray(pixels())
    write("cifar10-protocol4-fortran", fortran, 4)
    write("cifar10-protocol5-fortran", fortran, 5)
    if NUMPY == "numpy2":
        # Bytes keys need _codecs.encode at protocol 2; so do the pixels of both.
        write("cifar10-protocol2-bytes", cifar10(lambda text: text.encode()), 2)
        read_only = cifar10()
        read_only["data"].flags.writeable = False
        write("cifar10-protocol5-readonly", read_only, 5)
        write("cifar100-protocol5", cifar100(), 5)
        # What this project does not read, and says so.
        wrong_type = cifar10()
        wrong_type["data"] = numpy.zeros((ROWS, 4), dtype="float32")
        write("refused-float32", wrong_type, 4)
        objects = cifar10()
        objects["data"] = numpy.array([["pixel"] * 4], dtype=object)
        write("refused-objects", objects, 4)
        array_labels = cifar10()
        array_labels["labels"] = numpy.array(array_labels["labels"])
        write("refused-label-array", array_labels, 4)
        scalars = cifar10()
        scalars["labels"] = list(numpy.array(scalars["labels"]))
        write("refused-label-scalars", scalars, 4)
        write("refused-protocol0", {"data": [1]}, 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.version_info[0] == 2:
        write_python2()
    else:
        write_python3()
