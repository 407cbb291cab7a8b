"""Objects of a store with the interface of S3, on a cluster: the steps of docs/scale.md."""

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import unittest

import boto3
import ray
import recordpipe as rp
import recordpipe.ray as rpr
from moto.server import ThreadedMotoServer
from ray_test_case import RayTest

SECRET = "topsecretkey"


class Store(RayTest):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("werkzeug").disabled = True
        with contextlib.redirect_stdout(io.StringIO()):
            cls.server = ThreadedMotoServer(port=0)
            cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        endpoint = f"http://127.0.0.1:{cls.server.get_host_and_port()[1]}"
        # Ray's workers inherit them.
        os.environ |= {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "keyid",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
        }
        cls.client = boto3.client("s3", endpoint_url=endpoint)
        cls.client.create_bucket(Bucket="bucket")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.url = f"s3://bucket/{self.id().rpartition('.')[2]}"

    def make(self, counts):
        first = 0
        for i, count in enumerate(counts):
            rows = [{"id": j, "data": b"%d" % j} for j in range(first, first + count)]
            rp.write_tfrecords(f"{self.url}/raw/train-{i:05}-of-{len(counts):05}", rows)
            first += count

    def keys(self, folder):
        prefix = f"{self.url}/{folder}/".removeprefix("s3://bucket/")
        found = self.client.list_objects_v2(Bucket="bucket", Prefix=prefix)
        return [entry["Key"].removeprefix(prefix) for entry in found.get("Contents", [])]

    def command(self, *arguments, status=0):
        code = "import recordpipe_programs; recordpipe_programs.tfrecord()"
        environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
        done = subprocess.run(
            [sys.executable, "-B", "-c", code, "--ray", "auto", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
            timeout=120,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        return done.stdout

    def test_commands(self):
        self.make([30, 20, 10])
        raw, fixed, train = (f"{self.url}/{name}" for name in ("raw", "fixed", "train"))
        facts = rp.info(f"{raw}/train-*")
        self.assertEqual((len(facts), facts.records), (3, 60))
        examples = rp.tfrecords(f"{raw}/train-00000-of-00003").parse().take(3)
        self.assertEqual([int(example["id"]) for example in examples], [0, 1, 2])
        key = f"{raw}/train-00001-of-00003".removeprefix("s3://bucket/")
        data = bytearray(self.client.get_object(Bucket="bucket", Key=key)["Body"].read())
        data[30] ^= 1
        self.client.put_object(Bucket="bucket", Key=key, Body=bytes(data))
        lines = self.command("verify", "--json", f"{raw}/train-*", status=1).splitlines()
        self.assertEqual([json.loads(line)["records"] for line in lines], [30, 19, 10])
        self.command("salvage", f"{raw}/train-*", "--to-dir", fixed, "--keep-going")
        convert = ("convert", f"{fixed}/", "--to-dir", train, "--compression", "zstd", "--resume")
        self.command(*convert)
        names = [f"train-{i:05}-of-00003.zst" for i in range(3)]
        self.assertEqual(self.keys("train"), ["manifest.jsonl", *names])
        report = rp.verify_manifest(f"{train}/manifest.jsonl", executor=rpr.Executor())
        self.assertTrue(report.intact, report.differing)
        lines = self.command(*convert, "--json").splitlines()
        self.assertEqual([json.loads(line)["was_there"] for line in lines], [True] * 3)
        self.assertEqual(len(list(rp.tfrecords(f"{train}/"))), 59)
        found = json.loads(self.command("stats", "--json", f"{fixed}/train-*"))
        self.assertEqual(found["features"]["id"]["int64"]["count"], 59)

    def test_rows(self):
        self.make([30, 20, 0, 10])
        rows = rpr.read_tfrecords(f"{self.url}/raw/train-*")
        self.assertEqual(sorted(row["id"] for row in rows.take_all()), list(range(60)))
        paths = rpr.write_tfrecords(
            rows.filter(lambda row: row["id"] % 2 == 0), f"{self.url}/even/"
        )
        self.assertEqual([f"{self.url}/even/{key}" for key in self.keys("even")], paths)
        features = {"id": rp.FixedLenFeature([], "int64")}
        even = [int(row["id"]) for row in rp.tfrecords(f"{self.url}/even/").parse(features)]
        self.assertEqual(sorted(even), list(range(0, 60, 2)))
        with self.assertRaisesRegex(rp.AlreadyExistsError, "even/part-"):
            rpr.write_tfrecords(rows, f"{self.url}/even")

    def test_a_failed_job_leaves_nothing(self):
        def fail(row):
            if row["id"] == 90:
                raise ValueError("bad luck")
            return row

        rows = ray.data.range(100, override_num_blocks=10).map(fail)
        with self.assertRaisesRegex(Exception, "bad luck"):
            rpr.write_tfrecords(rows, f"{self.url}/out")
        self.assertEqual(self.keys("out"), [])

    def test_global_shuffle(self):
        self.make([300, 200])
        here = self.folder / "shuffled" / "train"
        there = f"{self.url}/shuffled/train"
        pattern = f"{self.url}/raw/train-*"
        ours = rpr.global_shuffle(pattern, there, shards=3, seed=7)
        theirs = rpr.global_shuffle(pattern, here, shards=3, seed=7)
        self.assertEqual(ours.records, theirs.records)
        self.assertEqual(sum(ours.records), 500)
        for a, b in zip(ours.paths, theirs.paths, strict=True):
            self.assertEqual(list(rp.tfrecords(a)), list(rp.tfrecords(b)))


if __name__ == "__main__":
    unittest.main()
