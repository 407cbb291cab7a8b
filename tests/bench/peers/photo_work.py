"""What the programs of bench_photos have in common: the work, and how it is measured."""
import itertools
import sys
import time

BATCH = 64
CROP = 224
SHORT_SIDE = 256
MEAN = (123.675, 116.28, 103.53)  # ImageNet's, of values 0 to 255
STD = (58.395, 57.12, 57.375)
BUFFERED = 16  # batches: more than any of them buffers
SECONDS = 3


def arguments():
    """Returns whether it is training, the dtype, the inverse DCT and the files."""
    return sys.argv[1] == "train", sys.argv[2], sys.argv[3], sys.argv[4:]


def rate(batches):
    """Images per second over about SECONDS, without the batches that were ready before."""
    for _ in itertools.islice(batches, BUFFERED):
        pass
    start = time.perf_counter()
    for count, images in enumerate(batches, 1):
        seconds = time.perf_counter() - start
        if seconds > SECONDS:
            break
    assert tuple(images.shape) in {(BATCH, CROP, CROP, 3), (BATCH, 3, CROP, CROP)}
    return count * BATCH / seconds
