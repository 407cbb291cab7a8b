"""The toolkit's functions find, write and refuse what the tfrecord command does.

RECORDPIPE_TFRECORD is the command (default: tfrecord of PATH). Without one, the tests are skipped.
"""

import dataclasses
import gzip
import json
import os
import shutil
import unittest

import recordpipe as rp
import records
from support import FilesTest, example_values, run_program

TFRECORD = os.environ.get("RECORDPIPE_TFRECORD") or shutil.which("tfrecord")


@unittest.skipUnless(TFRECORD, "no tfrecord command: set RECORDPIPE_TFRECORD")
class Command(FilesTest):
    def setUp(self):
        super().setUp()
        examples = [records.example(example_values(i)) for i in range(3000)]
        self.paths = [
            records.write(self.folder / "a", examples[:2000]),
            records.write(self.folder / "b", examples[2000:]),
        ]
        self.zipped = self.folder / "c.gz"
        self.zipped.write_bytes(gzip.compress(self.paths[1].read_bytes()))
        data = bytearray(self.paths[0].read_bytes())
        data[1000] ^= 1
        data[90_000:91_000] = bytes(1000)
        self.damaged = self.folder / "damaged"
        self.damaged.write_bytes(data[:-1])

    def run_it(self, *arguments):
        done = run_program([TFRECORD, *arguments])
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def objects(self, *arguments):
        return [json.loads(line) for line in self.run_it(*arguments, "--json").splitlines()]

    def test_info(self):
        paths = [*self.paths, self.zipped, self.damaged]
        *files, total = self.objects("info", *paths)
        info = rp.info(paths)
        for found, expected in zip([*info, info], [*files, total], strict=True):
            self.assertEqual(found.records, expected["records"])
            self.assertEqual(found.bytes, expected["bytes"])
            self.assertEqual(found.content_bytes, expected["content_bytes"])
            sizes = dataclasses.asdict(found.record_sizes)
            self.assertTrue(sizes.pop("median_is_exact"))
            self.assertEqual(sizes, expected["record_sizes"])
            self.assertEqual(found.sample.kind, expected["kind"])
            self.assertEqual(found.sample.records, expected["sampled_records"])
            self.assertEqual(list(found.sample.fields), list(expected["features"]))
        for found, expected in zip(info, files, strict=True):
            self.assertEqual(found.path, expected["path"])
            self.assertEqual(found.compression, expected["compression"])
            self.assertEqual(found.error is None, "error" not in expected)

    def test_verify_and_salvage(self):
        paths = [*self.paths, self.zipped, self.damaged]
        expected = self.objects("verify", *paths)
        report = rp.verify(paths)
        saved = rp.salvage(paths, self.folder / "saved")
        for files in (report, saved):
            for file, one in zip(files, expected, strict=True):
                regions = one.pop("regions")
                found = dataclasses.asdict(file)
                self.assertEqual({name: found[name] for name in one}, one)
                self.assertEqual(
                    [{name: region[name] for name in regions[0]} for region in found["regions"]],
                    regions,
                )
                one["regions"] = regions
        self.run_it("salvage", *paths, "-o", self.folder / "expected")
        self.assertEqual(
            (self.folder / "saved").read_bytes(), (self.folder / "expected").read_bytes()
        )

    def test_schema(self):
        (expected,) = self.objects("schema", *self.paths)
        schema = rp.schema(self.paths)
        self.assertEqual(schema.records, expected["records"])
        self.assertEqual(schema.kinds, expected["kinds"])
        for name, one in expected["features"].items():
            found = schema.fields[name]
            self.assertEqual((found.kind, found.share), (one["kind"], one["share"]))
        self.assertEqual(schema.python, self.run_it("schema", "--python", *self.paths))
        self.assertEqual(schema.tensorflow, self.run_it("schema", "--tensorflow", *self.paths))
        names = {}
        exec(schema.python, names)  # as one who pastes it
        self.assertEqual(names["features"], schema.features())
        self.assertEqual(schema.cpp, self.run_it("schema", "--cpp", *self.paths))

    def test_stats(self):
        (expected,) = self.objects("stats", *self.paths, "--where", "id > 5")
        stats = rp.stats(self.paths, where="id > 5", threads=1)
        self.assertEqual(list(stats.features), list(expected["features"]))
        box = expected["features"]["box"]["float"]
        found = stats["box"].float
        self.assertEqual((found.mean, found.sd), (box["mean"], box["sd"]))
        self.assertEqual(
            found.quantiles, {float(place): value for place, value in box["quantiles"].items()}
        )

    def test_index(self):
        self.run_it("index", self.paths[0], "-o", self.folder / "x")
        rp.index(self.paths[0], self.folder / "y")
        self.assertEqual((self.folder / "x").read_bytes(), (self.folder / "y").read_bytes())

    def test_convert(self):
        for number, (arguments, options) in enumerate(
            (
                (["--compression", "gzip"], {"compression": "gzip"}),
                (
                    ["--shards=3", "--shuffle", "--seed=7"],
                    {"shards": 3, "shuffle": True, "seed": 7},
                ),
                (["--sample-count=7"], {"sample_count": 7}),
                (["--sample=0.3", "--limit=50"], {"sample": 0.3, "limit": 50}),
                (["--max-bytes=50000", "--drop=box"], {"max_bytes": 50_000, "drop": "box"}),
                (["--where=id > 5", "--rename=id=nr"], {"where": "id > 5", "rename": {"id": "nr"}}),
            )
        ):
            with self.subTest(arguments):
                ours = self.folder / f"ours{number}"
                theirs = self.folder / f"theirs{number}"
                found = rp.convert(self.paths, ours, **options)
                (expected,) = self.objects("convert", *self.paths, "-o", theirs, *arguments)
                self.assertEqual(len(found.files), len(expected["files"]))
                for file, one in zip(found.files, expected["files"], strict=True):
                    self.assertEqual((file.records, file.bytes), (one["records"], one["bytes"]))
                    with open(file.path, "rb") as a, open(one["path"], "rb") as b:
                        self.assertEqual(a.read(), b.read())


if __name__ == "__main__":
    unittest.main()
