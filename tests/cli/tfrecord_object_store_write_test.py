#!/usr/bin/env python3
"""Tests s3:// and gs:// paths of a local server as outputs of tfrecord's subcommands.

An object appears whole or not at all, and nothing of an upload stays. Every credential has "s3cr3t"
in it, and no output may have.
"""
import functools
import hashlib
import signal
import subprocess
import time
import unittest

from object_store_server import Keys
from tfrecord_object_store_case import ObjectStoreTest, rows
from tfrecord_test_case import PROGRAM, record

PART = 16 << 20


@functools.cache
def large(parts):
    """A file of so many parts, the last of which is short."""
    some = [record(bytes([i]) * (1 << 16)) for i in range(8)]  # slow in Python
    return b"".join(some[i * i % 7] for i in range((parts - 1) * (PART >> 16))) + some[7]


class WritingTest(ObjectStoreTest):
    def setUp(self):
        super().setUp()
        self.small = rows(0, 300)
        (self.folder / "small").write_bytes(self.small)

    def make_large(self, parts=3):
        data = large(parts)
        (self.folder / "large").write_bytes(data)
        return data

    def write_methods(self):
        """The requests that write, in short."""
        names = []
        for method, path in self.server.methods:
            _, _, query = path.partition("?")
            if method != "GET":
                names.append(method + (" part" if "partNumber" in query else
                                       " begin" if query.startswith("uploads") else
                                       " upload" if "uploadId" in query else ""))
        return names

    def fail_when(self, word, failure, times=1, method=None):
        """`failure` happens to the next requests whose address has `word`."""
        left = [times]

        def wanted(used, path):
            if left[0] and word in path and method in (None, used):
                left[0] -= 1
                return failure
            return None
        self.server.wanted_failure = wanted


class Uploads(WritingTest):
    def test_small_objects_take_one_request(self):
        self.run_it("convert", "small", "-o", "s3://bucket/dir/out put?.tfrecords")
        self.assertEqual(self.objects, {"dir/out put?.tfrecords": self.small})
        self.assertEqual(self.write_methods(), ["PUT"])
        self.assertEqual(len(self.server.methods), 2)  # one looks whether it is new

    def test_empty_objects(self):
        (self.folder / "empty").write_bytes(b"")
        self.run_it("convert", "empty", "-o", "s3://bucket/a")
        self.assertEqual(self.objects, {"a": b""})

    def test_large_objects_are_written_in_parts(self):
        data = self.make_large()
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)
        self.assertEqual(sorted(self.write_methods()),
                         ["POST begin", "POST upload"] + ["PUT part"] * 3)
        self.assertEqual(self.server.uploads, {})

    def test_all_commands_write(self):
        self.run_it("salvage", "small", "-o", "s3://bucket/salvaged")
        self.run_it("index", "small", "-o", "s3://bucket/small.idx")
        self.run_it("cat", "small", "small", "-o", "s3://bucket/cat")
        self.run_it("export", "--to", "json", "small", "-o", "s3://bucket/text")
        self.assertEqual(self.objects["salvaged"], self.small)
        self.assertEqual(self.objects["cat"], 2 * self.small)
        self.assertEqual(self.objects["text"].count(b"\n"), 300)
        self.objects["small"] = self.small
        local = self.objects.pop("small.idx")
        self.run_it("index", "s3://bucket/small")
        self.assertEqual(self.objects["small.idx"], local)
        self.assertEqual(self.json("info", "--json", "s3://bucket/small")[0]["indexed"], True)

    def test_shards(self):
        self.objects["out-00000-of-00004"] = b"old"
        self.run_it("convert", "small", "--shuffle", "--shards", "4", "-o", "s3://bucket/out",
                    "--compression", "gzip")
        self.assertEqual(sorted(self.objects), [f"out-{i:05}-of-00004" for i in range(4)])
        self.assertEqual(self.count("s3://bucket/out-00000-of-00004"), 75)
        self.assertEqual(self.server.uploads, {})

    def test_shards_and_splits_that_are_written_at_once(self):
        self.run_it("convert", "small", "--shards", "20", "--shards-by", "round-robin",
                    "--split", "train=0.5", "--split", "rest=0.5", "-o", "s3://bucket/out")
        self.run_it("convert", "small", "--shards", "20", "--shards-by", "round-robin",
                    "--split", "train=0.5", "--split", "rest=0.5", "-o", "out")
        local = {path.name: path.read_bytes() for path in self.folder.glob("out*-of-*")}
        self.assertEqual(len(local), 40)
        self.assertEqual(self.objects, local)
        self.assertEqual(self.server.uploads, {})

    def test_from_object_to_object(self):
        self.objects["a"] = self.small
        self.run_it("convert", "s3://bucket/a", "-o", "s3://bucket/b")
        self.assertEqual(self.objects["b"], self.small)

    def test_a_folder_of_files(self):
        (self.folder / "b").write_bytes(rows(0, 3))
        self.run_it("convert", "small", "b", "--to-dir", "s3://bucket/out")
        self.assertEqual(self.objects["out/small"], self.small)
        self.assertEqual(sorted(self.objects), ["out/b", "out/manifest.jsonl", "out/small"])
        self.run_it("verify", "--manifest", "s3://bucket/out/manifest.jsonl")
        # A slash at the end is no part of a key.
        names = sorted(self.objects)
        result = self.start("convert", "small", "b", "--to-dir", "s3://bucket/out/", "--resume")
        self.assertIn(b"2 there already", result.stderr)
        self.run_it("salvage", "b", "--to-dir", "s3://bucket/")
        self.assertEqual(sorted(self.objects), sorted([*names, "b", "manifest.jsonl"]))

    def test_a_folder_of_files_resumes(self):
        (self.folder / "b").write_bytes(rows(0, 3))
        self.fail_when("/bucket/out/small", {"status": 403, "code": "AccessDenied"}, times=9,
                       method="PUT")
        self.run_it("convert", "small", "b", "--to-dir", "s3://bucket/out", "--keep-going",
                    status=2)
        self.assertIn("out/b", self.objects)
        self.assertNotIn("out/small", self.objects)
        self.server.wanted_failure = lambda *_: None
        self.server.methods.clear()
        found = self.json("convert", "small", "b", "--to-dir", "s3://bucket/out", "--resume",
                          "--json")
        self.assertEqual([one["was_there"] for one in found], [False, True])
        self.assertNotIn(("PUT", "/bucket/out/b"), self.server.methods)
        self.assertEqual(sorted(self.objects), ["out/b", "out/manifest.jsonl", "out/small"])

    def test_services_without_checksums_of_parts(self):
        self.server.knows_checksums = False
        data = self.make_large(2)
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)

    def test_what_is_refused(self):
        self.objects["a"] = self.small
        self.expect_failure("is one of the files that are read", "salvage", "s3://bucket/a", "-o",
                            "s3://bucket/a")
        self.expect_failure("give the number of shards", "convert", "small", "--max-bytes", "100",
                            "-o", "s3://bucket/b")
        self.expect_failure("a bucket or a folder", "convert", "small", "-o", "s3://bucket/dir/")
        # Before anything is sent.
        self.expect_failure("before the number of archives", "export", "small", "--max-records",
                            "9", "-o", "s3://bucket/a.tar")
        self.assertNotIn("POST begin", self.write_methods())
        self.assertEqual(list(self.objects), ["a"])


