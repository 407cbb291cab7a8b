"""Converts the published CIFAR-10 archive to the TFRecord files that the other examples train on.

    curl -O https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
    python make_cifar10.py cifar-10-binary.tar.gz data/cifar10

Writes train.tfrecords (50,000 images) and eval.tfrecords (10,000) with indexes. Records are
tf.train.Examples with "image", 3 * 32 * 32 bytes in planes, and "label", an int64: those of
`generate_cifar10_tfrecords`, which also makes a validation set.
"""

import argparse
import pathlib
import tarfile
from collections.abc import Iterator

import recordpipe as rp

RECORD_BYTES = 1 + 3 * 32 * 32
MEMBERS = {
    "train.tfrecords": [f"data_batch_{number}.bin" for number in range(1, 6)],
    "eval.tfrecords": ["test_batch.bin"],
}


def images(archive: tarfile.TarFile, member: str) -> Iterator[dict[str, int | bytes]]:
    file = archive.extractfile(f"cifar-10-batches-bin/{member}")
    if file is None:
        raise SystemExit(f"{member} is not a file")
    while record := file.read(RECORD_BYTES):
        if len(record) != RECORD_BYTES:
            raise SystemExit(f"{member} ends inside an image")
        yield {"label": record[0], "image": record[1:]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(arguments.archive) as archive:
        for name, members in MEMBERS.items():
            with rp.Writer(arguments.folder / name, index=True) as writer:
                for member in members:
                    for example in images(archive, member):
                        writer.write(example)
            print(f"{arguments.folder / name}: {writer.records} images")


if __name__ == "__main__":
    main()
