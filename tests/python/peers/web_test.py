"""URLs of web servers, which are read through obstore."""

import http.server
import pathlib
import re
import sys
import threading
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from peers import require
from support import FilesTest

require("obstore")

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


class Web(FilesTest):
    def setUp(self):
        super().setUp()
        handler = type("Handler", (WebServer,), {"folder": self.folder})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"

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
        with self.assertRaisesRegex(rp.UnsupportedError, "nothing is written"):
            rp.Writer(f"{self.url}/new")


if __name__ == "__main__":
    unittest.main()
