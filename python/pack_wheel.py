#!/usr/bin/env python3
"""Packs the wheel that tools/build_wheels has compiled, and prints its path.

usage: pack_wheel.py TAG STAGING LIBRARIES FOLDER

TAG is that of the wheel (cp311-cp311-manylinux_2_28_x86_64). STAGING has what CMake has installed;
its data/ goes to the prefix of a Python. LIBRARIES is the folder of tools/wheel_libraries. FOLDER
receives the wheel. The metadata are those of pyproject.toml.
"""

import base64
import contextlib
import hashlib
import os
import pathlib
import stat
import sys
import tempfile
import zipfile

from scikit_build_core import build
from third_party_licenses import third_party_licenses

ROOT = pathlib.Path(__file__).resolve().parent.parent  # where pyproject.toml is
# The oldest time that a zip file can have: the same input gives the same wheel.
TIME = (1980, 1, 1, 0, 0, 0)


def files_in(folder):
    """From names relative to ``folder`` to paths."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path for path in paths}


def package_files():
    for name, path in files_in(ROOT / "python").items():
        package = name.split("/")[0]
        if package.startswith("recordpipe") and (path.suffix == ".py" or path.name == "py.typed"):
            yield name, path


def metadata(tag, libraries, folder):
    """The name of NAME-VERSION.dist-info, and its contents, by path."""
    os.chdir(ROOT)
    with contextlib.redirect_stdout(sys.stderr):
        info = build.prepare_metadata_for_build_wheel(folder)
    files = {name: path.read_bytes() for name, path in files_in(pathlib.Path(folder)).items()}
    wheel = f"Wheel-Version: 1.0\nGenerator: recordpipe\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/licenses/THIRD_PARTY_LICENSES"] = third_party_licenses(libraries).encode()
    return info, files


def write_wheel(path, record, files):
    """``files``: from names to a pair of contents and mode."""
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (contents, mode) in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode()
            lines.append(f"{name},sha256={digest.rstrip('=')},{len(contents)}\n")
            write_file(wheel, name, contents, mode)
        lines.append(f"{record},,\n")
        write_file(wheel, record, "".join(lines).encode(), 0o644)


def write_file(wheel, name, contents, mode):
    info = zipfile.ZipInfo(name, TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | mode) << 16
    wheel.writestr(info, contents)


def main():
    tag = sys.argv[1]
    staging, libraries, folder = (pathlib.Path(path).resolve() for path in sys.argv[2:])
    with tempfile.TemporaryDirectory() as scratch:
        info, written = metadata(tag, libraries, scratch)
    distribution = info.removesuffix(".dist-info")
    paths = dict(package_files())
    for name, path in files_in(staging).items():
        paths[f"{distribution}.data/{name}" if name.startswith("data/") else name] = path
    files = {
        name: (path.read_bytes(), 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
        for name, path in paths.items()
    } | {name: (contents, 0o644) for name, contents in written.items()}
    wheel = folder / f"{distribution}-{tag}.whl"
    write_wheel(wheel, f"{info}/RECORD", files)
    print(wheel)


if __name__ == "__main__":
    main()
