"""A table of a recommender: 41 features and a label in Examples of about 700 bytes; and records of
1 KiB. usage: table.py TABLE RECORDS

TABLE gets 200,000 Examples of 13 floats, 26 int64 (categories), a ragged list of int64 and a label;
RECORDS 200,000 Examples with 1,024 bytes, an int64 and 8 floats.
"""
import sys

import numpy as np

ROWS = 200_000
FLOATS = [f"dense_{i:02d}" for i in range(13)]
CATEGORIES = [f"category_{i:02d}" for i in range(26)]
RAGGED = "history"
LABEL = "label"


def main():
    import recordpipe as rp

    random = np.random.default_rng(7)
    with rp.Writer(sys.argv[1]) as writer:
        for _ in range(ROWS):
            row = dict(zip(FLOATS, random.normal(size=13)))
            row |= zip(CATEGORIES, random.integers(0, 2**20, 26))
            row[RAGGED] = random.integers(0, 2**20, random.integers(1, 10))
            row[LABEL] = random.integers(0, 2)
            writer.write(row)
    with rp.Writer(sys.argv[2], index=True) as writer:
        for i in range(ROWS):
            writer.write({"image": random.bytes(1024), "label": i % 10,
                          "box": random.normal(size=8)})


if __name__ == "__main__":
    main()
