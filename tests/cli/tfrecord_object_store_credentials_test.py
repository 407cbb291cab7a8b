#!/usr/bin/env python3
"""Tests where tfrecord's subcommands take the credentials of s3:// and gs:// paths from, and their
renewal.
"""
import base64
import json
import shutil
import subprocess
import unittest

from object_store_server import Keys, jwt_parts
from tfrecord_object_store_case import HOSTILE_KEYS, ObjectStoreTest, rows


class Credentials(ObjectStoreTest):
    """Each source of credentials, and their renewal during a run."""

    def setUp(self):
        super().setUp()
        self.objects["a"] = rows(0, 3)
        self.without_keys()
        self.keys = self.server.keys

    def test_session_token(self):
        self.server.keys = Keys("AKIDs3cr3t", "key+/s3cr3t", "token/s3cr3t==")
        self.environment.update(AWS_ACCESS_KEY_ID="AKIDs3cr3t", AWS_SECRET_ACCESS_KEY="key+/s3cr3t",
                                AWS_SESSION_TOKEN="token/s3cr3t==")
        self.assertEqual(self.count("s3://bucket/a"), 3)

    def test_profile(self):
        (self.folder / ".aws").mkdir()
        (self.folder / ".aws/credentials").write_text(
            f"[other]\naws_access_key_id = {self.keys.access}\n"
            f"aws_secret_access_key = {self.keys.secret}\n")
        (self.folder / ".aws/config").write_text(
            f"[profile other]\nregion = eu-west-3\nendpoint_url = {self.server.url}\n")
        self.server.region = "eu-west-3"
        del self.environment["AWS_ENDPOINT_URL"]
        self.environment["AWS_PROFILE"] = "other"
        self.assertEqual(self.count("s3://bucket/a"), 3)

    def test_anonymous(self):
        self.server.keys = None
        self.assertEqual(self.count("s3://bucket/a"), 3)
        self.environment.update(AWS_ACCESS_KEY_ID="x-s3cr3t", AWS_SECRET_ACCESS_KEY="y-s3cr3t",
                                AWS_NO_SIGN_REQUEST="true")
        self.assertEqual(self.count("s3://bucket/a"), 3)

    def instance(self):
        del self.environment["AWS_EC2_METADATA_DISABLED"]
        self.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = self.server.url + "/"
        self.server.instance = True
        self.server.handed_out = [(self.keys, 3600)]

    def test_instance(self):
        self.instance()
        self.assertEqual(self.count("s3://bucket/a"), 3)
        services = [path for path, _ in self.server.asked if path.startswith("/latest")]
        self.assertEqual(len(services), 3)

    def test_instance_without_metadata(self):
        self.instance()
        self.server.instance = False
        self.expect_failure("no AWS credentials were found", "verify", "s3://bucket/a")
        self.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:9"
        self.expect_failure("no AWS credentials were found", "verify", "s3://bucket/a")

    def container(self):
        self.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = self.server.url + "/container"
        self.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "container-s3cr3t"
        self.server.handed_out = [(self.keys, 3600)]

    def test_container(self):
        self.container()
        self.assertEqual(self.count("s3://bucket/a"), 3)
        del self.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        (self.folder / "token").write_text("container-s3cr3t\n")
        self.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(self.folder / "token")
        self.assertEqual(self.count("s3://bucket/a"), 3)

    def test_container_elsewhere(self):
        self.container()
        self.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.org/container"
        self.expect_failure("must not be asked for credentials over http", "verify",
                            "s3://bucket/a")

    def web_identity(self, answer, status=200):
        (self.folder / "jwt").write_text("web-s3cr3t.a_b-c\n")
        self.environment.update(AWS_WEB_IDENTITY_TOKEN_FILE=str(self.folder / "jwt"),
                                AWS_ROLE_ARN="arn:aws:iam::1:role/a b")
        self.server.on_form = lambda handler, form: handler.send(status, answer.encode())

    def test_web_identity(self):
        self.web_identity(
            "<AssumeRoleWithWebIdentityResponse xmlns='x'><AssumeRoleWithWebIdentityResult>"
            f"<Credentials><AccessKeyId>{self.keys.access}</AccessKeyId><SecretAccessKey>"
            f"{self.keys.secret}</SecretAccessKey><SessionToken>token-s3cr3t</SessionToken>"
            "<Expiration>2040-01-01T00:00:00Z</Expiration></Credentials>"
            "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>")
        self.server.keys = Keys(self.keys.access, self.keys.secret, "token-s3cr3t")
        self.assertEqual(self.count("s3://bucket/a"), 3)
        form, = self.server.forms
        self.assertTrue(form.pop("RoleSessionName").startswith("recordpipe-"))
        self.assertEqual(form, {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                                "RoleArn": "arn:aws:iam::1:role/a b",
                                "WebIdentityToken": "web-s3cr3t.a_b-c"})

    def test_refused_web_identity(self):
        self.web_identity("<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>bad "
                          "web-s3cr3t.a_b-c</Message></Error></ErrorResponse>", 400)
        self.expect_failure("AWS STS answered 400, InvalidIdentityToken: bad ... to "
                            "AssumeRoleWithWebIdentity", "verify", "s3://bucket/a")

    def test_are_renewed_when_refused(self):
        self.container()
        old = Keys("AKIDs3cr3t", "key+/s3cr3t", "old-s3cr3t")
        self.server.keys = Keys("AKIDs3cr3t", "key+/s3cr3t", "new-s3cr3t")
        self.server.expired = {"old-s3cr3t"}
        self.server.handed_out = [(old, 3600), (self.server.keys, 3600)]
        self.assertEqual(self.count("s3://bucket/a"), 3)
        # The server refuses the new ones, too.
        self.server.expired.add("new-s3cr3t")
        self.expect_failure("ExpiredToken", "verify", "s3://bucket/a")

    def test_are_renewed_before_they_expire(self):
        self.container()
        self.objects.update({f"a{i}": rows(i, 1) for i in range(5)})
        self.server.handed_out = [(self.keys, 0)]
        found = self.infos("s3://bucket/a[0-9]")
        self.assertEqual([one["records"] for one in found], [1] * 5)
        services = [path for path, _ in self.server.asked if path == "/container"]
        self.assertGreater(len(services), 5)

    def test_other_sources_are_refused_by_name(self):
        (self.folder / ".aws").mkdir()
        (self.folder / ".aws/config").write_text("[default]\ncredential_process = /bin/s3cr3t\n")
        self.expect_failure("takes credentials from credential_process, which recordpipe can't do "
                            "(run: eval \"$(aws configure export-credentials --profile default",
                            "verify", "s3://bucket/a")


