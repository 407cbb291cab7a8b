"""Tests s3:// paths with moto, an independent implementation of S3, which checks signatures with
botocore, the library of the AWS tools.

Runs alone: RECORDPIPE_TFRECORD=PROGRAM PYTHON tests/interop/object_store_test.py
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

import boto3

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from tfrecord_test_case import TfrecordTest, named_example, record  # noqa: E402

# Not "../a" and the like: moto's own server (werkzeug) changes such paths.
KEYS = ["a", "dir/b", "a b", "a+b", "a?b=c", "a#b", "a&b=c;d", "a:b@c", "ü/€", "a~b-c_d.e",
        "'()!*,$", "a%41", "[x]{y}"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ObjectStores(TfrecordTest):
    @classmethod
    def setUpClass(cls):
        cls.url = f"http://127.0.0.1:{free_port()}"
        port = cls.url.rpartition(":")[2]
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
        cls.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        for _ in range(300):
            try:
                urllib.request.urlopen(cls.url + "/moto-api/")
                break
            except OSError:
                time.sleep(0.1)
        keys = cls.administrator()
        cls.s3 = boto3.client("s3", **keys)
        cls.s3.create_bucket(Bucket="bucket")
        cls.s3.create_bucket(Bucket="dotted.bucket")
        cls.environment = {"PATH": os.environ["PATH"], "no_proxy": "*", "AWS_ENDPOINT_URL": cls.url,
                           "AWS_EC2_METADATA_DISABLED": "true",
                           "AWS_ACCESS_KEY_ID": keys["aws_access_key_id"],
                           "AWS_SECRET_ACCESS_KEY": keys["aws_secret_access_key"]}
        cls.require_signatures(0)

    @classmethod
    def stop(cls):
        cls.process.terminate()
        cls.process.wait()

    @classmethod
    def administrator(cls):
        iam = boto3.client("iam", endpoint_url=cls.url, region_name="us-east-1",
                           aws_access_key_id="x", aws_secret_access_key="x")
        iam.create_user(UserName="user")
        policy = {"Version": "2012-10-17",
                  "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        iam.put_user_policy(UserName="user", PolicyName="p", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName="user")["AccessKey"]
        return {"endpoint_url": cls.url, "region_name": "us-east-1",
                "aws_access_key_id": key["AccessKeyId"],
                "aws_secret_access_key": key["SecretAccessKey"]}

    @classmethod
    def require_signatures(cls, after):
        """Moto checks all requests after so many."""
        urllib.request.urlopen(urllib.request.Request(
            cls.url + "/moto-api/reset-auth", data=str(after).encode(),
            headers={"Content-Type": "text/plain"}))

    def start(self, *arguments, **options):
        environment = {**self.environment, "HOME": str(self.folder)}
        return super().start(*arguments, env=environment, **options)

    def put(self, key, numbers, bucket="bucket"):
        data = b"".join(record(named_example({"n": [number]})) for number in numbers)
        self.s3.put_object(Bucket=bucket, Key=key, Body=data)
        return data

    def test_objects_of_all_names(self):
        for key in KEYS:
            with self.subTest(key):
                data = self.put(key, range(5))
                self.run_it("convert", "s3://bucket/" + key, "-o", f"out{KEYS.index(key)}")
                self.assertEqual((self.folder / f"out{KEYS.index(key)}").read_bytes(), data)

    def test_ranges(self):
        self.put("long", range(20000))
        shown = self.run_it("show", "--json", "--record", "19999", "s3://bucket/long")
        self.assertIn("19999", shown)

    def test_empty_objects(self):
        self.put("empty", [])
        found, = self.json("info", "--json", "s3://bucket/empty")
        self.assertEqual(found["records"], 0)

    def test_buckets_with_dots(self):
        self.put("a", range(3), "dotted.bucket")
        found, = self.json("verify", "--json", "s3://dotted.bucket/a")
        self.assertEqual(found["records"], 3)

    def test_more_than_a_page(self):
        for i in range(1100):
            self.s3.put_object(Bucket="bucket", Key=f"many/train-{i:04}", Body=b"")
        self.put("many/train-x y+z", range(3))
        self.put("many/other", range(3))
        # The last one is that of all files.
        *found, _ = self.json("info", "--json", "s3://bucket/many/train-*")
        self.assertEqual([one["path"] for one in found],
                         [f"s3://bucket/many/train-{i:04}" for i in range(1100)]
                         + ["s3://bucket/many/train-x y+z"])

    def read(self, key):
        return self.s3.get_object(Bucket="bucket", Key=key)["Body"].read()

    def test_what_is_written_is_read_again(self):
        data = b"".join(record(named_example({"n": [i]})) for i in range(100))
        (self.folder / "small").write_bytes(data)
        for key in KEYS:
            with self.subTest(key):
                self.run_it("convert", "small", "-o", "s3://bucket/written/" + key)
                self.assertEqual(self.read("written/" + key), data)
        self.run_it("convert", "small", "--shards", "3", "-o", "s3://bucket/shards/out")
        *found, total = self.json("info", "--json", "s3://bucket/shards/")
        self.assertEqual(([one["records"] for one in found], total["records"]),
                         ([33, 33, 34], 100))

    def test_objects_in_parts(self):
        one = record(bytes(1 << 20))
        data = one * 40  # three parts
        (self.folder / "large").write_bytes(data)
        self.run_it("convert", "large", "-o", "s3://bucket/large a+b")
        self.assertEqual(self.read("large a+b") == data, True)
        head = self.s3.head_object(Bucket="bucket", Key="large a+b")
        self.assertTrue(head["ETag"].endswith('-3"'), head["ETag"])
        self.run_it("verify", "s3://bucket/large a+b")
        (self.folder / "cut").write_bytes(data[:-1])
        self.run_it("convert", "cut", "-o", "s3://bucket/cut", status=2)
        self.assertNotIn("Uploads", self.s3.list_multipart_uploads(Bucket="bucket"))

    def test_a_folder_of_files(self):
        for i in range(3):
            (self.folder / f"in-{i}").write_bytes(record(named_example({"n": [i]})) * 10)
        self.run_it("convert", "in-0", "in-1", "in-2", "--to-dir", "s3://bucket/folder")
        listed = self.s3.list_objects_v2(Bucket="bucket", Prefix="folder/")["Contents"]
        self.assertEqual([one["Key"] for one in listed],
                         ["folder/in-0", "folder/in-1", "folder/in-2", "folder/manifest.jsonl"])
        self.run_it("verify", "--manifest", "s3://bucket/folder/manifest.jsonl")

    def test_refusals(self):
        self.expect_failure("S3 answered 404, NoSuchKey", "verify", "s3://bucket/none")
        self.expect_failure("S3 answered 404, NoSuchBucket", "verify", "s3://nobucket/none")

    # Shows that moto checks the signatures of the other tests.
    def test_wrong_signatures_are_refused(self):
        self.put("a", range(3))
        right = self.environment
        self.environment = {**right, "AWS_SECRET_ACCESS_KEY": "wrong"}
        self.expect_failure("SignatureDoesNotMatch", "verify", "s3://bucket/a")
        self.environment = right
        self.run_it("verify", "s3://bucket/a")


if __name__ == "__main__":
    unittest.main()
