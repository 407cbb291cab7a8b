"""Random chains of operators equal plain lists, whatever computes them, and resume anywhere.

RECORDPIPE_CHAINS sets their number (200), RECORDPIPE_CHAINS_SEED the first one's seed (0).
"""

import collections
import itertools
import json
import os
import random
import unittest

import recordpipe as rp

MOST = 600  # elements
PRIME = 1_000_003


def digest(values):
    """The elements of all chains are numbers; what an operator makes of them becomes one again."""
    total = 7
    for value in values:
        total = (total * 31 + int(value)) % PRIME
    return total


def digest_of_row(row):
    return digest(itertools.chain(row["values"], row["segment_ids"], row["positions"]))


def flat(lists):
    return [*itertools.chain.from_iterable(lists)]


def groups(values, size, shift, drop_remainder):
    made = [values[at : at + size] for at in range(0, len(values), shift)]
    return [group for group in made if len(group) == size or not drop_remainder]


def buckets(values, length, boundaries, sizes, drop_remainder):
    made, rows = [], [[] for _ in sizes]
    for value in values:
        at = sum(length(value) >= boundary for boundary in boundaries)
        rows[at].append(value)
        if len(rows[at]) == sizes[at]:
            made.append(rows[at])
            rows[at] = []
    return made + [row for row in rows if row and not drop_remainder]


def packed(sequences, length, open_rows):
    made, rows = [], []
    for sequence in sequences:
        row = next((r for r in rows if sum(map(len, r)) + len(sequence) <= length), None)
        if row is None:
            if len(rows) == open_rows:
                made.append(rows.pop(0))
            rows.append(row := [])
        row.append(sequence)
        if sum(map(len, row)) == length:
            made.append(rows.pop(next(i for i, r in enumerate(rows) if r is row)))
    return [padded(row, length) for row in made + rows]


def padded(row, length):
    parts = {
        "values": [x for sequence in row for x in sequence],
        "segment_ids": [i + 1 for i, sequence in enumerate(row) for _ in sequence],
        "positions": [k for sequence in row for k in range(len(sequence))],
    }
    return {name: part + [0] * (length - len(part)) for name, part in parts.items()}


def interleaved(inputs, cycle_length):
    inputs, cycle, made = collections.deque(inputs), [None] * cycle_length, []
    for turn in itertools.cycle(range(cycle_length)):
        if not inputs and not any(cycle):
            return made
        if not cycle[turn] and inputs:
            cycle[turn] = iter(inputs.popleft())
        if cycle[turn]:
            value = next(cycle[turn], None)
            if value is None:
                cycle[turn] = None
            else:
                made.append(value)


def scanned(values, start, function):
    made = []
    for value in values:
        start, output = function(start, value)
        made.append(output)
    return made


def shuffled(values, epoch, *arguments, **named):
    """The order is that of the numbers: it depends on their count, the seed and the epoch only."""
    order = rp.from_list(list(range(len(values)))).shuffle(*arguments, **named).epoch(epoch)
    return [values[i] for i in order]


