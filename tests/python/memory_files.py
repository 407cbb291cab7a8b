"""File systems of a dict, for filesystem=, and the tests' base class."""

import threading

import recordpipe as rp
from support import FilesTest


class Memory:
    """A file system of a dict, with hooks that fail or wait."""

    def __init__(self, files=None):
        self.files = dict(files or {})
        self.reads = []
        self.before_read = lambda path, start: None
        self.most = 1 << 30  # bytes of one read

    def __reduce__(self):
        return Memory, (self.files,)

    def status(self, path):
        if path in self.files:
            data = self.files[path]
            return "file", len(data), f"{hash(data)}"
        folder = path.rstrip("/") + "/"
        if any(name.startswith(folder) for name in self.files):
            return "directory", 0, ""
        return None

    def read_range(self, path, start, length, version):
        self.reads.append((path, start, length))
        self.before_read(path, start)
        return memoryview(self.files[path])[start : start + min(length, self.most)]

    def list(self, directory, prefix):
        folder = "" if directory == "." else directory.rstrip("/") + "/"
        for name in self.files:
            if name.startswith(folder):
                first, slash, _ = name[len(folder) :].partition("/")
                yield first, "directory" if slash else "file", None

    def open_writer(self, path):
        return MemoryWriter(self, path)


class MemoryWriter:
    def __init__(self, memory, path):
        self.memory, self.path, self.data = memory, path, bytearray()

    def write(self, data):
        self.data += data

    def close(self):
        self.memory.files[self.path] = bytes(self.data)

    def abort(self):
        self.data = None


class Small(Memory):
    """Many small files; remembers what is asked for at a time."""

    def __init__(self, files=None):
        super().__init__(files)
        self.lock = threading.Lock()
        self.calls = []
        self.under_way = self.most = 0
        self.together = 0  # calls wait until so many are under way
        self.released = threading.Event()

    def call(self, name, path):
        if path not in self.files:
            return
        with self.lock:
            self.calls.append((name, path))
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            if self.together and self.under_way >= self.together:
                self.released.set()
        if self.together:
            self.released.wait(timeout=30)
        with self.lock:
            self.under_way -= 1

    def status(self, path):
        self.call("status", path)
        return super().status(path)

    def read_range(self, path, start, length, version):
        self.call("read_range", path)
        return super().read_range(path, start, length, version)


class OneRequest(Small):
    """Opens a file with one request, as an object store does."""

    is_object_store = True
    reads_are_conditional = True

    def read_head(self, path, length):
        self.call("read_head", path)
        status = Memory.status(self, path)
        return None if status is None else (status, self.files[path][:length])

    def list(self, directory, prefix):
        for name, kind, _ in super().list(directory, prefix):
            path = f"{directory.rstrip('/')}/{name}"
            yield name, kind, len(self.files[path]) if kind == "file" else None


class FileSystemTest(FilesTest):
    def setUp(self):
        super().setUp()
        # Larger than the blocks that are read, and of records that lie across their ends.
        self.records = [bytes([i % 251]) * (i % 7919) for i in range(3000)]
        rp.write_tfrecords(self.folder / "a.tfrecord", self.records)
        rp.write_tfrecords(self.folder / "b.tfrecord", self.records[::-1])
        self.memory = Memory(
            {
                f"in/{name}": (self.folder / name).read_bytes()
                for name in ("a.tfrecord", "b.tfrecord")
            }
        )
        self.all = self.records + self.records[::-1]

    def dataset(self, paths="in/*.tfrecord", **options):
        return rp.tfrecords(paths, filesystem=self.memory, **options)
