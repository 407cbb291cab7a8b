"""recordpipe's rows of bench_python. usage: ours.py ROW FILE; turns.py describes the output."""
import itertools
import json
import sys
import time

import numpy as np
import recordpipe as rp
import sequences
import table
import turns

BATCH = 1024
READS = 20_000
AT_ONCE = 256


def rate(count, function):
    start = time.perf_counter()
    function()
    return count / (time.perf_counter() - start)


def in_batches(dataset, rows):
    """Records per second of a parsed dataset of `rows` records, shuffled, in batches."""
    batches = iter(dataset.shuffle(16_384, seed=7).repeat()
                   .batch(BATCH, drop_remainder=True).prefetch())
    steps = rows // BATCH

    def measure():
        for _ in itertools.islice(batches, 16):
            pass  # what was ready before
        return rate(steps * BATCH, lambda: sum(1 for _ in itertools.islice(batches, steps)))
    return measure


def table_batches(path):
    features = {name: rp.FixedLenFeature([], "float32") for name in table.FLOATS}
    features |= {name: rp.FixedLenFeature([], "int64") for name in table.CATEGORIES}
    features |= {table.RAGGED: rp.RaggedFeature("int64"),
                 table.LABEL: rp.FixedLenFeature([], "int64")}
    return in_batches(rp.tfrecords(path).parse(features), table.ROWS)


def sequence_batches(path):
    context = {"id": rp.FixedLenFeature([], "int64")}
    lists = {"action": rp.FixedLenSequenceFeature([sequences.ACTION], "float32"),
             "reward": rp.FixedLenSequenceFeature([], "float32"),
             "token": rp.FixedLenSequenceFeature([], "int64")}
    return in_batches(rp.tfrecords(path).parse_sequence_example(context, lists), sequences.ROWS)


def records(path):
    """Records per second as bytes, one by one; each pass checks all CRCs."""
    return lambda: rate(table.ROWS, lambda: sum(1 for _ in rp.tfrecords(path)))


def places():
    return np.random.default_rng(1).integers(0, table.ROWS, READS).tolist()


def random_access(path):
    """Records per second, ds[i] at random."""
    dataset, indexes = rp.tfrecords(path), places()

    def measure():
        return rate(READS, lambda: [dataset[i] for i in indexes])
    return measure


def random_access_batched(path):
    """Records per second, by __getitems__ of 256."""
    dataset, indexes = rp.tfrecords(path), places()

    def read():
        for at in range(0, READS, AT_ONCE):
            dataset.__getitems__(indexes[at:at + AT_ONCE])
    return lambda: rate(READS, read)


def state_dict(path, **shuffle):
    """Calls of state_dict per second, at the middle of an epoch."""
    dataset = rp.tfrecords(path).parse({"label": rp.FixedLenFeature([], "int64")})
    iterator = iter(dataset.shuffle(seed=7, **shuffle).batch(64).prefetch())
    for _ in itertools.islice(iterator, table.ROWS // 128):
        pass
    json.dumps(iterator.state_dict())
    return lambda: rate(200, lambda: [iterator.state_dict() for _ in range(200)])


def cifar(folder):
    """Images per second of 50 epochs, from opening the files on, as cifar10_batches --stats."""
    def measure():
        batches = rp.cifar10_batches(folder, epochs=50)
        return rate(50 * 40_000, lambda: sum(1 for _ in batches))
    return measure


def cifar_torch(folder):
    """Images per second as torch tensors, after what was ready before."""
    import recordpipe.torch as rpt
    batches = iter(rpt.Loader(rp.cifar10_batches(folder, epochs=None, drop_remainder=True)))
    return lambda: turns.measure(((b["image"], b["label"]) for b in batches), 4 * turns.EPOCH)


ROWS = {
    "table": table_batches,
    "sequences": sequence_batches,
    "records": records,
    "random_access": random_access,
    "random_access_batched": random_access_batched,
    "state_global": state_dict,
    "state_buffer": lambda path: state_dict(path, buffer_size=16_384),
    "cifar": cifar,
    "cifar_torch": cifar_torch,
}


if __name__ == "__main__":
    turns.answer(ROWS[sys.argv[1]](sys.argv[2]))
