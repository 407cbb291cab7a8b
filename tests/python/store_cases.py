"""What the tests of the stores of URLs share: a server of each kind, and its settings."""

import os
import unittest.mock

import recordpipe as rp
from store_xml import AmazonServer, GoogleServer
from support import FilesTest

SERVERS = {"s3": AmazonServer, "gs": GoogleServer}
# Settings of the machine that runs the tests.
FOREIGN = ("AWS_", "GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST")


def require_urls():
    try:
        rp.tfrecords("http://127.0.0.1:1/*")
    except rp.UnsupportedError as error:
        if "libcurl" in str(error):
            raise unittest.SkipTest(str(error)) from None


class StoreTest(FilesTest):
    """A server for each test."""

    scheme = "s3"

    def setUp(self):
        super().setUp()
        require_urls()
        self.server = SERVERS[self.scheme]("bucket")
        self.addCleanup(self.server.stop)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        # No credentials of Google, no profile of AWS; no proxy.
        home = {"HOME": str(self.folder), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
        changed = unittest.mock.patch.dict(
            os.environ, kept | home | self.server.settings(), clear=True
        )
        changed.start()
        self.addCleanup(changed.stop)
        self.url = f"{self.scheme}://{self.server.bucket}"

    def data(self, key):
        return self.server.objects[key].data


def in_each_store(cases):
    """Returns the test classes of each kind of store, for globals().update()."""
    found = {}
    for scheme, name in (("s3", "Amazon"), ("gs", "Google")):
        title = f"{name}{cases.__name__}"
        found[title] = type(title, (cases, StoreTest), {"scheme": scheme, "__module__": "__main__"})
    return found
