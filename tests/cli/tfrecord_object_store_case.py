"""The base of tests of s3:// and gs:// paths: a local server, and the program's environment.

Every credential has "s3cr3t" in it, and no output may have.
"""
import functools
import os

from object_store_server import ObjectStoreServer
from tfrecord_test_case import TfrecordTest, named_example, record

# Names of objects that are hard to encode, or that a client might change.
HOSTILE_KEYS = ["a b", "a+b", "a%2Fb", "a?b=c", "a#b", "a&b=c;d", "../a", "a/../b", "a/./b",
                "//a//b", "a:b@c", "ü/€", "a~b-c_d.e", "'\"()!*,$", "a\\b",
                "a[b]{c}|^`<>", "a" * 1000]


@functools.cache
def rows(start, count):
    return b"".join(record(named_example({"n": [i]})) for i in range(start, start + count))


class ObjectStoreTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.server = ObjectStoreServer()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.objects = self.server.buckets["bucket"]
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "no_proxy": "*",
                            "AWS_ENDPOINT_URL": self.server.url,
                            "AWS_EC2_METADATA_DISABLED": "true",
                            "AWS_ACCESS_KEY_ID": self.server.keys.access,
                            "AWS_SECRET_ACCESS_KEY": self.server.keys.secret}
        for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def start(self, *arguments, **options):
        result = super().start(*arguments, env=self.environment, **options)
        self.assertNotIn(b"s3cr3t", result.stdout + result.stderr)
        return result

    def without_keys(self):
        del self.environment["AWS_ACCESS_KEY_ID"], self.environment["AWS_SECRET_ACCESS_KEY"]

    def infos(self, pattern):
        """What info says about each file, without the last line, about all of them."""
        found = self.json("info", "--json", pattern)
        return found[:-1] if len(found) > 1 else found

    def count(self, path):
        """The number of records, which are all read."""
        found, = self.json("verify", "--json", path)
        return found["records"]
