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

Whole files, as with the tfrecord command: info, verify, schema, stats, salvage, index, convert. On
processes or a cluster: help(recordpipe.map_shards), help(recordpipe.ray).
"""

from typing import TYPE_CHECKING

from recordpipe._native import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from recordpipe._native import version as __version__

# isort: split
# After _native, which refuses sub-interpreters, and not from deep within the imports below: there,
# a stack of CPython 3.11 is at the end of a chunk, which is mapped and unmapped a thousand times
# (20 ms).
import numpy  # noqa: F401

# isort: split
from recordpipe.cifar10 import cifar10_batches
from recordpipe.dataset import Dataset
from recordpipe.episode_statistics import EpisodeStatistics, StepStatistics, episode_statistics
from recordpipe.errors import (
    AlreadyExistsError,
    BusyError,
    CancelledError,
    DataLossError,
    Error,
    FileSystemError,
    InvalidArgumentError,
    LimitExceededError,
    MissingFileError,
    NotFoundError,
    PermissionDeniedError,
    UnsupportedError,
)
from recordpipe.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    TensorFeature,
    VarLenFeature,
)
from recordpipe.filesystem import FileSystem, WritableFile
from recordpipe.iterator import Iterator
from recordpipe.ragged import Ragged
from recordpipe.schema import FeatureListSchema, FeatureSchema, Schema, schema
from recordpipe.sources import (
    choose_from_datasets,
    from_generator,
    from_list,
    list_files,
    sample_from_datasets,
    tfrecords,
)

# Not in __all__: an import of * would hide Python's own.
from recordpipe.sources import range as range
from recordpipe.sources import zip as zip
from recordpipe.tables import write_table
from recordpipe.tensor import parse_tensor, serialize_tensor
from recordpipe.tfds import TfdsFeature, TfdsInfo, TfdsSplit, tfds, tfds_info
from recordpipe.writer import Writer, encode_example, write_tfrecords

if TYPE_CHECKING:
    from recordpipe import grain as grain
    from recordpipe import ray as ray
    from recordpipe import torch as torch
    from recordpipe._tools.conversion import convert
    from recordpipe._tools.conversion_reports import (
        ConvertPlan,
        ConvertReport,
        SkippedRecord,
        SkippedRegion,
        WrittenFile,
    )
    from recordpipe._tools.folder_conversion import convert_to_dir
    from recordpipe._tools.manifest import ManifestFile, ManifestReport, verify_manifest
    from recordpipe._tools.reports import (
        DamagedRegion,
        FileIndex,
        FileInfo,
        FileReport,
        Info,
        RecordSizes,
        SalvageReport,
        VerifyReport,
    )
    from recordpipe._tools.shard_jobs import FailedShard, ShardJobReport, WrittenShard
    from recordpipe._tools.shards import ShardResult, map_shards
    from recordpipe._tools.statistics import stats
    from recordpipe._tools.statistics_report import (
        BytesStats,
        Distribution,
        FeatureStats,
        Histogram,
        NumberStats,
        Stats,
    )
    from recordpipe._tools.toolkit import index, info, salvage, salvage_to_dir, verify
__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AlreadyExistsError",
    "BusyError",
    "BytesStats",
    "CancelledError",
    "ConvertPlan",
    "ConvertReport",
    "DamagedRegion",
    "DataLossError",
    "Dataset",
    "Distribution",
    "EpisodeStatistics",
    "Error",
    "FailedShard",
    "FeatureListSchema",
    "FeatureSchema",
    "FeatureStats",
    "FileIndex",
    "FileInfo",
    "FileReport",
    "FileSystem",
    "FileSystemError",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Histogram",
    "Info",
    "InvalidArgumentError",
    "Iterator",
    "LimitExceededError",
    "ManifestFile",
    "ManifestReport",
    "MissingFileError",
    "NotFoundError",
    "NumberStats",
    "PermissionDeniedError",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "RecordSizes",
    "SalvageReport",
    "Schema",
    "ShardJobReport",
    "ShardResult",
    "SkippedRecord",
    "SkippedRegion",
    "Stats",
    "StepStatistics",
    "TensorFeature",
    "TfdsFeature",
    "TfdsInfo",
    "TfdsSplit",
    "UnsupportedError",
    "VarLenFeature",
    "VerifyReport",
    "WritableFile",
    "Writer",
    "WrittenFile",
    "WrittenShard",
    "__version__",
    "choose_from_datasets",
    "cifar10_batches",
    "convert",
    "convert_to_dir",
    "encode_example",
    "episode_statistics",
    "from_generator",
    "from_list",
    "index",
    "info",
    "list_files",
    "map_shards",
    "parse_tensor",
    "salvage",
    "salvage_to_dir",
    "sample_from_datasets",
    "schema",
    "serialize_tensor",
    "stats",
    "tfds",
    "tfds_info",
    "tfrecords",
    "verify",
    "verify_manifest",
    "write_table",
    "write_tfrecords",
]

if not TYPE_CHECKING:
    # These take as long to import as the rest together, and a program that trains needs none.
    _TOOLS = (
        "conversion",
        "conversion_reports",
        "folder_conversion",
        "manifest",
        "reports",
        "shard_jobs",
        "shards",
        "statistics",
        "statistics_report",
        "toolkit",
    )
    _ADAPTERS = ("grain", "ray", "torch")

    def __getattr__(name):
        """Imports what works on whole files, and the adapters, at the first use."""
        import importlib

        if name in _ADAPTERS:
            return importlib.import_module(f"recordpipe.{name}")
        if name in __all__:
            for module in map(importlib.import_module, map("recordpipe._tools.{}".format, _TOOLS)):
                if getattr(vars(module).get(name), "__module__", None) == module.__name__:
                    return globals().setdefault(name, vars(module)[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """What is promised, and the adapters, which import their packages at the first use."""
        return sorted([*__all__, *_ADAPTERS, "range", "zip"])
