"""Object stores on this machine, for tests: a server that counts requests, and fails as it is told.

The services' own ways to ask are in store_xml.py. Like a
service, the server refuses requests without a correct authorization, conditions that don't hold,
ranges behind the end, and parts of an upload that are too small.
"""

import dataclasses
import email.message
import hashlib
import http.server
import itertools
import re
import threading
import time
import urllib.parse
from collections.abc import Callable
from xml.sax.saxutils import escape

MODIFIED = "Thu, 26 Nov 2026 12:00:00 GMT"


@dataclasses.dataclass(frozen=True)
class Object:
    data: bytes
    generation: int
    etag: str


@dataclasses.dataclass
class Request:
    method: str
    key: str  # "": a listing, or another request of the whole bucket
    query: dict[str, str]
    headers: email.message.Message
    body: bytes = dataclasses.field(repr=False)

    @property
    def is_listing(self):
        return self.method == "GET" and not self.key

    @property
    def is_read(self):
        return self.method == "GET" and bool(self.key)

    def range(self):
        """The first and the last byte that are asked for; None for all."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        return (int(wanted[1]), int(wanted[2])) if wanted else None


@dataclasses.dataclass(frozen=True)
class Fault:
    """What goes wrong with one request."""

    status: int = 0  # instead of an answer
    body: str = ""  # of that status
    wait: float = 0  # seconds before the answer
    cut: int = -1  # the connection ends after so many bytes of the body
    shift: int = 0  # the range begins so many bytes later, and says so
    lies: bool = False  # ... but says that it is the one that was asked for
    is_whole: bool = False  # the range is ignored: status 200, all bytes
    slow: float = 0  # seconds between the halves of the body
    is_lost: bool = False  # the connection ends without an answer
    is_carried_out: bool = False  # before the answer is lost
    before: Callable[[], None] = lambda: None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fault = Fault()

    def answer(self):
        server = self.server
        if server.is_stopped:
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        request = Request(
            self.command,
            server.key_of(path),
            dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
            self.headers,
            body,
        )
        with server.lock:
            server.requests.append(request)
        self.fault = server.fault_of(request) or Fault()
        self.fault.before()
        time.sleep(self.fault.wait)
        if self.fault.is_lost:
            self.close_connection = True
            return
        if self.fault.is_carried_out:
            server.answer_to(request, self)
            self.close_connection = True
            return
        if self.fault.status:
            self.send(self.fault.status, self.fault.body.encode())
            return
        refusal = server.refusal(request, path)
        if refusal:
            self.fail(403, "AccessDenied", refusal)
            return
        self.send(*server.answer_to(request, self))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def fail(self, status, code, message="m"):
        self.send(*failure(status, code, message))

    def send(self, status, body=b"", headers=None):
        self.send_response(status)
        headers = {"Content-Length": str(len(body)), **(headers or {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fault.cut >= 0:
            self.wfile.write(body[: self.fault.cut])
            self.close_connection = True
        elif self.fault.slow:
            middle = len(body) // 2
            self.wfile.write(body[:middle])
            self.wfile.flush()
            time.sleep(self.fault.slow)
            self.wfile.write(body[middle:])
        else:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def failure(status, code, message="m", size=None):
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{escape(message)}</Message>"
    if size is not None:
        body += f"<ActualObjectSize>{size}</ActualObjectSize>"
    return status, f"{body}</Error>".encode(), {}


class StoreServer(http.server.ThreadingHTTPServer):
    """A bucket. Attributes that tests set or read:

    objects: from keys to Object.
    requests: all that came, also those that were refused.
    fault_of: a function of a Request that returns a Fault, or None.
    page_size: the number of names in a page of a listing.
    has_conditions: False: If-Match of a read is ignored.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bucket):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bucket = bucket
        self.lock = threading.RLock()
        self.objects, self.requests, self.page_size = {}, [], 1000
        self.has_conditions = True
        self.is_stopped = False
        self.fault_of = lambda request: None
        self.generations = itertools.count(1)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self):
        if not self.is_stopped:
            self.is_stopped = True
            self.shutdown()
            self.server_close()

    def put(self, key, data):
        """Writes an object as another program does."""
        digest = hashlib.md5(data).hexdigest()
        with self.lock:
            # The ETag of a replaced object differs, even if its bytes are the same.
            generation = next(self.generations)
            found = self.objects[key] = Object(bytes(data), generation, f'"{digest}-{generation}"')
        return found

    def keys(self, prefix=""):
        return sorted(key for key in self.objects if key.startswith(prefix))

    def reads(self, key):
        return [one for one in self.requests if one.is_read and one.key == key]

    def listings(self):
        return [one for one in self.requests if one.is_listing]

    def fail_next(self, wanted, *faults):
        """The next requests for which wanted(request) is true get these faults, one each.
        Returns those that are left."""
        left = list(faults)

        def fault_of(request):
            with self.lock:
                return left.pop(0) if left and wanted(request) else None

        self.fault_of = fault_of
        return left

    def key_of(self, path):
        """The key in a path of this bucket."""
        bucket, _, key = self.path_in_service(path).partition("/")
        assert bucket == self.bucket, path
        return urllib.parse.unquote(key)

    def path_in_service(self, path):
        return path.lstrip("/")

    def answer_to(self, request, handler):
        """Returns the arguments of send()."""
        if request.key and request.method in ("GET", "HEAD"):
            return self.read(request, handler.fault)
        with self.lock:
            return self.carry_out(request)

    def read(self, request, fault):
        found = self.objects.get(request.key)
        if found is None:
            return failure(404, "NoSuchKey", "no such object")
        wanted = request.headers.get("If-Match", found.etag)
        if wanted != found.etag and self.has_conditions:
            return failure(412, "PreconditionFailed", "the condition does not hold")
        headers = {"ETag": found.etag, "Last-Modified": MODIFIED, **self.headers_of(found)}
        wanted = request.range()
        if wanted is None or fault.is_whole:
            return 200, found.data, headers
        first, last = wanted[0] + fault.shift, min(wanted[1] + fault.shift, len(found.data) - 1)
        if first > last:
            return failure(416, "InvalidRange", size=len(found.data))
        said = fault.shift if fault.lies else 0
        headers["Content-Range"] = f"bytes {first - said}-{last - said}/{len(found.data)}"
        return 206, found.data[first : last + 1], headers

    def page(self, request, start):
        """The names of a listing, whether each is a folder, and where the next page begins."""
        prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
        names = {}
        for key in self.objects:
            if key.startswith(prefix):
                head, slash, _ = key[len(prefix) :].partition("/")
                is_folder = bool(delimiter and slash)
                names[prefix + head + "/" if is_folder else key] = is_folder
        end = start + self.page_size
        entries = sorted(names.items())
        return entries[start:end], end if end < len(entries) else None

    def handle_error(self, *_):
        pass  # clients that go away are part of the tests

    # Of a service:

    def headers_of(self, found):
        return {}

    def refusal(self, request, path):
        """Why the authorization is not correct; empty if it is."""
        raise NotImplementedError

    def carry_out(self, request):
        """Lists, writes or deletes."""
        raise NotImplementedError

    def unfinished(self):
        """The keys of uploads in parts that are neither complete nor aborted."""
        raise NotImplementedError
