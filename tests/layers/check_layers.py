#!/usr/bin/env python3
"""Rejects includes that cross the layers. Standard library only.

usage: check_layers.py ROOT

Prints a line for each include that the tables below do not allow, for each missing file, for each
header without #pragma once, and for each thread that is started outside of dataset/parallel. Exit
status 1 if there are any.
"""

import pathlib
import re
import sys

# Which layer may include which. A layer may include itself, the listed layers, and the layers that
# these may include. The layer of a file is the longest name that its path starts with.
LAYERS = {
    "proto": [],
    "dataset/base": [],
    "dataset/parallel": ["dataset/base"],
    "dataset/io": ["dataset/parallel"],
    "dataset/checksum": ["dataset/base"],
    "dataset/http": ["dataset/io"],
    "dataset/object_store": ["dataset/http", "dataset/checksum"],
    "dataset/record": ["dataset/io", "dataset/checksum"],
    "dataset/decompression": ["dataset/record"],
    "dataset/example": ["dataset/record", "proto"],
    "dataset/image": ["dataset/base"],
    "dataset/pipeline": ["dataset/example"],
    "dataset/image/batches": ["dataset/image", "dataset/pipeline"],
    "dataset/tfds": ["dataset/image/batches"],
    "dataset/rlds": ["dataset/tfds"],
    "dataset/toolkit": ["dataset/example", "dataset/image"],
    "dataset/cifar": ["dataset/example", "dataset/image", "dataset/pipeline"],
    "tools/support/command_line": [],
    "tools/support/html": ["dataset/base"],
    "tools/support/process": ["dataset/parallel"],
    "trainer": ["dataset/cifar", "tools/support/html"],
    "trainer/programs": ["trainer", "tools/support/command_line", "tools/support/process"],
    "tools": ["dataset/cifar", "dataset/decompression", "dataset/object_store", "dataset/toolkit",
              "tools/support/command_line", "tools/support/html", "tools/support/process"],
    "examples": ["trainer", "dataset/image/batches"],
    "python": ["dataset/cifar", "dataset/decompression", "dataset/object_store", "dataset/rlds",
               "dataset/toolkit"],
    "tests": ["trainer/programs", "tools", "dataset/rlds"],
}

# The public headers are in these folders, apart from their layers' sources, and are included by
# their path from there: "recordpipe/pipeline/dataset.h".
PUBLIC = ["dataset/include/", "trainer/include/"]
# Examples and user-facing programs use the library as users do.
PUBLIC_ONLY = ["examples/", *PUBLIC]

# Which files may include the headers of which library; paths and headers are given by their start.
# A reader of records needs only zlib and zstd (and ISA-L if available); logging and option parsing
# are for programs.
LIBRARIES = {
    "hwy/": ["dataset/image/color_jitter_highway", "dataset/image/crop_highway", "dataset/image/highway_targets", "dataset/image/resize_highway"],
    "jerror.h": ["dataset/image/jpeg_"],
    "jpeglib.h": ["dataset/image/jpeg_", "tests/bench/photo_bench"],
    "png.h": ["dataset/image/png_"],
    "webp/decode.h": ["dataset/image/webp_"],
    "isa-l/igzip_lib.h": ["dataset/io/compression/isal_"],
    "re2/": ["dataset/toolkit/where/regex.cc"],
    "tbb/": ["dataset/parallel/tbb_market.cc"],
    "iconv.h": ["tools/tfrecord/io/text_encoding"],
    "zlib.h": ["dataset/io/compression/"],
    "zstd": ["dataset/io/compression/zstd_"],
    "curl/": ["dataset/http/"],
    "openssl/": ["dataset/io/sha256", "dataset/object_store/requests/md5",
                 "dataset/object_store/google/rs256"],
    "nlohmann/": ["dataset/http/files/partial_download", "dataset/object_store/aws/credentials",
                  "dataset/object_store/google/access_token",
                  "dataset/pipeline/observe/chrome_trace",
                  "dataset/tfds/", "dataset/rlds/statistics_file",
                  "dataset/toolkit/jobs/shard_record", "dataset/toolkit/formats/json_value",
                  "trainer/", "tools/"],
    "archive.h": ["dataset/cifar/", "dataset/decompression/", "dataset/toolkit/arrays/npz"],
    "archive_entry.h": ["dataset/cifar/", "dataset/decompression/", "dataset/toolkit/arrays/npz"],
    "google/protobuf/": ["tools/tfrecord/text/proto_messages", "trainer/"],
    "oneapi/dnnl/": ["trainer/backend/cpu/"],
    "mpi.h": ["trainer/backend/replicated/mpi_"],
    "omp.h": ["trainer/backend/cpu/"],
    "cublasLt.h": ["trainer/backend/cuda/"],
    "cuda_": ["trainer/backend/cuda/"],
    "cudnn.h": ["trainer/backend/cuda/"],
    "nccl.h": ["trainer/backend/cuda/replicated/nccl_"],
    "nanobind/": ["python/native/"],
    "fmt/": ["trainer/", "tools/"],
    "spdlog/": ["trainer/programs/log.cc"],
    "CLI/": ["tools/support/command_line/"],
    "gtest/": [],
    "gmock/": [],
}
# Files with this start may include all libraries above.
UNBOUND = "tests/"

