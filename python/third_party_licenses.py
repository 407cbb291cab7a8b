#!/usr/bin/env python3
"""Writes the notices of the libraries in a wheel, from what its build has read.

usage: third_party_licenses.py NINJA BUILD_FOLDER OUTPUT [WHEEL_LIBRARIES]

A library is in the wheel if one of its headers was compiled (many consist of headers alone) or its
archive is linked. The notices are the copyright files of Debian's packages that have these files,
with the common licences that they refer to, those of the libraries that tools/wheel_libraries has
built in the folder WHEEL_LIBRARIES, and what nanobind's package on PyPI contains. The C
library's and Python's interfaces are left out: the wheel uses those of the system where it runs.
"""

import pathlib
import re
import subprocess
import sys

# Of files below these folders; nothing else is compiled in.
SYSTEM = "/usr/"
PACKAGES = "site-packages"
NOT_IN_THE_WHEEL = re.compile(r"libc6-dev|linux-libc-dev|libpython3\.\d+-dev")
RULE = "=" * 100


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def files_of_build(ninja, build):
    """The headers that were compiled, and the libraries that were linked."""
    names = re.findall(r"^ +(\S.*)$", output_of(ninja, "-C", str(build), "-t", "deps"), re.M)
    names += re.findall(r"/usr/\S+\.(?:a|so)\b", (build / "build.ninja").read_text())
    return sorted({(build / name).resolve() for name in names})


def debian_packages(paths):
    search = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True)
    found = re.findall(r"^([\w.+-]+)(?::\w+)?: (/.*)$", search.stdout, re.M)
    missing = set(paths) - {path for _, path in found}
    if missing:  # built here from other sources: a wheel for others needs their notices, too
        print(f"no notices: of no package: {', '.join(sorted(missing))}", file=sys.stderr)
    packages = {package for package, _ in found}
    return sorted(package for package in packages if not NOT_IN_THE_WHEEL.fullmatch(package))


def debian_notices(files):
    """``files``: from names of packages to their copyright files."""
    common = set()
    for package, path in files.items():
        text = path.read_text()
        common.update(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
        yield package, text
    for name in sorted(common):
        yield f"common licence {name}", pathlib.Path("/usr/share/common-licenses", name).read_text()


def pypi_notices(paths):
    """Of each distribution, its licences; and of headers of others in it, their first comment."""
    seen = set()
    for path in paths:
        folder = next(parent for parent in path.parents if parent.name == PACKAGES)
        name = path.relative_to(folder).parts[0]
        for text in sorted(folder.glob(f"{name}-*.dist-info/licenses/**/*")):
            if text.is_file() and text not in seen:
                seen.add(text)
                yield name, text.read_text()
        comment = re.match(r"\s*/\*.*?\*/", path.read_text(), re.S)
        if comment and "ext" in path.parts and comment.group() not in seen:
            seen.add(comment.group())
            yield f"{name}: {path.name}", comment.group().strip()


def main():
    ninja, build, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    built = pathlib.Path(sys.argv[4]).glob("licenses/*/copyright") if sys.argv[4:] else ()
    paths = files_of_build(ninja, build)
    of_system = [str(path) for path in paths if str(path).startswith(SYSTEM)]
    notices = [
        *pypi_notices([path for path in paths if PACKAGES in path.parts]),
        *debian_notices(
            {path.parent.name: path for path in sorted(built)}
            | {
                package: pathlib.Path("/usr/share/doc", package, "copyright")
                for package in debian_packages(of_system)
            }
        ),
    ]
    if not notices:
        sys.exit(f"{build}: no library is found in this build")
    head = "recordpipe contains code of these libraries.\n"
    parts = [f"{RULE}\n{name}\n{RULE}\n\n{text.strip()}\n" for name, text in notices]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join([head, *parts]))


if __name__ == "__main__":
    main()
