#!/usr/bin/env python3
"""Checks what a wheel contains and links. Needs readelf.

usage: check_wheel.py WHEEL

Prints each problem; exit status 1 if there are any. A wheel must have at most 10 MB, must run with
glibc 2.28, and may need no other library of the system. Its module may export nothing but its entry
point, and it has the notices of the libraries that it contains.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MAX_BYTES = 10 << 20
GLIBC = (2, 28)
SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux-[\w-]+)\.so\.\d+")
REQUIRED = (
    r"recordpipe/__init__\.py",
    r"recordpipe/_native\.pyi",
    r"recordpipe/py\.typed",
    r"recordpipe/_native\.[\w-]+\.so",
    r"recordpipe_programs/tfrecord",
    r"[^/]+\.dist-info/licenses/LICENSE",
    r"[^/]+\.dist-info/licenses/THIRD_PARTY_LICENSES",
    r"[^/]+\.data/data/share/man/man1/tfrecord\.1",
)
# Libraries of which every wheel contains code, as THIRD_PARTY_LICENSES names them.
CONTAINED = (
    "nanobind",
    "bzip2",
    "curl",
    "fmt",
    "highway",
    "isal",
    "jpeg",
    "libarchive",
    "libcxx",
    "lz4",
    "png",
    "re2",
    "ssl",
    "webp",
    "xz-utils",
    "zlib",
    "zstd",
)


def readelf(path, *options):
    command = ["readelf", "--wide", *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_elf(path, name):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(path, "--dynamic"))
    for library in needed:
        if not SYSTEM.fullmatch(library):
            yield f"{name} needs {library} of the system"
    for version in sorted(set(re.findall(r"\bGLIBC_([\d.]+)", readelf(path, "--version-info")))):
        if tuple(map(int, version.split("."))) > GLIBC:
            yield f"{name} needs glibc {version}"
    sections = readelf(path, "--sections")
    if ".symtab" in sections or ".debug_info" in sections:
        yield f"{name} isn't stripped"
    if re.search(r"/_native\.", name):
        symbols = readelf(path, "--dyn-syms")
        exported = re.findall(r" (?:GLOBAL|WEAK|UNIQUE) +DEFAULT +(?!UND)\S+ (\S+)", symbols)
        if exported != ["PyInit__native"]:
            yield f"{name} exports {', '.join(exported)}"


def problems(wheel):
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        yield f"{size} bytes, more than {MAX_BYTES}"
    platform = wheel.stem.split("-")[-1]
    tags = [tuple(map(int, tag)) for tag in re.findall(r"manylinux_(\d+)_(\d+)", platform)]
    if not tags or min(tags) > GLIBC:
        yield f"for {platform}, so not for glibc {GLIBC[0]}.{GLIBC[1]}"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as contents:
        names = [name for name in contents.namelist() if not name.endswith("/")]
        for pattern in REQUIRED:
            if not any(re.fullmatch(pattern, name) for name in names):
                yield f"has no {pattern}"
        contents.extractall(folder)
        for path in pathlib.Path(folder).glob("*.dist-info/licenses/THIRD_PARTY_LICENSES"):
            headings = re.findall(r"^=+\n(.*)\n=+$", path.read_text(), re.M)
            for library in CONTAINED:
                if not any(library in heading for heading in headings):
                    yield f"{path.name} has no notice of {library}"
        for name in names:
            path = pathlib.Path(folder, name)
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield from check_elf(path, name)


def main():
    wheel = pathlib.Path(sys.argv[1])
    found = list(problems(wheel))
    for problem in found:
        print(f"{wheel.name}: {problem}")
    if not found:
        size = wheel.stat().st_size / (1 << 20)
        print(f"{wheel.name}: {size:.1f} MB, needs only glibc")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
