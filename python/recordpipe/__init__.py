"""TFRecord files and input pipelines without TensorFlow.

Your TFRecords, CRC-checked, globally shuffled, resumable to the record, the same stream on 1 or 64
workers:

    import recordpipe as rp

    ds = (rp.tfrecords("train-*.tfrecord")
            .parse({"image": rp.FixedLenFeature([], "bytes"),
                    "label": rp.FixedLenFeature([], "int64")})
            .shuffle(seed=7)
            .batch(128)
            .prefetch())
    for epoch in range(10):
        for batch in ds.epoch(epoch):
            ...                                # a dict of NumPy arrays

Start with help(recordpipe.tfrecords) and help(recordpipe.Dataset).
"""

from recordpipe._native import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from recordpipe._native import version as __version__
from recordpipe.cifar10 import cifar10_batches
from recordpipe.dataset import (
    Dataset,
    from_generator,
    from_list,
    sample_from_datasets,
    tfrecords,
    zip,
)
from recordpipe.errors import (
    AlreadyExistsError,
    BusyError,
    CancelledError,
    DataLossError,
    Error,
    FileSystemError,
    InvalidArgumentError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
    UnsupportedError,
)
from recordpipe.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    VarLenFeature,
)
from recordpipe.iterator import Iterator
from recordpipe.ragged import Ragged
from recordpipe.writer import Writer, encode_example, write_tfrecords

__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AlreadyExistsError",
    "BusyError",
    "CancelledError",
    "DataLossError",
    "Dataset",
    "Error",
    "FileSystemError",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "InvalidArgumentError",
    "Iterator",
    "LimitExceededError",
    "NotFoundError",
    "PermissionDeniedError",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "UnsupportedError",
    "VarLenFeature",
    "Writer",
    "__version__",
    "cifar10_batches",
    "encode_example",
    "from_generator",
    "from_list",
    "sample_from_datasets",
    "tfrecords",
    "write_tfrecords",
    "zip",
]