class Google(ObjectStoreTest):
    def setUp(self):
        super().setUp()
        self.objects.update({f"dir/train-{i}": rows(i, 3) for i in range(4)})
        self.without_keys()
        del self.environment["AWS_ENDPOINT_URL"]
        self.environment.update(CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=self.server.url,
                                NO_GCE_CHECK="true")
        self.server.bearer = "token-s3cr3t"

    def expect_read(self):
        self.server.page_size = 3
        found = self.infos("gs://bucket/dir/train-*")
        self.assertEqual([(one["path"], one["records"]) for one in found],
                         [(f"gs://bucket/dir/train-{i}", 3) for i in range(4)])
        self.assertEqual(len(self.server.listings()), 2)
        self.assertEqual(self.count("gs://bucket/dir/train-0"), 3)

    def test_token_of_the_environment(self):
        for name in ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"):
            self.server.asked.clear()
            self.environment[name] = "token-s3cr3t"
            self.expect_read()
            del self.environment[name]

    def test_hostile_names(self):
        self.environment["GOOGLE_OAUTH_ACCESS_TOKEN"] = "token-s3cr3t"
        for key in HOSTILE_KEYS:
            with self.subTest(key):
                self.objects[key] = rows(0, 2)
                self.assertEqual(self.count("gs://bucket/" + key), 2)

    def metadata(self, *tokens):
        del self.environment["NO_GCE_CHECK"]
        self.environment["GCE_METADATA_HOST"] = self.server.url.removeprefix("http://")
        self.server.handed_out = list(tokens)

    def test_metadata_server(self):
        self.metadata(("token-s3cr3t", 3600))
        self.expect_read()

    def test_is_renewed_when_refused(self):
        self.metadata(("old-s3cr3t", 3600), ("token-s3cr3t", 3600))
        self.expect_read()

    def token_service(self, status, answer):
        body = json.dumps(answer).encode()
        self.server.on_form = lambda handler, form: handler.send(status, body)

    def test_user(self):
        folder = self.folder / ".config/gcloud"
        folder.mkdir(parents=True)
        (folder / "application_default_credentials.json").write_text(json.dumps(
            {"type": "authorized_user", "client_id": "id-s3cr3t", "client_secret": "cs-s3cr3t",
             "refresh_token": "refresh+s3cr3t", "token_uri": self.server.url + "/token"}))
        self.token_service(200, {"access_token": "token-s3cr3t", "expires_in": 3599})
        self.assertEqual(self.count("gs://bucket/dir/train-0"), 3)
        self.assertEqual(self.server.forms, [
            {"grant_type": "refresh_token", "client_id": "id-s3cr3t", "client_secret": "cs-s3cr3t",
             "refresh_token": "refresh+s3cr3t"}])
        self.token_service(400, {"error": "invalid_grant", "error_description": "refresh+s3cr3t"})
        self.expect_failure("the token service answered 400, invalid_grant (run: gcloud auth "
                            "application-default login", "verify", "gs://bucket/dir/train-0")

    def service_account(self, key):
        (self.folder / "account.json").write_text(json.dumps(
            {"type": "service_account", "client_email": "me@example.org", "private_key": key,
             "token_uri": self.server.url + "/token"}))
        self.environment["GOOGLE_APPLICATION_CREDENTIALS"] = str(self.folder / "account.json")
        self.token_service(200, {"access_token": "token-s3cr3t", "expires_in": 3599})

    @unittest.skipUnless(shutil.which("openssl"), "needs the program openssl")
    def test_service_account(self):
        self.in_folder("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem")
        self.in_folder("openssl pkey -in key.pem -pubout -out public.pem")
        self.service_account((self.folder / "key.pem").read_text())
        self.assertEqual(self.count("gs://bucket/dir/train-0"), 3)
        form, = self.server.forms
        self.assertEqual(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer")
        header, claims = jwt_parts(form["assertion"])
        self.assertEqual(header, {"alg": "RS256", "typ": "JWT"})
        self.assertEqual((claims["iss"], claims["aud"], claims["exp"] - claims["iat"]),
                         ("me@example.org", self.server.url + "/token", 3600))
        text, _, signature = form["assertion"].rpartition(".")
        (self.folder / "text").write_text(text)
        (self.folder / "signature").write_bytes(jwt_signature(signature))
        self.in_folder("openssl dgst -sha256 -verify public.pem -signature signature text")

    def in_folder(self, command):
        subprocess.run(command.split(), cwd=self.folder, check=True, capture_output=True)

    def test_bad_files(self):
        self.service_account("-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----\n")
        self.expect_failure("account.json: the service account has no valid RSA key", "verify",
                            "gs://bucket/dir/train-0")
        (self.folder / "account.json").write_text('{"type": "external_account", "x": "s3cr3t"}')
        self.expect_failure("account.json: credentials of the type external_account, which "
                            "recordpipe can't use", "verify", "gs://bucket/dir/train-0")
        (self.folder / "account.json").unlink()
        self.expect_failure("no such file", "verify", "gs://bucket/dir/train-0")

    def test_no_token(self):
        self.expect_failure("gs://bucket/a: Cloud Storage answered 403, AccessDenied: Access "
                            "denied. (no access token was found", "verify", "gs://bucket/a")

    # A token is a secret, and an emulator is none of Google's services.
    def test_an_emulator_receives_no_token(self):
        self.environment["STORAGE_EMULATOR_HOST"] = self.server.url.removeprefix("http://")
        self.environment["GOOGLE_OAUTH_ACCESS_TOKEN"] = "token-s3cr3t"
        self.server.bearer, self.server.keys = None, None
        self.assertEqual(self.count("gs://bucket/dir/train-0"), 3)
        self.assertFalse(any("Authorization" in headers for _, headers in self.server.asked))


def jwt_signature(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


if __name__ == "__main__":
    unittest.main()
