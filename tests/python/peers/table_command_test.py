"""`tfrecord export` to Parquet and Arrow, and `create` from them, with pyarrow.

RECORDPIPE_TFRECORD is the command (default: tfrecord of PATH). Without one, the tests are skipped.
"""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import os
import shutil
import sys
import unittest

from peers import require

require("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
import recordpipe as rp
from support import FilesTest, run_program

TFRECORD = os.environ.get("RECORDPIPE_TFRECORD") or shutil.which("tfrecord")


@unittest.skipUnless(TFRECORD, "no tfrecord command: set RECORDPIPE_TFRECORD")
class TableCommand(FilesTest):
    def setUp(self):
        super().setUp()
        os.environ["RECORDPIPE_PYTHON"] = sys.executable
        self.source = self.folder / "rows.tfrecord"
        rp.write_tfrecords(self.source, ({"id": i, "name": f"row {i}"} for i in range(1000)))

    def run_it(self, *arguments, status=0):
        done = run_program([TFRECORD, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_there_and_back(self):
        for name, read in (
            ("rows.parquet", pq.read_table),
            ("rows.arrow", lambda path: pa.ipc.open_file(path).read_all()),
        ):
            with self.subTest(name):
                said = self.run_it("export", "rows.tfrecord", "-o", name)
                self.assertEqual(said, f"wrote 1,000 records to {name}\n")
                self.assertEqual(read(self.folder / name)["name"][7].as_py(), "row 7")
                self.run_it("create", name, "-o", "back", "--shards", "2")
                back = rp.tfrecords(self.folder / "back-*")
                self.assertEqual(list(back), list(rp.tfrecords(self.source)))

    def test_options(self):
        self.run_it(
            *("export", "rows.tfrecord", "-o", "x.pq", "--where", "id >= 990", "--limit", "3"),
            *("--rename", "id=key", "--select", "id", "--text", "never"),
        )
        found = pq.read_table(self.folder / "x.pq").to_pydict()
        self.assertEqual(found, {"key": [990, 991, 992]})
        said = self.run_it("export", "rows.tfrecord", "-o", "y.pq", "--where", "idd == 1", status=2)
        self.assertRegex(said, "tfrecord export: .*no record has a feature.*idd.*did you mean|idd")
        self.assertEqual(sorted(os.listdir(self.folder)), ["rows.tfrecord", "x.pq"])

    def test_damage(self):
        content = bytearray(self.source.read_bytes())
        content[-1] ^= 1
        self.source.write_bytes(content)
        said = self.run_it("export", "rows.tfrecord", "-o", "x.parquet", status=2)
        self.assertRegex(said, "^tfrecord export: .*rows.tfrecord: .*CRC.*--skip-corrupt skips")
        said = self.run_it("export", "rows.tfrecord", "-o", "x.parquet", "--skip-corrupt")
        self.assertRegex(
            said, "export: skipped 1 damaged region.*\nwrote 999 records to x.parquet\n$"
        )
        said = self.run_it(
            *("export", "rows.tfrecord", "-o", "x.parquet", "--skip-corrupt", "--limit", "999")
        )
        self.assertEqual(said, "wrote 999 records to x.parquet\n")

    def test_a_table_of_each_input(self):
        shutil.copy(self.source, self.folder / "more.tfrecord")
        command = ["export", "rows.tfrecord", "more.tfrecord", "--to", "parquet", "--to-dir", "out"]
        said = self.run_it(*command)
        self.assertRegex(said, "^wrote 2,000 records, .*, to 2 files in out\n$")
        (self.folder / "out/more.parquet").unlink()
        said = self.run_it(*command, "--resume")
        self.assertRegex(said, "to 2 files in out; 1 there already\n$")
        self.assertEqual(pq.read_table(self.folder / "out/more.parquet").num_rows, 1000)
        self.run_it("verify", "--manifest", "out/manifest.jsonl")

    def test_files_of_a_folder_and_others_below_it(self):
        (self.folder / "in").mkdir()
        names = ("in/x.tfrecord", "in/_h.tfrecord", "in/other.bin", "e.tfrecord")
        for name in names:
            shutil.copy(self.source, self.folder / name)
        given = ("in", "in/_h.tfrecord", "in/other.bin", "in/../e.tfrecord")
        said = self.run_it("export", "--recursive", *given, "--to", "arrow", "--to-dir", "out")
        self.assertRegex(said, "wrote 4,000 records, .*, to 4 files in out\n$")
        self.assertEqual(
            sorted(os.listdir(self.folder / "out")),
            ["_h.arrow", "e.arrow", "manifest.jsonl", "other.bin.arrow", "x.arrow"],
        )


if __name__ == "__main__":
    unittest.main()
