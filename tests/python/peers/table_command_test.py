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
from store_cases import StoreTest
from support import FilesTest, run_program

TFRECORD = os.environ.get("RECORDPIPE_TFRECORD") or shutil.which("tfrecord")


class CommandTest(FilesTest):
    def setUp(self):
        super().setUp()
        os.environ["RECORDPIPE_PYTHON"] = sys.executable

    def run_it(self, *arguments, status=0):
        done = run_program([TFRECORD, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr


@unittest.skipUnless(TFRECORD, "no tfrecord command: set RECORDPIPE_TFRECORD")
class TableCommand(CommandTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "rows.tfrecord"
        rp.write_tfrecords(self.source, ({"id": i, "name": f"row {i}"} for i in range(1000)))

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
        region = r"tfrecord export: rows.tfrecord: skipped \[\d+, \d+\), \d+ bytes: data CRC.*\n"
        total = r"tfrecord export: skipped 1 damaged region of \d+ bytes"
        self.assertRegex(said, f"^{region}{total}\nwrote 999 records to x.parquet\n$")
        said = self.run_it(
            *("export", "rows.tfrecord", "--to", "parquet", "--to-dir", "out", "--skip-corrupt")
        )
        self.assertRegex(said, f"^{region}{total} in all\nwrote 999 records, .* in out\n$")
        said = self.run_it(
            *("export", "rows.tfrecord", "--to", "parquet", "--to-dir", "out"), status=2
        )
        self.assertRegex(said, "^tfrecord export: .*rows.tfrecord: .*CRC.*--skip-corrupt skips")
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

    def test_keep_going(self):
        rp.write_tfrecords(self.folder / "text.tfrecord", [{"id": b"text"}])
        (self.folder / "no.tfrecord").write_bytes(b"no records" * 100)
        files = ["rows.tfrecord", "text.tfrecord", "no.tfrecord", "missing"]
        said = self.run_it(
            *("export", *files, "--to", "arrow", "--to-dir", "out", "--keep-going"), status=2
        )
        words = "text.tfrecord: feature 'id' is bytes here, and int64 in rows.tfrecord: no column"
        self.assertRegex(said, f"tfrecord export: {words} holds both \\(leave it out, or select")
        self.assertRegex(said, "tfrecord export: no.tfrecord: .*probably not a TFRecord file")
        self.assertRegex(said, "tfrecord export: missing: no such file")
        self.assertRegex(said, "wrote 1,000 records, .*, to 1 file in out; 3 failed\n")
        said = self.run_it("export", *files[:2], "-o", "x.parquet", status=2)
        self.assertRegex(said, f"^tfrecord export: {words}")

    def test_damage_of_outputs_that_are_there_is_not_reported_again(self):
        content = bytearray(self.source.read_bytes())
        content[-1] ^= 1
        self.source.write_bytes(content)
        export = ("export", "rows.tfrecord", "--to", "arrow", "--to-dir", "out", "--skip-corrupt")
        self.assertIn("rows.tfrecord: skipped [", self.run_it(*export))
        said = self.run_it(*export, "--resume")
        self.assertRegex(
            said, "^tfrecord export: skipped 1 damaged region .*\nwrote .*; 1 there already\n$"
        )

    def test_tables_to_a_folder(self):
        self.run_it("export", "rows.tfrecord", "-o", "a.parquet")
        self.run_it("export", "rows.tfrecord", "-o", "b.arrow")
        said = self.run_it("create", "a.parquet", "--to-dir", "out", "--compression", "gzip")
        self.assertRegex(said, "^wrote 1,000 records, .*, to 1 file in out\n$")
        back = rp.tfrecords(self.folder / "out/a.tfrecord.gz")
        self.assertEqual(list(back), list(rp.tfrecords(self.source)))
        said = self.run_it(
            *("create", "a.parquet", "--to-dir", "out", "--compression", "gzip", "--resume")
        )
        self.assertRegex(said, "to 1 file in out; 1 there already\n$")

    def test_temporary_folders_that_are_missing(self):
        command = ["export", "rows.tfrecord", "-o", "x.parquet", "--where", "id > 1"]
        said = self.run_it(*command, "--tmp-dir", "none", status=2)
        self.assertRegex(said, "^tfrecord export: none: temporary files can't be made .*--tmp-dir")

    def test_what_a_folder_leaves_out_is_said_once(self):
        for name in "empty", "full":
            (self.folder / "in" / name).mkdir(parents=True)
        for name in ("x.tfrecord", "other.bin", "left.bin"):
            shutil.copy(self.source, self.folder / "in/full" / name)
        said = self.run_it(
            *("export", "in/*/", "in/empty/../full/other.bin", "--recursive"),
            *("--to", "arrow", "--to-dir", "out"),
        )
        words = "tfrecord: left out 1 file of a folder, in/full/left.bin: "
        self.assertRegex(said, f"^{words}.*\nwrote 2,000 records.*\n$")

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


@unittest.skipUnless(TFRECORD, "no tfrecord command: set RECORDPIPE_TFRECORD")
class Stores(CommandTest, StoreTest):
    def test_damaged_shards_become_one_table(self):
        for shard in range(20):
            path = self.folder / f"rows-{shard:05}-of-00020"
            rp.write_tfrecords(path, ({"id": 50 * shard + i} for i in range(50)))
            content = path.read_bytes()
            self.server.put(path.name, content[:-1] if shard % 5 == 0 else content)
        command = "export", f"{self.url}/rows-*", "-o", "x.parquet", "--skip-corrupt"
        self.assertRegex(self.run_it(*command), "in 4 files\nwrote 996 records to x.parquet\n$")
        lost = {50 * shard + 49 for shard in (0, 5, 10, 15)}
        found = pq.read_table(self.folder / "x.parquet")["id"].to_pylist()
        self.assertEqual(found, [i for i in range(1000) if i not in lost])


if __name__ == "__main__":
    unittest.main()