# Headers of the operating system and the compiler, allowed everywhere.
SYSTEM = re.compile(
    r"""(sys|asm|linux|arpa|net|netinet)/\w+(/\w+)*\.h
      | arm_\w+\.h | \w+intrin\.h | cpuid\.h | sanitizer/\w+\.h
      | (cxxabi|dirent|dlfcn|fcntl|fnmatch|malloc|poll|pthread|pty|sched|semaphore|spawn)\.h
      | (termios|ucontext|unistd)\.h""",
    re.VERBOSE,
)
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(?:\"([^\"]*)\"|<([^>]*)>)", re.MULTILINE)
# What starts a thread. (std::thread::id and std::thread::hardware_concurrency() don't.)
THREAD = re.compile(r"\bstd::(?:j?thread\b(?!::)|async\b)|\bpthread_create\(")
# Where threads are started. Tests start their own, and OpenMP those of the trainer's CPU backend.
STARTS_THREADS = ("dataset/parallel/", "tests/")
COMMENT = re.compile(r"//[^\n]*")

PRAGMA_ONCE = re.compile(r"^#pragma once$", re.MULTILINE)


def longest(starts, path):
    return max((start for start in starts if path.startswith(start)), key=len, default=None)


def layer_of(path):
    """The layer of a file, by its path from the root."""
    public = longest(PUBLIC, path)
    if public:
        below = path[len(public):].removeprefix("recordpipe/")
        path = below if below.startswith(("proto/", "trainer/")) else "dataset/" + below
    folder = longest([layer + "/" for layer in LAYERS], path)
    return folder and folder[:-1]


def reach_of(layer):
    """The layers that `layer` may include."""
    reach = {layer}
    for below in LAYERS[layer]:
        reach |= reach_of(below)
    return reach


def file_of(root, included):
    """The included file, or the source from which it is generated: its path from the root."""
    if included.endswith(".pb.h"):  # generated by protoc
        candidates = [included.removeprefix("recordpipe/").removesuffix(".pb.h") + ".proto"]
    else:  # generated by CMake, or in the tree
        candidates = [folder + included for folder in ("", *PUBLIC)] + [included + ".in"]
    return next((path for path in candidates if (root / path).is_file()), None)


def check_own(root, path, included):
    if layer_of(included) is None and not included.startswith("recordpipe/"):
        return f"includes \"{included}\": not a path from the root through a known layer"
    found = file_of(root, included)
    if found is None:
        return f"includes \"{included}\": there is no such file"
    if longest(PUBLIC, included):
        return f"includes \"{included}\": public headers are included as \"recordpipe/...\""
    layer, target = layer_of(path), layer_of(found)
    if target not in reach_of(layer):
        return f"includes \"{included}\": {layer} may not know {target}"
    if path.startswith(tuple(PUBLIC_ONLY)) and not included.startswith("recordpipe/"):
        return f"includes \"{included}\": only public headers may be included here"
    return None


def check_foreign(path, included):
    if included == "execution":
        return "includes <execution>: parallel algorithms are in dataset/parallel"
    if STANDARD.fullmatch(included) or SYSTEM.fullmatch(included):
        return None
    for library, users in LIBRARIES.items():
        if included.startswith(library):
            if path.startswith((UNBOUND, *users)):
                return None
            return f"includes <{included}>: only {', '.join([*users, UNBOUND])} may"
    return f"includes <{included}>: not in the tables of tests/layers/check_layers.py"


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    if layer_of(path) is None:
        yield f"{path}: in no known layer"
        return
    if path.endswith(".h") and not PRAGMA_ONCE.search(text):
        yield f"{path}: has no #pragma once"
    if not path.startswith(STARTS_THREADS):
        for match in THREAD.finditer(COMMENT.sub(lambda comment: " " * len(comment[0]), text)):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match[0]}: threads are started in dataset/parallel only"
    for match in INCLUDE.finditer(text):
        own, foreign = match.groups()
        problem = check_own(root, path, own) if own is not None else check_foreign(path, foreign)
        if problem:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {problem}"


def check_tree(root):
    """All errors in the sources below `root`, one line each."""
    problems, count = [], 0
    for folder in sorted({layer.split("/")[0] for layer in LAYERS}):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".inc", ".cc", ".cu", ".cuh"):
                problems += check_file(root, file.relative_to(root).as_posix())
                count += 1
    if count == 0:
        problems.append(f"{root}: no sources found")
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problems = check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
