"""recordpipe's rows of bench_lengths. usage: lengths.py write|bucket|pack FILE; turns.py describes the
output. Also what the peers share."""
import sys
import time

BOUNDARIES = [32, 64, 128, 256]
BATCH_SIZES = [256, 128, 64, 32, 16]  # of about 8,192 tokens
ROW = 1024
OPEN_ROWS = 64
COUNT = 100_000


def rate(sequences_of):
    """Returns a function that measures sequences a second. `sequences_of` are the numbers of sequences
    of an endless pipeline's outputs."""
    def measure():
        start, seen = time.perf_counter(), 0
        for count in sequences_of:
            seen += count
            if time.perf_counter() - start > 3:
                return seen / (time.perf_counter() - start)
    return measure


def write(path):
    import numpy as np
    import recordpipe as rp
    random = np.random.default_rng(1)
    sizes = np.clip(random.lognormal(4.2, 0.8, COUNT), 4, 512).astype(int)
    rp.write_tfrecords(path, ({"tokens": random.integers(1, 32_000, size)} for size in sizes))


def parsed(path):
    import recordpipe as rp
    return rp.tfrecords(path).parse({"tokens": rp.RaggedFeature("int64")})


def main():
    work, path = sys.argv[1:]
    if work == "write":
        return write(path)
    import turns
    endless = parsed(path).repeat()
    if work == "bucket":
        batches = endless.bucket_by_sequence_length("tokens", BOUNDARIES, BATCH_SIZES).prefetch()
        turns.answer(rate(len(batch["tokens"]) for batch in batches))
    else:
        rows = endless.pack_sequences({"tokens": ROW}, open_rows=OPEN_ROWS).prefetch()
        turns.answer(rate(int(row["tokens_segment_ids"].max()) for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
