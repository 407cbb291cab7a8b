"""Runs the training pipeline in torch's DataLoader. usage: torch_loader.py FILE DESCRIPTORS;
turns.py describes the output.

Variants: one image at a time, and vectorised: the batch's records are read and distorted at once by
__getitems__. With and without workers. The shuffle is a permutation of all records.
"""
import os
import sys

import numpy as np
import torch
from cifar import Records, distort, distort_batch
from torch.utils.data import DataLoader, Dataset, Sampler
from turns import BATCH_SIZE, serve


class Epochs(Sampler):
    """Yields record numbers endlessly, shuffled again in each epoch."""

    def __init__(self, count):
        self._count = count

    def __iter__(self):
        while True:
            yield from torch.randperm(self._count).tolist()


class PerImage(Dataset):
    def __init__(self, records):
        self._records = records
        self._random = None

    def random(self):
        """Returns the worker's generator. Each worker has a different seed."""
        if self._random is None:
            self._random = np.random.default_rng(torch.initial_seed())
        return self._random

    def __len__(self):
        return len(self._records)

    def __getitem__(self, index):
        image, label = distort(self._records[index], self.random())
        return torch.from_numpy(np.ascontiguousarray(image)), int(label)


class Vectorised(PerImage):
    def __getitems__(self, indices):
        rows = [self._records[index] for index in indices]
        images, labels = distort_batch(rows, self.random())
        return torch.from_numpy(images), torch.from_numpy(labels)


def load(dataset, workers, collate=None):
    return DataLoader(dataset, BATCH_SIZE, sampler=Epochs(len(dataset)), num_workers=workers,
                      collate_fn=collate, prefetch_factor=4 if workers else None)


def as_is(batch):
    return batch


def main():
    records = Records(*sys.argv[1:])
    cores = len(os.sched_getaffinity(0))
    variants = {f"an image at a time, {cores} workers": lambda: load(PerImage(records), cores)}
    for workers in range(cores + 1):
        name = f"vectorised, {workers or 'no'} worker{'s' * (workers != 1)}"
        variants[name] = lambda count=workers: load(Vectorised(records), count, as_is)
    serve(variants)


if __name__ == "__main__":
    main()
