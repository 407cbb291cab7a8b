#!/usr/bin/env python3
"""Writes the tar archives that the fuzzer of archives starts from. Standard library only.

usage: make_archives.py FOLDER

They are tar files without gzip around them, so that what the fuzzer damages is the inside: batches
of one image, in the three formats of tar, with the entries beside them that archives may have.
"""
import io
import pathlib
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cli"))
import small_archives  # noqa: E402


def entry(name, content=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, io.BytesIO(content)


def write(path, tar_format, entries):
    with tarfile.open(path, "w", format=tar_format) as archive:
        for info, content in entries:
            archive.addfile(info, content)


def main():
    folder = pathlib.Path(sys.argv[1])
    python = [entry(f"cifar-10-batches-py/{name}", content)
              for name, content in small_archives.python_members(1).items()]
    binary = [entry(f"cifar-10-batches-bin/{name}", content)
              for name, content in small_archives.binary_members(1).items()]
    record = bytes([7, 42]) + bytes(range(256)) * 12
    cifar100 = [
        entry("cifar-100-binary", kind=tarfile.DIRTYPE),
        entry("cifar-100-binary/" + "long" * 40, b"a name that needs a header of its own"),
        entry("cifar-100-binary/gr\u00fc\u00dfe", b"a name that is not ASCII"),
        entry("cifar-100-binary/link", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        entry("cifar-100-binary/hard", kind=tarfile.LNKTYPE, link="cifar-100-binary/train.bin"),
        entry("pipe", kind=tarfile.FIFOTYPE),
        entry("device", kind=tarfile.CHRTYPE),
        entry("../outside", b"a name that leads out"),
        entry("cifar-100-binary/test.bin", record),
        entry("cifar-100-binary/train.bin", record * 5),
    ]
    write(folder / "cifar10-python-pax.tar", tarfile.PAX_FORMAT, python)
    write(folder / "cifar10-binary-ustar.tar", tarfile.USTAR_FORMAT, binary)
    write(folder / "cifar100-binary-gnu.tar", tarfile.GNU_FORMAT, cifar100)


if __name__ == "__main__":
    main()
