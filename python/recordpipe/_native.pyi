"""The extension module. Only recordpipe's own files use it."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from recordpipe.errors import Error

version: str
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int

class FileSystem:
    def __init__(self, filesystem: Any, /) -> None: ...
    @staticmethod
    def of_urls(ca_file: str, /) -> FileSystem: ...
    def size(self, path: str, /) -> int: ...
    def names(self, folder: str, prefix: str, /) -> list[str]: ...
    def make_folders(self, folder: str, /) -> None: ...
    def remove(self, path: str, /) -> None: ...
    def open(self, path: str, /) -> InputFile: ...
    def create(self, path: str, /) -> OutputFile: ...

class InputFile:
    size: int
    def read(self, offset: int, length: int, /) -> bytes: ...

class OutputFile:
    def write(self, data: bytes, /) -> None: ...
    def commit(self) -> None: ...
    def drop(self) -> None: ...

def has_certificates() -> bool: ...

class ParseSpec: ...

class Function:
    """A function of an operator, and its Identity (_plan/function_identity.py)."""

    def __init__(
        self, function: Callable[..., Any], name: str, code: str, not_compared: list[str], /
    ) -> None: ...

class Dataset:
    def parse(self, spec: ParseSpec, /) -> Dataset: ...
    def batch(self, size: int, drop_remainder: bool, stack: Function, /) -> Dataset: ...
    def map(self, function: Function, /) -> Dataset: ...
    def map_with_random(self, function: Function, seed: int, /) -> Dataset: ...
    def flat_map(self, function: Function, /) -> Dataset: ...
    def filter(self, predicate: Function, /) -> Dataset: ...
    def interleave(
        self, function: Function, cycle_length: int, block_length: int, /
    ) -> Dataset: ...
    def scan(self, state: Any, function: Function, /) -> Dataset: ...
    def window(
        self,
        size: int,
        shift: int | None,
        drop_remainder: bool,
        collect: Callable[[list[Any]], Any],
        /,
    ) -> Dataset: ...
    def is_parsed(self) -> bool: ...
    def bucket_features(
        self,
        feature: str,
        boundaries: list[int],
        batch_sizes: list[int],
        drop_remainder: bool,
        most: int | None,
        /,
    ) -> Dataset: ...
    def bucket(
        self,
        length: Function,
        boundaries: list[int],
        batch_sizes: list[int],
        drop_remainder: bool,
        most: int | None,
        stack: Callable[[list[Any]], Any],
        /,
    ) -> Dataset: ...
    def pack_features(
        self, features: list[str], lengths: list[int], open_rows: int, truncate: bool, /
    ) -> Dataset: ...
    def pack(
        self,
        sizes: Function,
        lengths: list[int],
        open_rows: int,
        truncate: bool,
        pack: Callable[[list[Any]], Any],
        /,
    ) -> Dataset: ...
    def enumerate(self, start: int, /) -> Dataset: ...
    def cache(self, path: str | None, max_bytes: int, /) -> Dataset: ...
    def shuffle(self, buffer_size: int, seed: int, /) -> Dataset: ...
    def global_shuffle(self, seed: int, /) -> Dataset: ...
    def repeat(self, count: int, /) -> Dataset: ...
    def take(self, count: int, /) -> Dataset: ...
    def skip(self, count: int, /) -> Dataset: ...
    def shard(self, num_shards: int, index: int, drop_remainder: bool, /) -> Dataset: ...
    def prefetch(self, buffer_size: int | None, /) -> Dataset: ...
    def ignore_errors(self, max_count: int, max_rate: float, /) -> Dataset: ...
    def with_options(self, threads: int, chunk_size: int, memory_limit: int, /) -> Dataset: ...
    def epoch(self, epoch: int, /) -> Dataset: ...
    def concatenate(self, next: Dataset, /) -> Dataset: ...
    def cardinality(self) -> int: ...
    def with_origin(self) -> Dataset: ...
    def has_steps(self) -> bool: ...
    def rows(self) -> bool: ...
    def computed(self) -> Dataset: ...
    def plan_hash(self) -> int: ...
    def require_not_read(self, files: FileSystem, outputs: list[str], /) -> None: ...

class Elements:
    def __init__(self, dataset: Dataset, epoch: int, /) -> None: ...
    def __len__(self) -> int: ...
    def get(self, indexes: list[int], /) -> list[Any]: ...

class WriteInProgress:
    def __init__(self, files: FileSystem, outputs: list[str], /) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

class RecordFiles:
    @overload
    def __init__(
        self, files: FileSystem, paths: list[str], check_crc: bool, compression: str, /
    ) -> None: ...
    @overload
    def __init__(self, parts: list[tuple[str, int, int, int]], check_crc: bool, /) -> None: ...
    def __len__(self) -> int: ...
    def files(self) -> list[tuple[str, int]]: ...
    def get(self, index: int, /) -> bytes: ...
    def get_many(self, indexes: list[int], /) -> list[bytes]: ...
    def parse_many(
        self, indexes: list[int], spec: ParseSpec, single: bool, /
    ) -> dict[str, Any]: ...

class RecordFileWriter:
    records: int
    def __init__(
        self, files: FileSystem, path: str, compression: str, level: int, index: bool, /
    ) -> None: ...
    def write(self, record: bytes, /) -> None: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...

class Iterator:
    epoch: int
    position: int
    _not_compared: list[str]
    _plan_hash: int
    _workers: int
    def _with_own_code(self, state: bytes, /) -> bytes: ...
    def _set_conversion(self, convert: Callable[[Any], Any], /) -> None: ...
    def _set_at_first(self, at_first: Callable[[], None], /) -> None: ...
    def __init__(
        self, dataset: Dataset, epoch: int | None, at_end: Callable[[int], None] | None, /
    ) -> None: ...
    def __iter__(self) -> Iterator: ...
    def __next__(self) -> Any: ...
    def _state(self) -> tuple[bytes, int]: ...
    def _restore(self, state: bytes, /) -> None: ...
    def _leases(self) -> tuple[int, int, int]: ...
    def _statistics(self) -> str: ...
    def _skipped(
        self,
    ) -> tuple[int, list[tuple[str | None, int | None, str]], int, int, int, int]: ...
    def close(self) -> None: ...

def schema_of_records(records: list[bytes], /) -> tuple[Any, ...]: ...
def parse_tensor(serialized: bytes, max_repeated_bytes: int, /) -> Any: ...
def moved_state(state: bytes, count: int, /) -> bytes: ...
def next_epoch_state(state: bytes, /) -> bytes: ...
def position_of_state(state: bytes, /) -> int: ...
def encode_example(features: dict[str, Any], /) -> bytes: ...
def example_spec(
    features: list[tuple[Any, ...]],
    nulls: bool,
    watch: tuple[list[str], int, bool, str] | None,
    /,
) -> ParseSpec: ...
def sequence_example_spec(
    context: list[tuple[Any, ...]],
    feature_lists: list[tuple[Any, ...]],
    nulls: bool,
    of_example_lists: bool,
    watch: tuple[list[str], int, bool, str] | None,
    /,
) -> ParseSpec: ...
def warn_of_unlisted() -> None: ...
def arrow_schema(dataset: Dataset, /) -> Any: ...
def arrow_stream(dataset: Dataset, /) -> Any: ...
def close_arrow_streams() -> None: ...
def write_arrow_stream(
    capsule: Any, files: list[RecordFileWriter], records: int, bits: bool, first: int, /
) -> None: ...
def write_arrow_array(
    schema: Any, array: Any, files: list[RecordFileWriter], records: int, bits: bool, first: int, /
) -> None: ...
def steps(
    folder: str,
    split: str,
    rounding: str,
    features: list[tuple[str, str]],
    offsets: list[tuple[str, list[int]]],
    zero: bool,
    progress: _Progress,
    /,
) -> Dataset: ...
def episode_statistics(
    folder: str,
    split: str,
    rounding: str,
    features: list[tuple[str, str]],
    threads: int,
    keep: bool,
    progress: _Progress,
    /,
) -> tuple[int, int, list[tuple[Any, ...]]]: ...
def tfds_open(
    folder: str,
    split: str,
    decode_images: bool,
    exceptions: list[str],
    fill_missing: bool,
    fast_dct: bool,
    max_pixels: int,
    rounding: str,
    check_crc: bool,
    /,
) -> tuple[Dataset, list[tuple[str, int, int, int]]]: ...
def tfds_info(folder: str, /) -> tuple[Any, ...]: ...
def tfds_ranges(folder: str, split: str, rounding: str, /) -> list[tuple[str, int, int]]: ...
def record_paths(files: FileSystem, paths: list[str], recursive: bool, /) -> list[str]: ...
def tfrecords(
    files: FileSystem,
    paths: list[str],
    check_crc: bool,
    compression: str,
    on_damage: str,
    cycle_length: int,
    block_length: int,
    /,
) -> Dataset: ...
def from_list(elements: list[Any], contents: str, /) -> Dataset: ...
def range(begin: int, end: int, step: int, /) -> Dataset: ...
def list_files(files: FileSystem, paths: list[str], /) -> Dataset: ...
def from_generator(factory: Function, /) -> Dataset: ...
def have_same_elements(datasets: list[Dataset], /) -> bool: ...
def sample(
    datasets: list[Dataset], weights: list[float], seed: int, stop_on_empty: bool, /
) -> Dataset: ...
def choose(datasets: list[Dataset], choices: Dataset, stop_on_empty: bool, /) -> Dataset: ...
def zip(datasets: list[Dataset], collect: Callable[[list[Any]], Any], /) -> Dataset: ...

_Progress = Callable[[int, int], object] | None
_Reading = tuple[str, bool, int, str, str]

def schema(
    files: FileSystem,
    paths: list[str],
    reading: _Reading,
    where: str | None,
    limit: int | None,
    threads: int,
    progress: _Progress,
    /,
) -> tuple[Any, ...]: ...
def find_inputs(
    files: FileSystem, paths: list[str], recursive: bool, /
) -> tuple[list[str], list[int], list[str]]: ...
def record_index_path(path: str, /) -> str: ...
def begin_exit() -> None: ...
def info(
    files: FileSystem, paths: list[str], reading: _Reading, progress: _Progress, /
) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]: ...
def verify(
    files: FileSystem,
    paths: list[str],
    reading: _Reading,
    threads: int,
    progress: _Progress,
    /,
) -> list[tuple[Any, ...]]: ...
def salvage(
    files: FileSystem,
    paths: list[str],
    target: str,
    reading: _Reading,
    compression: str | None,
    threads: int,
    progress: _Progress,
    /,
) -> tuple[list[tuple[Any, ...]], int]: ...
def index(
    files: FileSystem,
    paths: list[str],
    indexes: list[str],
    threads: int,
    progress: _Progress,
    /,
) -> list[int]: ...
def check_index(
    files: FileSystem, paths: list[str], indexes: list[str], progress: _Progress, /
) -> list[int | Error]: ...
def stats(
    files: FileSystem,
    paths: list[str],
    features: list[str],
    reading: _Reading,
    where: str | None,
    limit: int | None,
    threads: int,
    progress: _Progress,
    /,
) -> str: ...
def schema_part(
    files: FileSystem,
    path: str,
    reading: _Reading,
    where: str | None,
    threads: int,
    progress: _Progress,
    /,
) -> bytes: ...

class SchemaMerge:
    def __init__(self, where: str | None, /) -> None: ...
    def add(self, state: bytes, /) -> None: ...
    def finish(self) -> tuple[Any, ...]: ...

def statistics_part(
    files: FileSystem,
    path: str,
    features: list[str],
    reading: _Reading,
    where: str | None,
    threads: int,
    progress: _Progress,
    /,
) -> bytes: ...

class StatisticsMerge:
    def __init__(self, features: list[str], where: str | None, /) -> None: ...
    def add(self, state: bytes, /) -> None: ...
    def finish(self) -> str: ...

def shard_names(
    inputs: list[str], compression: str | None, folders: Sequence[str], /
) -> list[str]: ...
def compression_of_shard(
    files: FileSystem, input: str, compression: str | None, reading: _Reading, /
) -> str: ...

class ShardJob:
    hash: str
    def __init__(self, files: FileSystem, folder: str, operation: str, resume: bool, /) -> None: ...
    def earlier(self, inputs: list[str], outputs: list[str], /) -> list[str | None]: ...
    def commit(self, lines: list[str], /) -> None: ...

def begin_shard(files: FileSystem, hash: str, input: str, output: str, /) -> str: ...
def failed_shard(
    files: FileSystem, hash: str, input: str, output: str, reason: str, is_damage: bool, /
) -> str: ...
def end_shard(
    files: FileSystem, folder: str, line: str, counts: tuple[int, int, int, int], /
) -> str: ...
def manifest_lines(files: FileSystem, path: str, /) -> list[str]: ...
def check_outputs(
    files: FileSystem,
    paths: list[str],
    lines: list[str],
    threads: int,
    progress: _Progress,
    /,
) -> list[str | Exception]: ...
def require_absent(files: FileSystem, outputs: list[str], /) -> None: ...
def output_compression(path: str, given: str | None, /) -> str: ...

class ConvertArguments:
    compression: str | None
    level: int | None
    fast: bool
    shards: int
    round_robin: bool
    split: list[tuple[str, float]]
    split_by: str | None
    max_bytes: int
    shuffle: bool
    tmp_dir: str
    where: str | None
    sample: float | None
    sample_count: int | None
    seed: int
    limit: int | None
    select: list[str] | None
    drop: list[str]
    rename: dict[str, str]
    resize: int | None
    quality: int
    images: list[str]
    no_clobber: bool
    is_part: bool
    threads: int

def require_found_in_any(
    arguments: ConvertArguments, files: list[bytes], are_all: bool, /
) -> None: ...
def convert(
    files: FileSystem,
    paths: list[str],
    target: str,
    reading: _Reading,
    arguments: ConvertArguments,
    progress: _Progress,
    /,
) -> tuple[
    list[tuple[str, int, int, str]],
    int,
    int,
    int,
    list[tuple[str, int, int, str, str]],
    int,
    list[tuple[str, int, str]],
    int,
    bytes,
]: ...
def plan_convert(
    files: FileSystem,
    paths: list[str],
    target: str,
    reading: _Reading,
    arguments: ConvertArguments,
    progress: _Progress,
    /,
) -> tuple[int, int | None, int | None, list[str], list[str]]: ...
def parse_spec(dataset: Dataset, /) -> ParseSpec | None: ...
def decode_image(
    dataset: Dataset,
    feature: str,
    channels: int,
    max_pixels: int,
    fast: bool,
    wide: bool,
    upright: bool,
    dct_scaling: bool,
    /,
) -> Dataset: ...
def decode_raw(
    dataset: Dataset, feature: str, height: int, width: int, channels: int, layout: str, /
) -> Dataset: ...
def pad_crop_flip(dataset: Dataset, feature: str, pad: int, seed: int, /) -> Dataset: ...
def crop_flip_color(
    dataset: Dataset,
    feature: str,
    height: int,
    width: int,
    seed: int,
    max_brightness: float,
    min_contrast: float,
    max_contrast: float,
    standardize: bool,
    /,
) -> Dataset: ...
def central_crop(dataset: Dataset, feature: str, height: int, width: int, /) -> Dataset: ...
def random_resized_crop(
    dataset: Dataset,
    feature: str,
    height: int,
    width: int,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    flip: bool,
    interpolation: str,
    antialias: bool,
    rounded: bool,
    seed: int,
    /,
) -> Dataset: ...
def resize_short_side(
    dataset: Dataset,
    feature: str,
    side: int,
    interpolation: str,
    antialias: bool,
    rounded: bool,
    /,
) -> Dataset: ...
def resize(
    dataset: Dataset,
    feature: str,
    height: int,
    width: int,
    interpolation: str,
    antialias: bool,
    rounded: bool,
    /,
) -> Dataset: ...
def center_crop(dataset: Dataset, feature: str, height: int, width: int, /) -> Dataset: ...
def color_jitter(
    dataset: Dataset,
    feature: str,
    brightness: tuple[float, float],
    contrast: tuple[float, float],
    saturation: tuple[float, float],
    hue: tuple[float, float],
    seed: int | None,
    /,
) -> Dataset: ...
def normalize(
    dataset: Dataset, feature: str, mean: list[float], std: list[float], scale: float, /
) -> Dataset: ...
def per_image_standardization(dataset: Dataset, feature: str, /) -> Dataset: ...
def image_format(
    dataset: Dataset, feature: str, dtype: str | None, layout: str | None, sizes: str | None, /
) -> Dataset: ...
def cifar10_files(data_dir: str, subset: str, /) -> list[str]: ...
def cifar10_batches(
    files: list[str],
    batch_size: int,
    drop_remainder: bool,
    seed: int,
    shuffle_buffer: int,
    global_shuffle: bool,
    distort: bool,
    epochs: int,
    dtype: str,
    layout: str,
    per_image: bool,
    mean: list[float],
    std: list[float],
    scale: float,
    num_shards: int,
    shard_index: int,
    prefetch: int | None,
    threads: int,
    /,
) -> Dataset: ...
