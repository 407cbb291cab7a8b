#!/usr/bin/env python3
"""Tests tfrecord convert to shards in round-robin order, to splits, and --dry-run."""
import gzip
import json
import resource
import unittest

from tfrecord_convert_case import PAYLOADS, ConvertTest, payloads_of, record
from tfrecord_test_case import named_example


class RoundRobin(ConvertTest):
    def shards(self, count, read=bytes):
        return [payloads_of(read(self.read(f"s-{i:05}-of-{count:05}"))) for i in range(count)]

    def test_standard_input_needs_no_count(self):
        self.convert("-", "-o", "s", "--shards", 2, "--shards-by", "round-robin",
                     input=self.plain)
        self.assertEqual(self.shards(2), [PAYLOADS[0::2], PAYLOADS[1::2]])

    def test_compressed_and_more_files_than_may_be_open(self):
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
        outputs = set()
        for threads in (1, 2, 4):
            self.convert("a", "-o", "s", "--shards", 100, "--shards-by", "round-robin",
                         "--compression", "gzip", "--threads", threads, preexec_fn=few_files)
            self.assertEqual(self.shards(100, gzip.decompress),
                             [PAYLOADS[i::100] for i in range(100)])
            outputs.add(b"".join(self.read(f"s-{i:05}-of-00100") for i in range(100)))
        self.assertEqual(len(outputs), 1)

    def test_blocks_of_all_shards_in_flight(self):
        big = [bytes([i % 7]) * 100_000 for i in range(60)]
        (self.folder / "big").write_bytes(b"".join(map(record, big)))
        outputs = set()
        for threads in (1, 3):
            self.convert("big", "-o", "s", "--shards", 4, "--shards-by", "round-robin",
                         "--compression", "gzip", "--threads", threads)
            self.assertEqual(self.shards(4, gzip.decompress), [big[i::4] for i in range(4)])
            outputs.add(b"".join(self.read(f"s-{i:05}-of-00004") for i in range(4)))
        self.assertEqual(len(outputs), 1)

    def test_create(self):
        (self.folder / "j.jsonl").write_text("".join(f'{{"n": {i}}}\n' for i in range(5)))
        self.run_it("create", "j.jsonl", "-o", "one")
        self.run_it("create", "j.jsonl", "-o", "s", "--shards", 2, "--shards-by",
                    "round-robin")
        one = payloads_of(self.read("one"))
        self.assertEqual(self.shards(2), [one[0::2], one[1::2]])


