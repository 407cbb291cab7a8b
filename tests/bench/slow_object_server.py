#!/usr/bin/env python3
"""Serves the files of a folder as the objects of a bucket of S3, as a distant service does: each
answer begins after a delay, and all connections share a bandwidth. Standard library only.

usage: slow_object_server.py FOLDER DELAY_MS MB_PER_S

Prints its port, and ends with its standard input. Unsigned requests: GET of objects and ranges,
HEAD, and listings, at /bucket/KEY.
"""
import os
import pathlib
import socket
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate

PIECE = 256 << 10


class Bandwidth:
    """Hands out turns of PIECE bytes."""

    def __init__(self, bytes_per_second):
        self.rate, self.lock, self.next = bytes_per_second, threading.Lock(), 0.0

    def wait(self, size):
        with self.lock:
            now = time.perf_counter()
            # An idle line saves up at most 100 ms, so that late wake-ups cost nothing.
            start = max(self.next, now - 0.1)
            self.next = start + size / self.rate
        time.sleep(max(0.0, start - now))


class Server:
    def __init__(self, folder, delay, rate):
        self.folder, self.delay, self.bandwidth = pathlib.Path(folder), delay, Bandwidth(rate)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        time.sleep(self.delay)  # the handshake
        try:
            with connection, connection.makefile("rb") as lines:
                while request := lines.readline():
                    headers = {}
                    while (line := lines.readline().strip()):
                        name, _, value = line.decode().partition(":")
                        headers[name.lower()] = value.strip()
                    method, path, _ = request.decode().split()
                    self.answer(connection, method, path, headers)
        except OSError:
            pass  # the client closed the connection

    def answer(self, connection, method, path, headers):
        time.sleep(self.delay)
        path, _, query = path.partition("?")
        if query:
            listing = self.listing(dict(urllib.parse.parse_qsl(query)))
            return self.send(connection, "200 OK", listing)
        file = self.folder / urllib.parse.unquote(path).removeprefix("/bucket/")
        if not file.is_file():
            return self.send(connection, "404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>")
        size = file.stat().st_size
        known = f'ETag: "{file.name}"\r\nLast-Modified: {formatdate(0, usegmt=True)}\r\n\r\n'
        if method == "HEAD":
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n{known}".encode())
            return
        first, last = headers.get("range", f"bytes=0-{size}").removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), size - 1)
        connection.sendall(f"HTTP/1.1 206 Partial Content\r\nContent-Length: {last + 1 - first}\r\n"
                           f"Content-Range: bytes {first}-{last}/{size}\r\n{known}".encode())
        with open(file, "rb") as data:
            while first <= last:
                count = min(PIECE, last + 1 - first)
                self.bandwidth.wait(count)
                first += os.sendfile(connection.fileno(), data.fileno(), first, count)

    def listing(self, query):
        prefix, token = query.get("prefix", ""), query.get("continuation-token", "")
        names = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                       if path.is_file())
        names = [name for name in names if name.startswith(prefix) and name > token]
        page = names[:1000]
        items = "".join(f"<Contents><Key>{name}</Key><Size>{(self.folder / name).stat().st_size}"
                        "</Size><LastModified>1970-01-01T00:00:00Z</LastModified></Contents>"
                        for name in page)
        more = len(names) > len(page)
        return (f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{items}"
                + (f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if more else "")
                + "</ListBucketResult>").encode()

    @staticmethod
    def send(connection, status, body):
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                           + body)


def main():
    folder, delay, rate = sys.argv[1:]
    server = Server(folder, float(delay) / 1000, float(rate) * 1e6)
    threading.Thread(target=server.run, daemon=True).start()
    print(server.socket.getsockname()[1], flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