def operators(draw):
    """By name: what an operator makes of a Dataset, and of the list of its elements in an epoch."""
    n, seed, drop = draw.randrange(1, 90), draw.randrange(2**64), draw.random() < 0.5
    size, shift, shards = n % 7 + 1, n % 4 + 1, n % 3 + 1
    bounds, sizes = [n % 3 + 1, n % 5 + 7], [n % 7 + 1, 3, 2]

    def shifted(x):
        return (x * 7 + n) % PRIME

    def wanted(x):
        return x % (n % 7 + 2) != 0

    def copies(x):
        return [x] * (x % shift)

    def sequence(x):
        return [x + i for i in range(x % 9)]

    def length(x):
        return x % 12

    def add(state, x):
        state = (state * 31 + x) % PRIME
        return state, state + x

    return {
        "map": (lambda ds: ds.map(shifted), lambda xs, _: [*map(shifted, xs)]),
        "map_with_random": (
            lambda ds: ds.map_with_random(lambda x, rng: x + (rng.random() >= 1), seed),
            lambda xs, _: xs,
        ),
        "filter": (lambda ds: ds.filter(wanted), lambda xs, _: [*filter(wanted, xs)]),
        "flat_map": (lambda ds: ds.flat_map(copies), lambda xs, _: flat(map(copies, xs))),
        "interleave": (
            lambda ds: ds.interleave(lambda x: rp.from_list(copies(x)), size),
            lambda xs, _: interleaved(map(copies, xs), size),
        ),
        "scan": (lambda ds: ds.scan(n, add), lambda xs, _: scanned(xs, n, add)),
        "enumerate": (
            lambda ds: ds.enumerate(n).map(digest),
            lambda xs, _: [*map(digest, enumerate(xs, n))],
        ),
        "take": (lambda ds: ds.take(2 * n), lambda xs, _: xs[: 2 * n]),
        "skip": (lambda ds: ds.skip(n // 4), lambda xs, _: xs[n // 4 :]),
        "shard": (
            lambda ds: ds.shard(shards, n % shards, drop_remainder=drop),
            lambda xs, _: xs[: len(xs) // shards * shards if drop else None][n % shards :: shards],
        ),
        "shuffle": (
            lambda ds: ds.shuffle(n, seed=seed),
            lambda xs, epoch: shuffled(xs, epoch, n, seed=seed),
        ),
        "global_shuffle": (
            lambda ds: ds.shuffle(seed=seed),
            lambda xs, epoch: shuffled(xs, epoch, seed=seed),
        ),
        "batch": (
            lambda ds: ds.batch(size, drop_remainder=drop).map(digest),
            lambda xs, _: [*map(digest, groups(xs, size, size, drop))],
        ),
        "unbatch": (
            lambda ds: ds.batch(size, drop_remainder=drop).unbatch().map(int),
            lambda xs, _: flat(groups(xs, size, size, drop)),
        ),
        "window": (
            lambda ds: ds.window(size, shift, drop).map(digest),
            lambda xs, _: [*map(digest, groups(xs, size, shift, drop))],
        ),
        "bucket_by_sequence_length": (
            lambda ds: ds.bucket_by_sequence_length(length, bounds, sizes, drop_remainder=drop).map(
                digest
            ),
            lambda xs, _: [*map(digest, buckets(xs, length, bounds, sizes, drop))],
        ),
        "pack_sequences": (
            lambda ds: ds.map(sequence).pack_sequences(n + 8, open_rows=shift).map(digest_of_row),
            lambda xs, _: [*map(digest_of_row, packed(map(sequence, xs), n + 8, shift))],
        ),
        "prefetch": (lambda ds: ds.prefetch(size), lambda xs, _: xs),
        "ignore_errors": (lambda ds: ds.ignore_errors(), lambda xs, _: xs),
    }


def chain(draw, most, depth=0):
    """A Dataset, and a function that returns the list of its elements in an epoch."""
    numbers = [*range(draw.randrange(150))]
    dataset, pass_of = rp.from_list(numbers), lambda _: numbers
    if draw.random() < 0.2:
        dataset = rp.from_generator(lambda: iter(numbers))
    may_repeat = depth == 0  # the epochs of a repeat in another one are no small numbers
    for _ in range(draw.randrange(most)):
        table = operators(draw)
        name = draw.choice([*table, "cache", "repeat", "concatenate", "zip", "choose"])
        before = pass_of
        if name in table:
            operate, plain = table[name]
            try:
                made = operate(dataset)
            except rp.InvalidArgumentError:
                if name != "global_shuffle":
                    raise
                continue
            after = lambda epoch, p=plain, b=before: p(b(epoch), epoch)  # noqa: E731
        elif name == "cache":
            made, after = dataset.cache(), lambda _, b=before: b(0)
        elif name == "repeat":
            if not may_repeat:
                continue
            may_repeat, count = False, draw.randrange(4)
            made = dataset.repeat(count)
            after = lambda _, b=before, n=count: flat(map(b, range(n)))  # noqa: E731
        else:
            made, after = combined(name, draw, dataset, before, chain(draw, 4, depth + 1))
        if len(after(0)) <= MOST:
            dataset, pass_of = made, after
    return dataset, pass_of, may_repeat


def combined(name, draw, dataset, before, other):
    other, others_pass, _ = other
    if name == "concatenate":
        return dataset.concatenate(other), lambda epoch: before(epoch) + others_pass(epoch)
    if name == "zip":
        return rp.zip(dataset, other).map(digest), lambda epoch: [
            digest(pair) for pair in zip(before(epoch), others_pass(epoch), strict=False)
        ]
    choices = [draw.randrange(2) for _ in range(draw.randrange(200))]
    chosen = rp.choose_from_datasets([dataset, other], rp.from_list(choices))

    def pass_of(epoch):
        inputs = [iter(before(epoch)), iter(others_pass(epoch))]
        made = (next(inputs[choice], None) for choice in choices)
        return [*itertools.takewhile(lambda x: x is not None, made)]

    return chosen, pass_of


def with_any_options(draw, dataset):
    return dataset.with_options(
        threads=draw.choice([0, 1, 1, 2, 3]), chunk_size=draw.choice([1, 3, 7, 64])
    )


class RandomChains(unittest.TestCase):
    def test_equal_plain_lists_and_resume_anywhere(self):
        first = int(os.environ.get("RECORDPIPE_CHAINS_SEED", 0))
        known = accessed = 0
        count = int(os.environ.get("RECORDPIPE_CHAINS", 200))
        for seed in range(first, first + count):
            draw = random.Random(seed)
            dataset, pass_of, has_no_repeat = chain(draw, 9)
            with self.subTest(seed, chain=dataset.explain()):
                expected = pass_of(0)
                self.assertEqual([*with_any_options(draw, dataset)], expected)
                if has_no_repeat:
                    self.assertEqual([*with_any_options(draw, dataset.epoch(3))], pass_of(3))
                known += self.check_length(dataset, expected)
                accessed += self.check_access(draw, dataset, expected)
                self.check_resumption(draw, dataset, expected)
        self.assertGreater(known, count // 50)
        self.assertGreater(accessed, count // 50)

    def check_length(self, dataset, expected):
        try:
            length = len(dataset)
        except TypeError:
            return False
        self.assertEqual(length, len(expected))
        return True

    def check_access(self, draw, dataset, expected):
        try:
            elements = dataset.epoch(0)[:]
        except TypeError:
            return False
        self.assertEqual(elements, expected)
        return True

    def check_resumption(self, draw, dataset, expected):
        place = draw.randrange(len(expected) + 1)
        iterator = iter(with_any_options(draw, dataset))
        self.assertEqual([*itertools.islice(iterator, place)], expected[:place])
        state = json.loads(json.dumps(iterator.state_dict()))
        resumed = iter(with_any_options(draw, dataset))
        resumed.load_state_dict(state)
        self.assertEqual(resumed.position, place)
        self.assertEqual([*resumed], expected[place:])
        self.assertEqual([*iterator], expected[place:])


if __name__ == "__main__":
    unittest.main()
