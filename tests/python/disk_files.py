"""A file system of a folder that recordpipe takes for a distant one; it pickles."""

import os
import pathlib
import uuid


class DiskFiles:
    """Names are relative to the folder. Files appear whole, as objects do."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def status(self, path):
        file = self.folder / path
        if not file.exists():
            return None
        found = file.stat()
        kind = "directory" if file.is_dir() else "file"
        return kind, found.st_size, f"{found.st_mtime_ns}"

    def read_range(self, path, start, length, version):
        with open(self.folder / path, "rb") as file:
            file.seek(start)
            return file.read(length)

    def list(self, directory, prefix):
        folder = self.folder / directory
        for entry in os.scandir(folder) if folder.exists() else ():
            kind = "directory" if entry.is_dir() else "file"
            yield entry.name, kind, entry.stat().st_size

    def open_writer(self, path):
        return _Writer(self.folder / path)

    def remove(self, path):
        (self.folder / path).unlink(missing_ok=True)


class _Writer:
    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.partial = path.with_name(f".{uuid.uuid4()}")
        self.file = open(self.partial, "wb")  # noqa: SIM115 (closed by close() or abort())

    def write(self, data):
        self.file.write(data)

    def close(self):
        self.file.close()
        os.replace(self.partial, self.path)

    def abort(self):
        self.file.close()
        self.partial.unlink(missing_ok=True)
