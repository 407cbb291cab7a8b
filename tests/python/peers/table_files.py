"""What the tests of table files share: a file of TFRecords, and its rows as a table has them."""

import pyarrow as pa
import pyarrow.fs
import recordpipe as rp
from support import FilesTest


def row(i):
    """Of every third record, a feature is missing."""
    values = {"id": i, "name": f"näme {i}".encode(), "box": [i + 0.25, 0.5], "tags": [i] * (i % 3)}
    return values if i % 3 else {key: values[key] for key in values if key != "name"}


def shown(i):
    """Row i in a table."""
    name = f"näme {i}" if i % 3 else None
    return row(i) | {"name": name, "tags": [i] * (i % 3) or None}


class TableFilesTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "rows.tfrecord"
        rp.write_tfrecords(self.source, map(row, range(3000)))
        self.rows = [shown(i) for i in range(3000)]

    def assert_rows(self, table, rows):
        found = table.to_pylist()
        for one in found:
            one["tags"] = one["tags"] or None  # an empty list is no feature
        self.assertEqual(found, rows)

    def file_system(self):
        """The test's folder as a file system of pyarrow."""
        return pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())


def damage(path):
    """Damages the last record."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def read_arrow(path):
    return pa.ipc.open_file(path).read_all()
