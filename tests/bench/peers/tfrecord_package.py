"""Rows of the package `tfrecord` of PyPI, which checks no CRC. usage: tfrecord_package.py ROW FILE;
turns.py describes the output."""
import itertools
import sys
import time

import table
import turns
from tfrecord import reader

COUNTS = {"records": table.ROWS, "table": 4_000}


def main():
    row, path = sys.argv[1:]
    if row == "records":
        def rows():
            return reader.tfrecord_iterator(path)
    else:
        description = {name: "float" for name in table.FLOATS}
        description |= {name: "int" for name in [*table.CATEGORIES, table.RAGGED, table.LABEL]}

        def rows():
            return reader.tfrecord_loader(path, None, description)
    count = COUNTS[row]

    def measure():
        start = time.perf_counter()
        assert sum(1 for _ in itertools.islice(rows(), count)) == count
        return count / (time.perf_counter() - start)
    turns.answer(measure)


if __name__ == "__main__":
    main()