class GoogleUploads(WritingTest):
    def setUp(self):
        super().setUp()
        self.without_keys()
        self.server.bearer = "s3cr3t-token"
        self.environment.update({"GOOGLE_OAUTH_ACCESS_TOKEN": "s3cr3t-token",
                                 "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": self.server.url})

    def test_small_objects(self):
        self.run_it("convert", "small", "-o", "gs://bucket/a")
        self.assertEqual(self.objects, {"a": self.small})
        headers = [headers for path, headers in self.server.asked][-1]
        self.assertEqual(headers["x-goog-if-generation-match"], "0")
        self.run_it("convert", "small", "-o", "gs://bucket/a")  # replaced
        self.assertNotIn("x-goog-if-generation-match", self.server.asked[-1][1])

    def test_large_objects(self):
        data = self.make_large(2)
        self.run_it("convert", "large", "-o", "gs://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)
        self.assertEqual(self.server.uploads, {})

    def test_an_object_that_another_program_wrote_meanwhile(self):
        self.make_large(2)

        def written(method, path):
            if "partNumber" in path:
                self.objects["a"] = b"another"
        self.server.wanted_failure = written
        self.expect_failure("another program has written this object", "convert", "large", "-o",
                            "gs://bucket/a")
        self.assertEqual(self.objects, {"a": b"another"})
        self.assertEqual(self.server.uploads, {})

    def test_a_lost_answer(self):
        self.fail_when("/bucket/a", {"after": True}, method="PUT")
        self.run_it("convert", "small", "-o", "gs://bucket/a")
        self.assertEqual(self.write_methods(), ["PUT", "PUT"])
        self.assertEqual(self.objects, {"a": self.small})


class UploadFaults(WritingTest):
    def expect_nothing_left(self):
        self.assertEqual(self.objects, {})
        self.assertEqual(self.server.uploads, {})

    def test_parts_are_repeated(self):
        data = self.make_large()
        self.fail_when("partNumber", {"status": 503}, times=2)
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)
        self.assertEqual(self.write_methods().count("PUT part"), 5)

    def test_a_part_whose_answer_was_lost(self):
        data = self.make_large(2)
        self.fail_when("partNumber", {"after": True})
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)

    def test_a_token_that_expires_in_between(self):
        data = self.make_large()
        del self.environment["AWS_ACCESS_KEY_ID"], self.environment["AWS_SECRET_ACCESS_KEY"]
        self.environment.update({"AWS_CONTAINER_CREDENTIALS_FULL_URI":
                                 self.server.url + "/container",
                                 "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-s3cr3t"})
        first, second = [Keys("AKIDs3cr3t", "s3cr3t", f"s3cr3t-{i}") for i in (1, 2)]
        self.server.keys = first
        self.server.handed_out = [(first, 3600), (second, 3600)]

        def expire(_, path):
            if "partNumber=2" in path:
                self.server.expired, self.server.keys = {first.token}, second
        self.server.wanted_failure = expire
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)

    def test_a_completion_that_fails_after_its_200(self):
        data = self.make_large(2)
        error = "<Error><Code>InternalError</Code><Message>m</Message></Error>"
        self.fail_when("?uploadId", {"status": 200, "body": error}, method="POST")
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)
        self.assertEqual(self.write_methods().count("POST upload"), 2)

    def test_a_completion_that_fails_for_good_after_its_200(self):
        self.make_large(2)
        error = "<Error><Code>InvalidPart</Code><Message>key s3cr3t</Message></Error>"
        self.fail_when("?uploadId", {"status": 200, "body": error}, method="POST")
        self.environment["AWS_SECRET_ACCESS_KEY"] = self.server.keys.secret = "s3cr3t"
        self.expect_failure("S3 answered 200, InvalidPart", "convert", "large", "-o",
                            "s3://bucket/a")
        self.expect_nothing_left()

    def test_a_completion_that_says_nothing(self):
        self.make_large(2)
        self.fail_when("?uploadId", {"status": 200, "body": "<Complete"}, method="POST")
        self.expect_failure("did not say that the object is complete", "convert", "large", "-o",
                            "s3://bucket/a")
        self.expect_nothing_left()

    def test_a_completion_whose_answer_was_lost(self):
        data = self.make_large(2)
        self.fail_when("?uploadId", {"after": True}, method="POST")
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(self.objects["a"] == data, True)
        self.assertEqual(self.write_methods().count("POST upload"), 2)

    def test_an_object_whose_answer_was_lost(self):
        self.fail_when("/bucket/a", {"after": True, "status": 503}, method="PUT")
        self.run_it("convert", "small", "-o", "s3://bucket/a")
        self.assertEqual(self.objects, {"a": self.small})

    def test_an_object_that_another_program_wrote_meanwhile(self):
        def written(method, _):
            if method == "PUT":
                self.objects["a"] = b"another"
        self.server.wanted_failure = written
        self.expect_failure("another program has written this object", "convert", "small", "-o",
                            "s3://bucket/a")
        self.assertEqual(self.objects, {"a": b"another"})

    def test_nothing_stays_of_an_upload_that_fails(self):
        self.make_large()
        self.fail_when("partNumber=2", {"status": 403, "code": "AccessDenied"}, times=9)
        self.expect_failure("S3 answered 403, AccessDenied: m (check that the credentials allow "
                            "s3:PutObject)", "convert", "large", "-o", "s3://bucket/a")
        self.expect_nothing_left()

    def test_nothing_stays_if_the_input_is_damaged(self):
        (self.folder / "damaged").write_bytes(large(3)[:-1])
        self.run_it("convert", "damaged", "-o", "s3://bucket/a", status=2)
        self.assertIn("DELETE upload", self.write_methods())
        self.expect_nothing_left()

    def test_nothing_stays_of_shards_if_the_input_is_damaged(self):
        (self.folder / "damaged").write_bytes(large(3)[:-1])
        self.run_it("salvage", "damaged", "-o", "whole", status=1)
        self.fail_when("partNumber=2", {"status": 403, "code": "AccessDenied"}, times=9)
        self.run_it("convert", "whole", "--shards", "1", "-o", "s3://bucket/a", status=2)
        self.expect_nothing_left()

    def kill(self, number):
        self.make_large(4)
        seen = []

        def slow(_, path):
            if "partNumber" in path:
                seen.append(path)
                return {"sleep": 0.3}
            return None
        self.server.wanted_failure = slow
        with subprocess.Popen([PROGRAM, "convert", "large", "-o", "s3://bucket/a"],
                              cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            while not seen:
                time.sleep(0.01)
            process.send_signal(number)
            output = process.communicate(timeout=60)
        self.assertNotIn(b"s3cr3t", b"".join(output))
        return process.returncode

    def test_nothing_stays_after_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.assertEqual(self.kill(number), 128 + number)
                self.expect_nothing_left()

    def test_no_object_appears_if_the_program_is_killed(self):
        self.assertEqual(self.kill(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(self.objects, {})
        # Nobody can remove the parts now; a later run succeeds beside them.
        self.server.wanted_failure = lambda *_: None
        self.run_it("convert", "large", "-o", "s3://bucket/a")
        self.assertEqual(hashlib.sha256(self.objects["a"]).digest(),
                         hashlib.sha256((self.folder / "large").read_bytes()).digest())


if __name__ == "__main__":
    unittest.main()
