"""URLs of web servers."""

import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import threading
import unittest
import unittest.mock
import urllib.parse

import recordpipe as rp
from store_cases import require_urls
from support import FilesTest

RECORDS = [bytes([i % 251]) * (i % 3001) for i in range(1500)]


class WebServer(http.server.BaseHTTPRequestHandler):
    """Serves the files of ``folder``, whole or a range."""

    protocol_version = "HTTP/1.1"
    folder: pathlib.Path

    def do_GET(self):
        path = self.folder / urllib.parse.unquote(self.path.lstrip("/"))
        content = path.read_bytes() if path.is_file() else None
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if content is None or (wanted and int(wanted[1]) >= len(content)):
            self.send_response(404 if content is None else 416)
            content = b""
        elif wanted:
            begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            content = content[begin:end]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Thu, 26 Nov 2026 12:00:00 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class WebTest(FilesTest):
    scheme = "http"

    def prepare(self, server):
        pass

    def setUp(self):
        super().setUp()
        require_urls()
        handler = type("Handler", (WebServer,), {"folder": self.folder})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.prepare(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"{self.scheme}://127.0.0.1:{server.server_port}"


class Web(WebTest):
    def test_files_are_read(self):
        (self.folder / "a b").mkdir()
        rp.write_tfrecords(self.folder / "a b/x.tfrecord", RECORDS, index=True)
        rp.write_tfrecords(self.folder / "y.tfrecord.gz", RECORDS)
        (self.folder / "empty.tfrecord").write_bytes(b"")
        plain, packed = f"{self.url}/a%20b/x.tfrecord", f"{self.url}/y.tfrecord.gz"
        for url in (plain, packed):
            self.assertEqual(list(rp.tfrecords(url)), RECORDS)
            self.assertTrue(rp.verify(url).intact)
        self.assertEqual(rp.tfrecords(plain)[77], RECORDS[77])
        self.assertEqual(sorted(rp.tfrecords(plain).shuffle(seed=1)), sorted(RECORDS))
        self.assertEqual(list(rp.tfrecords([packed, f"{self.url}/empty.tfrecord"])), RECORDS)

    def test_what_is_refused(self):
        with self.assertRaises(rp.NotFoundError):
            rp.verify(f"{self.url}/none")
        with self.assertRaisesRegex(rp.UnsupportedError, "with a query") as raised:
            rp.verify(f"{self.url}/a.tfrecord?signature=secret")
        self.assertNotIn("secret", str(raised.exception))
        with self.assertRaisesRegex(rp.UnsupportedError, "can't write to a URL"):
            rp.Writer(f"{self.url}/new")


class Secure(WebTest):
    """https, with a certificate that this machine doesn't trust."""

    scheme = "https"

    def prepare(self, server):
        openssl = shutil.which("openssl") or "/usr/bin/openssl"
        if not os.path.exists(openssl):
            self.skipTest("needs the program openssl")
        command = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        command += " -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
        self.certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        files = ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*command.split(), *files], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # clients that go away

    def trusting(self, **variables):
        names = ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        return unittest.mock.patch.dict(os.environ, kept | variables, clear=True)

    def test_certificates_of_the_environment(self):
        rp.write_tfrecords(self.folder / "a", RECORDS)
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            with self.subTest(name), self.trusting(**{name: str(self.certificate)}):
                self.assertEqual(list(rp.tfrecords(f"{self.url}/a")), RECORDS)
        for variables in ({}, {"SSL_CERT_DIR": str(self.folder)}):
            with (
                self.subTest(variables),
                self.trusting(**variables),
                self.assertRaisesRegex(rp.FileSystemError, "certificate"),
            ):
                rp.info(f"{self.url}/a")
        missing = {"SSL_CERT_FILE": str(self.folder / "none.pem")}
        with self.trusting(**missing), self.assertRaisesRegex(rp.Error, "check SSL_CERT_FILE"):
            rp.info(f"{self.url}/a")


if __name__ == "__main__":
    unittest.main()