class Splits(ConvertTest):
    def setUp(self):
        super().setUp()
        self.examples = [named_example({"id": [i], "user": [f"u{i % 23}"]}) for i in range(500)]
        self.write("e", *self.examples)

    def split(self, *arguments, out="s", names=("train", "val"), **options):
        """Returns the records of each split."""
        self.convert(*arguments, "-o", out, "--split", "train=0.7,val=0.3", **options)
        return {name: payloads_of(self.read(f"{out}-{name}")) for name in names}

    def test_drawn(self):
        found = {json.dumps({k: [p.hex() for p in v] for k, v in self.split(
            "e", "--threads", threads).items()}) for threads in (1, 2, 4)}
        self.assertEqual(len(found), 1)
        splits = self.split("e")
        self.assertEqual(sorted(splits["train"] + splits["val"]), sorted(self.examples))
        self.assertTrue(300 < len(splits["train"]) < 400, len(splits["train"]))
        # In the order of the input.
        self.assertEqual(splits["val"], [one for one in self.examples if one in splits["val"]])
        self.assertNotEqual(self.split("e", "--seed", 1), splits)

    def test_stays_when_other_files_come_and_the_file_is_compressed_or_moved(self):
        splits = self.split("e")
        self.write("0", *PAYLOADS)
        both = self.split("0", "e")
        for name, records in splits.items():
            self.assertEqual(both[name][-len(records):], records)
        (self.folder / "d").mkdir()
        (self.folder / "d" / "e.gz").write_bytes(gzip.compress(self.read("e")))
        self.assertEqual(self.split("d/e.gz"), splits)
        # A selection draws the same for those that it takes.
        some = self.split("e", "--where", "id < 100")
        self.assertEqual(some["val"], [one for one in splits["val"] if one in self.examples[:100]])

    def test_shards_of_each_split(self):
        splits = self.split("e")
        for order in ("blocks", "round-robin"):
            for more in ((), ("--split-by", "id"), ("--shuffle",), ("--sample", "0.5")):
                said = json.loads(self.convert(
                    "e", "-o", "x.tfrecord", "--split", "train=0.7,val=0.3", "--shards", 3,
                    "--shards-by", order, "--json", *more))
                self.assertEqual(
                    [(file["split"], file["path"]) for file in said["files"]],
                    [(name, f"x-{name}.tfrecord-0000{i}-of-00003")
                     for name in ("train", "val") for i in range(3)])
                for name in ("train", "val"):
                    counts = [f["records"] for f in said["files"] if f["split"] == name]
                    self.assertLessEqual(max(counts) - min(counts), 1, (order, more))
                    shards = [payloads_of(self.read(f"x-{name}.tfrecord-0000{i}-of-00003"))
                              for i in range(3)]
                    if not more and order == "blocks":
                        self.assertEqual(sum(shards, []), splits[name])
                    elif not more:
                        self.assertEqual(shards, [splits[name][i::3] for i in range(3)])
                    elif more == ("--shuffle",):
                        self.assertEqual(sorted(sum(shards, [])), sorted(splits[name]))

    def test_max_bytes(self):
        self.convert("e", "-o", "x.gz", "--split", "a=0.5,b=0.5", "--max-bytes", 5000)
        for name in "ab":
            files = [one for one in self.names() if one.startswith(f"x-{name}.gz-")]
            self.assertGreater(len(files), 1)
            self.assertTrue(files[0].endswith(f"-of-{len(files):05}"))

    def test_names(self):
        (self.folder / "f").mkdir()
        for out, name in (("x", "x-train"), ("x.tfrecord", "x-train.tfrecord"),
                          ("x.tfrecords.gz", "x-train.tfrecords.gz"), ("x.v2", "x.v2-train"),
                          ("f/", "f/train"), (".tfrecord", ".tfrecord-train")):
            self.convert("e", "-o", out, "--split", "train=0.9,val=0.1")
            self.assertTrue((self.folder / name).exists(), out)

    def test_a_folder_is_no_beginning_of_names(self):
        (self.folder / "f").mkdir()
        before = self.names()
        for arguments in (["-o", ".", "--split", "a=1"], ["-o", "f/..", "--split", "a=1"],
                          ["-o", ".", "--shards", 2], ["-o", "f/", "--shards", 2],
                          ["-o", "f/.", "--max-bytes", 1000]):
            self.expect_failure("the name of a folder, where", "convert", "e", *arguments, status=2)
        self.assertEqual(self.names(), before)
        self.convert("e", "-o", "f/", "--split", "a=1", "--shards", 2)
        self.assertTrue((self.folder / "f/a-00001-of-00002").exists())

    def test_files_of_equal_names(self):
        (self.folder / "d").mkdir()
        (self.folder / "d" / "e.gz").write_bytes(gzip.compress(self.read("e")))
        self.expect_failure("has the same name as", "convert", "e", "d/e.gz", "-o", "s",
                            "--split", "x=0.5,y=0.5")
        self.convert("e", "d/e.gz", "-o", "s", "--split", "x=0.5,y=0.5", "--split-by", "id")

    def test_usage(self):
        for words, split in (("two splits have the name a", "a=0.5,a=0.5"),
                             ("NAME=FRACTION", "a"), ("NAME=FRACTION", "a=x"),
                             ("NAME=FRACTION", "a=0.5x,b=0.5")):
            self.expect_failure(words, "convert", "e", "-o", "s", "--split", split, status=2)
        for words, arguments in (
                ("belongs to --split", ["-o", "s", "--split-by", "id"]),
                ("belongs to --shards", ["-o", "s", "--shards-by", "blocks"]),
                ("can't be split", ["-o", "-", "--split", "a=1"]),
                ("need -o", ["--to-dir", "d", "--split", "a=1"])):
            self.expect_failure(words, "convert", "e", *arguments, status=2)
        self.convert("e", "-o", "s", "--split", "a=0.3333333,b=0.3333333,c=0.3333333",
                     "--sample-count", 10)
        self.assertEqual(self.names(), ["a", "e", "s-a", "s-b", "s-c"])


class DryRun(ConvertTest):
    def plan(self, *arguments, **options):
        before = self.names()
        plan = json.loads(self.convert(*arguments, "--dry-run", "--json", **options))
        self.assertEqual(self.names(), before)
        return plan

    def test_an_index_has_the_number_of_records(self):
        self.run_it("index", "a")
        self.assertEqual(self.plan("a", "-o", "s", "--shards", 2),
                         {"inputs": 1, "bytes": len(self.plain), "records": 303, "read_twice": [],
                          "outputs": ["s-00000-of-00002", "s-00001-of-00002"]})

    def test_outputs(self):
        self.assertEqual(self.plan("a", "--to-dir", "d", "--compression", "gzip")["outputs"],
                         ["d/a.gz"])
        self.assertEqual(self.plan("-", "-o", "s", input=b"")["bytes"], None)

    def test_as_text(self):
        (self.folder / "b.gz").write_bytes(gzip.compress(self.plain))
        self.assertEqual(self.convert("b.gz", "-o", "s", "--shards", 3, "--dry-run").splitlines(),
                         [f"would read 1 file, {len(self.read('b.gz')):,} bytes, an unknown number "
                          "of records",
                          "1 of them twice, first to count records: b.gz",
                          "would write 3 files, s-00000-of-00003 to s-00002-of-00003"])
        self.assertIn("1 of them twice, unless few records are selected: b.gz",
                      self.convert("b.gz", "-o", "s", "--shards", 3, "--where", "label == 3",
                                   "--dry-run"))

    def test_missing_input(self):
        self.expect_failure("missing", "convert", "missing", "-o", "s", "--dry-run")


if __name__ == "__main__":
    unittest.main()
