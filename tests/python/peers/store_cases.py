"""What the tests of the stores of URLs share: a server of each kind, and its settings."""

import os
import types
import unittest.mock

from store_azure import AzureServer
from store_xml import AmazonServer, GoogleServer
from support import FilesTest

SERVERS = {"s3": AmazonServer, "gs": GoogleServer, "az": AzureServer}
# Settings of the machine that runs the tests.
FOREIGN = ("AWS_", "GOOGLE_", "AZURE_", "AZURITE_", "STORAGE_EMULATOR_HOST")


class StoreTest(FilesTest):
    """A server for each test. A process keeps the stores of URLs that it has opened, so each test
    has a bucket of its own."""

    scheme = "s3"
    settings = types.MappingProxyType({})  # more of them
    number = 0

    def setUp(self):
        super().setUp()
        StoreTest.number += 1
        self.server = self.make_server(f"bucket{StoreTest.number}")
        self.addCleanup(self.server.stop)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        # No credentials of Google, no profile of AWS; no proxy (obstore doesn't know "*").
        home = {"HOME": str(self.folder), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
        changed = unittest.mock.patch.dict(
            os.environ, kept | home | self.server.settings() | dict(self.settings), clear=True
        )
        changed.start()
        self.addCleanup(changed.stop)
        self.url = f"{self.scheme}://{self.server.bucket}"

    def make_server(self, bucket):
        return SERVERS[self.scheme](bucket)

    def data(self, key):
        return self.server.objects[key].data


def in_each_store(cases):
    """Returns the test classes of each kind of store, for globals().update()."""
    found = {}
    for scheme, name in (("s3", "Amazon"), ("gs", "Google"), ("az", "Azure")):
        title = f"{name}{cases.__name__}"
        found[title] = type(title, (cases, StoreTest), {"scheme": scheme, "__module__": "__main__"})
    return found
