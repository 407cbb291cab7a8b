"""Batches per second of torchdata's StatefulDataLoader with 2 workers over a recordpipe Dataset.
usage: stateful_loader.py STEPS_PER_SNAPSHOT FILE; turns.py describes the output."""
import itertools
import sys
import time

import recordpipe as rp
import recordpipe.torch
import table
import turns
from torchdata.stateful_dataloader import StatefulDataLoader

STEPS = 1_000


def main():
    features = {name: rp.FixedLenFeature([], "float32") for name in table.FLOATS}
    features |= {name: rp.FixedLenFeature([], "int64") for name in table.CATEGORIES}
    dataset = rp.tfrecords(sys.argv[2]).parse(features).shuffle(seed=7).repeat().batch(128)
    loader = StatefulDataLoader(recordpipe.torch.Dataset(dataset), batch_size=None, num_workers=2,
                                snapshot_every_n_steps=int(sys.argv[1]))
    batches = iter(loader)

    def measure():
        for _ in itertools.islice(batches, 20):
            pass
        start = time.perf_counter()
        for _ in itertools.islice(batches, STEPS):
            pass
        return STEPS / (time.perf_counter() - start)
    turns.answer(measure)


if __name__ == "__main__":
    main()
