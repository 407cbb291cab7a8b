"""recordpipe's rows of bench_tfds. usage: tfds_rows.py rate|processor FOLDER; tfds_work.py
describes the output."""
import sys

import recordpipe as rp
import tfds_work as work


def main():
    mode, folder = sys.argv[1:]
    ds = rp.tfds(folder).shuffle(work.BUFFER, seed=7).repeat()
    batches = ds.batch(work.BATCH_SIZES[work.name_of(folder)], drop_remainder=True).prefetch()
    work.answer(mode, batches)


if __name__ == "__main__":
    main()
