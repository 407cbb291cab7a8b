"""Reads the records of a TFRecord file at random from an array_record file of the same records.
usage: array_record_reads.py one|batched FILE COPY; turns.py describes the output."""
import os
import sys
import time

import numpy as np
import table
import tfrecord.reader
import turns
from array_record.python import array_record_data_source, array_record_module

READS = {"one": 2_000, "batched": 20_000}
AT_ONCE = 256


def main():
    way, path, copy = sys.argv[1:]
    if not os.path.exists(copy):
        writer = array_record_module.ArrayRecordWriter(copy, "group_size:1")
        for record in tfrecord.reader.tfrecord_iterator(path):
            writer.write(bytes(record))
        writer.close()
    source = array_record_data_source.ArrayRecordDataSource([copy])
    reads = READS[way]
    indexes = np.random.default_rng(1).integers(0, table.ROWS, reads).tolist()

    def measure():
        start = time.perf_counter()
        if way == "one":
            for i in indexes:
                source[i]
        else:
            for at in range(0, reads, AT_ONCE):
                source.__getitems__(indexes[at:at + AT_ONCE])
        return reads / (time.perf_counter() - start)
    turns.answer(measure)


if __name__ == "__main__":
    main()
