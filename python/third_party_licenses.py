"""The notices of the libraries in a wheel: those of tools/wheel_libraries, of nanobind, and of the
C++ library that comes with Zig. The C library and Python are those of the system.
"""

import importlib.metadata
import pathlib
import re

COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")  # debian/copyright refers to them
RULE = "=" * 100


def of_debian_sources(libraries):
    """``libraries``: the folder of tools/wheel_libraries."""
    common = set()
    for path in sorted(libraries.glob("licenses/*/copyright")):
        text = path.read_text()
        common.update(re.findall(rf"{COMMON_LICENSES}/([\w.-]*\w)", text))
        yield path.parent.name, text
    for name in sorted(common):
        yield f"common licence {name}", (COMMON_LICENSES / name).read_text()


def of_distribution(name, pattern):
    """The files of a package from PyPI that match ``pattern``."""
    for file in importlib.metadata.files(name):
        if re.fullmatch(pattern, str(file)):
            yield str(file), file.read_text()


def of_headers(name, pattern):
    """The first comments of those files: libraries of headers that a package contains."""
    for heading, text in of_distribution(name, pattern):
        comment = re.match(r"\s*/\*.*?\*/", text, re.S)
        if comment:
            yield heading, comment.group()


def third_party_licenses(libraries):
    notices = [
        *of_distribution("nanobind", r"nanobind-.*\.dist-info/licenses/.*"),
        *of_headers("nanobind", r"nanobind/ext/.*\.h"),
        *of_distribution("ziglang", r"ziglang/lib/(libcxx|libcxxabi|libunwind)/LICENSE\.TXT"),
        *of_debian_sources(libraries),
    ]
    head = "recordpipe contains code of these libraries.\n"
    parts = [f"{RULE}\n{name}\n{RULE}\n\n{text.strip()}\n" for name, text in notices]
    return "\n".join([head, *parts])
