"""The settings of the environment for s3://, gs:// and az:// URLs."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import datetime
import json
import os
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from peers import require

require("obstore")

from recordpipe.store_settings import options_of
from store_azure import AzureServer
from store_cases import StoreTest


class Settings(StoreTest):
    def only(self, **settings):
        """These instead of the server's own; setUp() has them restored."""
        for name in self.server.settings():
            del os.environ[name]
        os.environ.update(settings)

    def check(self):
        big = [b"x" * 1_000_000] * 20
        for name, records in (("small", [b"abc"]), ("big", big)):
            rp.write_tfrecords(f"{self.url}/{name}", records)
            self.assertEqual(list(rp.tfrecords(f"{self.url}/{name}")), records)
        self.assertEqual(rp.info(f"{self.url}/*").records, 21)


class Google(Settings):
    scheme = "gs"

    def test_an_emulator(self):
        self.server.token = ""
        self.only(STORAGE_EMULATOR_HOST=self.server.url.removeprefix("http://"))
        self.check()

    def test_an_emulator_with_a_scheme(self):
        self.server.token = ""
        # It gets no token.
        self.only(STORAGE_EMULATOR_HOST=self.server.url + "/", GOOGLE_BEARER_TOKEN="s3cr3t")
        self.check()

    def test_the_file_of_a_service_account(self):
        self.server.token = ""
        account = {
            "gcs_base_url": self.server.url,
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        path = self.folder / "account.json"
        path.write_text(json.dumps(account))
        self.only(GOOGLE_SERVICE_ACCOUNT=str(path))
        self.check()


class Endpoints(unittest.TestCase):
    def test_what_is_no_url(self):
        for url, variables in (
            ("s3://bucket", ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT")),
            ("az://container", ("AZURE_STORAGE_ENDPOINT",)),
        ):
            for variable in variables:
                for endpoint in ("127.0.0.1:9000", "localhost", "http://", "ftp://host"):
                    with (
                        self.subTest(variable, endpoint=endpoint),
                        unittest.mock.patch.dict(os.environ, {variable: endpoint}),
                        self.assertRaisesRegex(rp.InvalidArgumentError, "write http://HOST"),
                    ):
                        options_of(url, "read")


class Azure(Settings):
    scheme = "az"

    def test_names_of_the_tools(self):
        self.only(
            AZURE_STORAGE_ACCOUNT=self.server.account,
            AZURE_STORAGE_KEY=self.server.key,
            AZURE_STORAGE_ENDPOINT=self.server.url,
        )
        self.check()

    def test_a_connection_string(self):
        self.only(
            AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=http;"
            f"AccountName={self.server.account};AccountKey={self.server.key};"
            f"BlobEndpoint={self.server.url};"
        )
        self.check()

    def test_the_suffix_of_a_connection_string(self):
        self.only(
            AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=https;AccountName=one;"
            "AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn"
        )
        found = options_of("az://container", "read")
        self.assertEqual(found["endpoint"], "https://one.blob.core.chinacloudapi.cn")
        self.assertEqual((found["account_name"], found["account_key"]), ("one", "a2V5"))
        # A key without an account is not that of the string's account.
        os.environ["AZURE_STORAGE_KEY"] = "b3RoZXI="
        self.assertEqual(options_of("az://container", "read")["account_key"], "a2V5")
        # Another account does not get the string's key.
        os.environ["AZURE_STORAGE_ACCOUNT"] = "other"
        found = options_of("az://container", "read")
        self.assertEqual((found["account_name"], found["account_key"]), ("other", "b3RoZXI="))
        self.assertNotIn("endpoint", found)
        del os.environ["AZURE_STORAGE_KEY"]
        self.assertNotIn("account_key", options_of("az://container", "read"))

    def test_no_account(self):
        self.only()
        with self.assertRaisesRegex(rp.Error, f"{self.url}: .*AZURE_") as raised:
            list(rp.tfrecords(f"{self.url}/a"))
        self.assertLess(len(str(raised.exception)), 300)

    def test_a_wrong_key(self):
        os.environ["AZURE_STORAGE_ACCOUNT_KEY"] = "d3Jvbmc="
        with self.assertRaisesRegex(rp.PermissionDeniedError, "AccessDenied"):
            rp.tfrecords(f"{self.url}/folder/")


class Emulator(Settings):
    """Azurite: the account is in the path."""

    scheme = "az"

    def make_server(self, bucket):
        return AzureServer(bucket, is_emulator=True)

    def test_variables_of_the_emulator(self):
        self.check()

    def test_a_connection_string(self):
        self.only(
            AZURE_STORAGE_CONNECTION_STRING=f"AccountName={self.server.account};"
            f"AccountKey={self.server.key};BlobEndpoint={self.server.url}/{self.server.account}"
        )
        self.check()


class Client(StoreTest):
    """Options of obstore's HTTP client."""

    def test_those_of_the_environment_come_first(self):
        for scheme, variables in (("s3", "AWS"), ("gs", "GOOGLE"), ("az", "AZURE")):
            os.environ[f"{variables}_TIMEOUT"] = "7s"
            os.environ[f"{variables}_PROXY_URL"] = "http://proxy"
            found = options_of(f"{scheme}://bucket", "read")["client_options"]
            self.assertEqual((found["timeout"], found["proxy_url"]), ("7s", "http://proxy"))

    def test_uploads_have_time(self):
        for use, timeout in (("write", "2m"), ("parts", "5m")):
            client = options_of("s3://bucket", use)["client_options"]
            self.assertEqual(client["timeout"], timeout)
            self.assertNotIn("read_timeout", client)

    def test_parts_that_the_server_does_not_answer_are_sent_again(self):
        retries = options_of("s3://bucket", "parts")["retry_config"]
        self.assertGreater(retries["retry_timeout"], 2 * datetime.timedelta(minutes=5))

    def test_versions_of_obstore(self):
        for version, knows in (("0.10.9", False), ("0.11rc1", True), ("0.11.0", True), ("1", True)):
            with unittest.mock.patch("importlib.metadata.version", return_value=version):
                client = options_of("s3://bucket", "read")["client_options"]
                self.assertEqual("read_timeout" in client, knows)

    def test_http_is_for_endpoints_that_name_it(self):
        for scheme, variable in (("s3", "AWS_ENDPOINT_URL"), ("az", "AZURE_STORAGE_ENDPOINT")):
            for protocol in ("http", "https"):
                os.environ[variable] = f"{protocol}://localhost"
                client = options_of(f"{scheme}://bucket", "read")["client_options"]
                self.assertEqual(client["allow_http"], protocol == "http")


if __name__ == "__main__":
    unittest.main()
