#!/usr/bin/env python3
"""A local HTTP server for tests, which misbehaves on request. Standard library only.

usage: http_server.py DIR [--tls]

Serves the files of DIR/files on 127.0.0.1, with Range, If-Range, a strong ETag (of the content) and
an old Last-Modified, as a well-behaved server does. Prints the port. With --tls, it also serves
https with a new certificate, DIR/cert.pem, which the client must trust, and prints that port as
well. Appends a JSON line for each request to DIR/log, before it answers. Ends when its standard
input ends, so that it never outlives the process that started it.

The query of the URL selects what goes wrong; for a URL without a query, the second line of
DIR/misbehaviour does (the first line is a number, new for each order):

  times=N          only for the first N requests of this URL since the order; then behaves well
  drop             closes the connection without an answer
  cut=K            closes the connection after K bytes of the body
  stall=K          sends K bytes of the body, then nothing
  drip=K           sends K bytes of the body every tenth of a second
  endless          sends the file over and over again (chunked)
  status=S         answers with status S and a short page
  retry_after=T    … and Retry-After: T
  redirect=URL     answers 302; {http} and {https} in the URL stand for this server's two origins
  no_range         answers a Range request with status 200
  range=TEXT       sends TEXT as Content-Range; {first}, {last}, {size} stand for the right numbers
  total=N          with a 416: gives N as the size of the file
  etag=weak|none   sends a weak ETag, or none
  modified=now|none  sends the current time as Last-Modified, or none
  changed          answers from FILE.new; with times=N, only after N requests answered from FILE
  stubborn         ignores If-Range
  chunked, close   frames the body in chunks, or by the end of the connection: without a length
  announce=N       announces N bytes more than it sends
  extra=N          sends N bytes more than it announces
  type=TYPE        Content-Type, encoding=NAME   Content-Encoding
  long_header      sends a header line of a million bytes
  garbage          answers with something that is not HTTP
"""

import collections
import email.utils
import hashlib
import http.server
import json
import os
import pathlib
import select
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

OLD = "Mon, 01 Jan 2024 00:00:00 GMT"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        order, query = "", url.query
        said = self.server.folder / "misbehaviour"
        if not query and said.is_file():
            order, query = said.read_text(encoding="utf-8").split("\n")
        wish = {k: v[0] for k, v in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        with self.server.lock:
            self.server.counts[self.path, order] += 1
            count = self.server.counts[self.path, order]
        over = "times" in wish and count > int(wish["times"])
        changed = "changed" in wish and (over or "times" not in wish)
        if over:
            wish = {k: v for k, v in wish.items() if k in ("stubborn", "etag", "modified")}
        file = self.server.folder / "files" / (url.path.lstrip("/") + (".new" if changed else ""))
        try:
            self.answer(wish, file.read_bytes() if file.is_file() else None)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, wish, data):
        if "drop" in wish:
            self.log_answer(0)
            self.close_connection = True
        elif "garbage" in wish:
            self.log_answer(0)
            self.wfile.write(b"\x00\x01\x02 this is not HTTP\r\n\r\n")
            self.close_connection = True
        elif "redirect" in wish:
            target = wish["redirect"]
            for scheme, port in self.server.ports.items():
                target = target.replace("{%s}" % scheme, f"{scheme}://127.0.0.1:{port}")
            self.page(302, {"Location": target})
        elif "status" in wish:
            extra = {"Retry-After": wish["retry_after"]} if "retry_after" in wish else {}
            self.page(int(wish["status"]), extra)
        elif data is None:
            self.page(404, {})
        else:
            self.send_file(wish, data)

    def page(self, status, headers):
        self.log_answer(status)
        body = f"<html><body>{status}</body></html>\n".encode()
        self.send_head(status, {"Content-Type": "text/html", "Content-Length": len(body), **headers})
        self.wfile.write(body)

    def send_file(self, wish, data):
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        if wish.get("etag") == "weak":
            etag = "W/" + etag
        modified = email.utils.formatdate(usegmt=True) if wish.get("modified") == "now" else OLD
        headers = {"Content-Type": wish.get("type", "application/gzip"), "Accept-Ranges": "bytes"}
        if wish.get("etag") != "none":
            headers["ETag"] = etag
        if wish.get("modified") != "none":
            headers["Last-Modified"] = modified
        if "encoding" in wish:
            headers["Content-Encoding"] = wish["encoding"]
        if "long_header" in wish:
            headers["X-Long"] = "x" * 1_000_000

        status, first, end = 200, 0, len(data)
        wanted, condition = self.headers.get("Range"), self.headers.get("If-Range")
        same = condition is None or condition in (headers.get("ETag"), headers.get("Last-Modified"))
        if wanted and "no_range" not in wish and (same or "stubborn" in wish):
            first, last = wanted.removeprefix("bytes=").split("-")
            status, first = 206, int(first)
            end = min(len(data), int(last) + 1) if last else len(data)
            if first >= len(data):
                size = wish.get("total", len(data))
                return self.page(416, {"Content-Range": f"bytes */{size}"})
            numbers = {"first": first, "last": end - 1, "size": len(data)}
            text = wish.get("range", "bytes {first}-{last}/{size}")
            headers["Content-Range"] = text.format(**numbers)
        self.log_answer(status)
        body = data[first:end]
        announced = len(body) + int(wish.get("announce", 0))
        body += b"x" * int(wish.get("extra", 0))
        chunked = "chunked" in wish or "endless" in wish
        if chunked:
            headers["Transfer-Encoding"] = "chunked"
        elif "close" not in wish:
            headers["Content-Length"] = announced
        self.send_head(status, headers)
        self.send_body(wish, body, chunked)
        if "close" in wish or len(body) != announced:
            self.close_connection = True

    def send_body(self, wish, body, chunked):
        def send(piece):
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)

        if "endless" in wish:
            while True:
                send(body)
        if "cut" in wish or "stall" in wish:
            end = int(wish.get("cut", wish.get("stall")))
            if end < len(body):
                send(body[:end])
                if "stall" in wish:
                    select.select([self.connection], [], [], 60)  # until the client disconnects
                self.close_connection = True
                return
        if "drip" in wish:
            step = int(wish["drip"])
            for start in range(0, len(body), step):
                send(body[start : start + step])
                time.sleep(0.1)
        else:
            send(body)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def send_head(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def log_answer(self, status):
        line = {"url": self.path, "status": status, "headers": dict(self.headers)}
        with self.server.lock, open(self.server.folder / "log", "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # disconnecting clients are part of the tests


def make_certificate(folder):
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    subprocess.run(command.split() + names + files, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    return context


def main():
    folder = pathlib.Path(sys.argv[1])
    servers = {"http": Server(("127.0.0.1", 0), Handler)}
    if "--tls" in sys.argv[2:]:
        servers["https"] = Server(("127.0.0.1", 0), Handler)
        context = make_certificate(folder)
        servers["https"].socket = context.wrap_socket(servers["https"].socket, server_side=True)
    ports = {scheme: server.server_address[1] for scheme, server in servers.items()}
    counts, lock = collections.Counter(), threading.Lock()
    for server in servers.values():
        server.folder, server.ports = folder, ports
        server.counts, server.lock = counts, lock
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(*ports.values(), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
