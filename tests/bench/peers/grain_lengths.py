"""Grain's row of bench_lengths: first-fit packing of arrays in memory. usage: grain_lengths.py FILE;
turns.py describes the output."""
import os
import sys

os.environ["ABSL_MIN_LOG_LEVEL"] = "3"

import grain  # noqa: E402
import grain.experimental  # noqa: E402
import lengths  # noqa: E402
import turns  # noqa: E402


def main():
    sequences = [dict(row) for row in lengths.parsed(sys.argv[1]).take(20_000)]
    rows = grain.experimental.FirstFitPackIterDataset(
        grain.MapDataset.source(sequences).repeat().to_iter_dataset(),
        length_struct={"tokens": lengths.ROW}, num_packing_bins=lengths.OPEN_ROWS,
        shuffle_bins=False)
    turns.answer(lengths.rate(int(row["tokens_segment_ids"].max()) for row in rows))


if __name__ == "__main__":
    main()
