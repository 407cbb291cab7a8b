#!/usr/bin/env python3
"""Tests s3:// and gs:// paths of a local server as inputs of tfrecord's subcommands."""
import hashlib
import threading
import unittest
import zipfile

from object_store_server import ObjectStoreServer
from tfrecord_create_case import npy
from tfrecord_object_store_case import HOSTILE_KEYS, ObjectStoreTest, rows
from tfrecord_test_case import named_example, record


class Objects(ObjectStoreTest):
    def test_are_read_like_files(self):
        self.objects["dir/a"] = rows(0, 300)
        self.run_it("convert", "s3://bucket/dir/a", "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), self.objects["dir/a"])
        (path, headers), = self.server.object_requests()
        self.assertEqual((path, headers["Range"]), ("/bucket/dir/a", "bytes=0-524287"))

    def read_together(self, count, *paths):
        """Verifies objects. No request for one is answered before so many were sent."""
        meeting = threading.Barrier(count, timeout=60)

        def meet(_, path):
            if path.startswith("/bucket/many/"):
                meeting.wait()
        self.server.wanted_failure = meet
        return self.json("verify", "--json", "--threads", "2", *paths)

    def test_ranges_are_requested_together(self):
        one = record(bytes(1 << 16))
        self.objects["many/a"] = data = one * 515  # the first range, and four of 8 MiB
        first = [True]

        def after_first(_, path):
            if first[0]:
                first[0] = False
                return None
            return meet()
        meeting = threading.Barrier(2, timeout=60)

        def meet():
            meeting.wait()
        self.server.wanted_failure = after_first
        found, = self.json("verify", "--json", "s3://bucket/many/a")
        self.assertEqual((found["records"], len(data) > 4 << 23), (515, True))
        ranges = [headers["Range"] for _, headers in self.server.object_requests()]
        self.assertEqual(len(ranges), 1 + 4)
        conditions = {headers.get("If-Match") for _, headers in self.server.object_requests()[1:]}
        self.assertEqual(conditions, {'"' + hashlib.md5(data).hexdigest() + '"'})

    def test_many_objects_are_opened_together(self):
        for i in range(64):
            self.objects[f"many/{i:02}.tfrecord"] = rows(i, 1)
        found = self.read_together(32, "s3://bucket/many/")
        self.assertEqual([one["records"] for one in found], [1] * 64)
        self.assertEqual(len(self.server.object_requests()), 64)

    def test_an_object_that_is_replaced_meanwhile(self):
        self.objects["a"] = record(bytes(1 << 16)) * 100

        def replaced(_, path):
            if len(self.server.asked) == 2:
                self.objects["a"] = record(bytes([1]) * (1 << 16)) * 100
        self.server.wanted_failure = replaced
        self.expect_failure("changed", "convert", "s3://bucket/a", "-o", "b")

    def test_of_hostile_names(self):
        for key in HOSTILE_KEYS:
            with self.subTest(key):
                self.objects[key] = rows(0, 3)
                self.assertEqual(self.count("s3://bucket/" + key), 3)

    def test_only_the_needed_ranges_are_fetched(self):
        self.objects["a"] = b"".join(
            record(named_example({"n": [i], "x": [bytes([i]) * 1_000_000]})) for i in range(4))
        shown = self.run_it("show", "--json", "--record", "2", "--feature", "n", "s3://bucket/a")
        self.assertIn("[2]", shown)
        requests = self.server.object_requests()
        ranges = [headers.get("Range") for path, headers in requests if path == "/bucket/a"]
        self.assertTrue(all(ranges), ranges)
        ends = [r.removeprefix("bytes=").split("-") for r in ranges]
        self.assertLess(sum(int(last) - int(first) for first, last in ends), 1_500_000)
        conditions = [headers.get("If-Match") for path, headers in requests if path == "/bucket/a"]
        self.assertIn('"' + hashlib.md5(self.objects["a"]).hexdigest() + '"', conditions)

    def test_an_index_beside_them_is_used(self):
        (self.folder / "a").write_bytes(rows(0, 50))
        self.run_it("index", "a")
        self.objects["a"] = (self.folder / "a").read_bytes()
        self.objects["a.idx"] = (self.folder / "a.idx").read_bytes()
        found, = self.json("info", "--json", "s3://bucket/a")
        self.assertEqual((found["records"], found["indexed"]), (50, True))
        self.assertEqual(found["path"], "s3://bucket/a")

    def test_arrays_are_read(self):
        with zipfile.ZipFile(self.folder / "a.npz", "w") as archive:
            archive.writestr("x.npy", npy("'|u1'", "(2,)", b"\5\6"))
        self.objects["a?.npz"] = (self.folder / "a.npz").read_bytes()
        self.run_it("create", "s3://bucket/a?.npz", "-o", "out")
        self.assertEqual((self.folder / "out").read_bytes(),
                         b"".join(record(named_example({"x": [value]})) for value in (5, 6)))

    def test_empty_ones(self):
        self.objects["empty"] = b""
        found, = self.json("info", "--json", "s3://bucket/empty")
        self.assertEqual(found["records"], 0)

    def test_damage_is_named_with_the_object(self):
        self.objects["a"] = rows(0, 3)[:-1]
        result = self.start("verify", "s3://bucket/a")
        self.assertIn("s3://bucket/a: damaged", result.stdout.decode())

    def test_a_folder_stands_for_its_record_files(self):
        self.objects.update({"dir/a.tfrecord": rows(0, 3), "dir/b.tfrecord": rows(0, 4),
                             "dir/notes.txt": b"", "dir/deep/c.tfrecord": rows(0, 5)})
        self.assertEqual([found["path"] for found in self.infos("s3://bucket/dir/")],
                         ["s3://bucket/dir/a.tfrecord", "s3://bucket/dir/b.tfrecord"])
        self.assertEqual(len(self.server.listings()), 1)
        self.assertEqual([found["records"] for found in self.infos("s3://bucket/**/*.tfrecord")],
                         [3, 4, 5])
        self.assertEqual(len(self.infos("s3://bucket/dir/{a,b}.tfrecord")), 2)
        for path in ("s3://bucket", "s3://bucket/", "s3://bucket/none/"):
            self.expect_failure("no record files are in this folder", "verify", path)

    def test_region_of_the_signature(self):
        self.objects["a"] = rows(0, 1)
        self.server.region = "eu-west-3"
        self.environment["AWS_REGION"] = "eu-west-3"
        self.assertEqual(self.count("s3://bucket/a"), 1)
        # An endpoint that was given isn't left, and the region is told.
        self.environment["AWS_REGION"] = "eu-west-1"
        self.expect_failure("set AWS_REGION=eu-west-3", "verify", "s3://bucket/a")


class Patterns(ObjectStoreTest):
    def setUp(self):
        super().setUp()
        for i in range(7):
            self.objects[f"data/train-{i}"] = rows(10 * i, 10)
        self.objects.update({"data/test-0": rows(0, 1), "data/train-0.idx": b"", "data/": b"",
                             "data/train-x/y": rows(0, 1), "train-9": rows(0, 1),
                             "data/.train-hidden": b"", "other/train-0": rows(0, 5)})

    def paths(self, pattern):
        return [found["path"] for found in self.infos(pattern)]

    def test_one_listing_in_pages(self):
        self.server.page_size = 3
        self.assertEqual(self.paths("s3://bucket/data/train-*"),
                         [f"s3://bucket/data/train-{i}" for i in range(7)])
        listings = self.server.listings()
        self.assertEqual(len(listings), 3)  # 9 names start with "train-"
        for path in listings:
            self.assertTrue(path.startswith("/bucket?"), path)
            self.assertIn("prefix=data%2Ftrain-", path)
            self.assertIn("delimiter=%2F", path)
        self.assertEqual(["continuation-token" in path for path in listings], [False, True, True])

    def test_in_folders(self):
        self.assertEqual(self.paths("s3://bucket/*/train-[01]"),
                         ["s3://bucket/data/train-0", "s3://bucket/data/train-1",
                          "s3://bucket/other/train-0"])

    def test_of_the_bucket(self):
        self.assertEqual(self.paths("s3://bucket/train-?"), ["s3://bucket/train-9"])

    def test_hostile_names_are_found(self):
        self.objects.clear()
        self.objects.update({"x/" + key: rows(0, 1) for key in HOSTILE_KEYS if "/" not in key})
        self.assertEqual(set(self.paths("s3://bucket/x/*")),
                         {"s3://bucket/" + key for key in self.objects})

    def test_a_literal_name_comes_first(self):
        self.objects["data/train-[0]"] = rows(0, 1)
        self.assertEqual(self.paths("s3://bucket/data/train-[0]"), ["s3://bucket/data/train-[0]"])

    def test_nothing_matches(self):
        self.expect_failure("s3://bucket/data/no-*: no file matches", "info",
                            "s3://bucket/data/no-*")
        self.expect_failure("NoSuchBucket", "info", "s3://none/no-*")

    def test_failed_pages_are_retried(self):
        self.server.failures = [{}, {"status": 503}]
        self.assertEqual(len(self.paths("s3://bucket/data/train-*")), 7)

    def test_hostile_listings(self):
        for body, words in [("<ListBucketResult>", "it ends early"),
                            ("<html/>", "another document"),
                            ("<!DOCTYPE x><ListBucketResult/>", "a DOCTYPE"),
                            ("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
                             "without a continuation token"),
                            ("<ListBucketResult><IsTruncated>true</IsTruncated>"
                             "<NextContinuationToken>a</NextContinuationToken>"
                             "</ListBucketResult>", "the same page again"),
                            ("x" * (17 << 20), "more than 16 MiB")]:
            with self.subTest(words):
                page = {"status": 200, "body": body}
                self.server.failures = [{}, page, page]
                self.expect_failure(words, "info", "s3://bucket/x*")

    def test_keys_outside_of_the_prefix_are_ignored(self):
        keys = ["../../etc/passwd", "data/train-0/../../x", "data/train-1", "other"]
        self.server.failures = [{}, {"status": 200, "body": "<ListBucketResult>" + "".join(
            f"<Contents><Key>{key}</Key></Contents>" for key in keys) + "</ListBucketResult>"}]
        self.assertEqual(self.paths("s3://bucket/data/train-*"), ["s3://bucket/data/train-1"])


class Refusals(ObjectStoreTest):
    def test_name_the_object_and_the_reason(self):
        self.expect_failure("s3://bucket/none: S3 answered 404, NoSuchKey: The specified key does "
                            "not exist. (check the key: there is no such object)", "verify",
                            "s3://bucket/none")
        self.expect_failure("s3://nobucket/a: S3 answered 404, NoSuchBucket", "verify",
                            "s3://nobucket/a")

    def test_wrong_keys(self):
        self.environment["AWS_SECRET_ACCESS_KEY"] = "another-s3cr3t"
        self.expect_failure("SignatureDoesNotMatch", "verify", "s3://bucket/a")
        # The server repeats the access key.
        self.environment["AWS_ACCESS_KEY_ID"] = "AKIDs3cr3t2"
        self.expect_failure("InvalidAccessKeyId: The AWS Access Key Id ... does not exist",
                            "verify", "s3://bucket/a")

    def test_no_keys(self):
        self.without_keys()
        self.expect_failure("no AWS credentials were found, so the request was not signed",
                            "verify", "s3://bucket/a")

    def test_hostile_bodies(self):
        for body in ("<!DOCTYPE a [<!ENTITY x 'y'>]><Error><Code>&x;</Code></Error>",
                     "<Error><Code>", "x" * (1 << 20), "", "<Error>" * 1000):
            self.server.failures = [{"status": 403, "body": body}]
            last = self.run_it("verify", "s3://bucket/a", status=2).strip()
            start = "tfrecord verify: s3://bucket/a: S3 answered 403 ("
            self.assertTrue(last.startswith(start), last)
        self.server.failures = [{"status": 403, "code": "A\x1b[31m",
                                 "message": "line\nbreak" + "x" * 999}]
        self.expect_failure("403", "verify", "s3://bucket/a")

    def test_bad_settings(self):
        self.environment["AWS_ENDPOINT_URL"] = "http://me:s3cr3t@localhost"
        self.expect_failure("AWS_ENDPOINT_URL has a user name", "verify", "s3://bucket/a")
        self.expect_failure("the bucket has no valid name", "verify", "s3://host:80/a")
        for user in ("AKID:s3cr3t", "AKIDs3cr3t", "AKID:s3/cr3t/s3cr3t"):
            self.expect_failure("s3://bucket/a: the bucket has no valid name", "verify",
                                f"s3://{user}@bucket/a")

    # Another server would receive the signature.
    def test_redirects_are_not_followed(self):
        other = ObjectStoreServer()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        for status in (301, 302, 307, 308):
            self.server.failures = [{"status": status, "code": "TemporaryRedirect",
                                     "headers": {"Location": other.url + "/bucket/a",
                                                 "x-amz-bucket-region": "eu-west-9"}}]
            self.expect_failure(f"S3 answered {status}, TemporaryRedirect", "verify",
                                "s3://bucket/a")
        self.assertEqual(other.asked, [])


class Faults(ObjectStoreTest):
    def setUp(self):
        super().setUp()
        self.objects["a"] = rows(0, 3000)

    def test_busy_services_are_asked_again(self):
        self.server.failures = [{"status": 503, "code": "SlowDown"}, {"status": 500}]
        self.run_it("convert", "s3://bucket/a", "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), self.objects["a"])
        self.server.failures = [{"status": 400, "code": "RequestTimeout"}]
        self.assertEqual(self.count("s3://bucket/a"), 3000)

    def test_cut_transfers_are_resumed(self):
        self.server.failures = [{"cut": 1000}]
        self.assertEqual(self.count("s3://bucket/a"), 3000)
        headers = self.server.object_requests()[-1][1]
        self.assertEqual(headers["Range"], f"bytes=1000-{len(self.objects['a']) - 1}")
        self.assertIn("If-Match", headers)

    def test_a_replaced_object_is_an_error(self):
        self.server.failures = [{"cut": 1000, "etag": '"old"'}]
        self.expect_failure("the file changed on the server while it was read", "verify",
                            "s3://bucket/a")

    def test_a_replaced_object_between_ranges(self):
        self.objects["a"] = rows(0, 10000)
        self.server.failures = [{}, {"etag": '"old"'}, {"etag": '"old"'}]
        self.expect_failure("the file changed on the server while it was read", "show", "--record",
                            "9999", "s3://bucket/a")

    def test_a_wrong_range_is_an_error(self):
        self.server.failures = [{}, {"shift": 1}]
        self.expect_failure("another range than requested", "show", "--record", "1",
                            "s3://bucket/a")

    def test_time_of_the_clock(self):
        self.server.failures = [{"status": 403, "code": "RequestTimeTooSkewed"}]
        self.expect_failure("set this machine's clock", "verify", "s3://bucket/a")


if __name__ == "__main__":
    unittest.main()
