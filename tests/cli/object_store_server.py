"""A local server for tests that acts as S3, as Cloud Storage's XML API, and as the services that
hand out credentials. It misbehaves on request. Standard library only. Objects that are written:
object_store_uploads.py.

Every request for an object is checked: its signature (Signature Version 4, computed here from AWS's
description, independently of the program), or its bearer token. Objects are at /BUCKET/KEY.
"""
import base64
import collections
import datetime
import hashlib
import hmac
import http.server
import json
import threading
import urllib.parse
from xml.sax.saxutils import escape

from object_store_uploads import answer_write, crc32c


def in_seconds(seconds):
    """The time in so many seconds, as services write it."""
    now = datetime.datetime.now(datetime.UTC)
    return (now + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def encode(text):
    """UriEncode() of AWS, for bytes."""
    return urllib.parse.quote(text, safe="-._~")


class Keys:
    """The credentials that the server accepts."""

    def __init__(self, access, secret, token=""):
        self.access, self.secret, self.token = access, secret, token

    def service_json(self, life=3600):
        return json.dumps({"Code": "Success", "AccessKeyId": self.access, "Token": self.token,
                           "SecretAccessKey": self.secret, "Expiration": in_seconds(life)})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    body = b""

    def take(self):
        """Keeps the request, and returns what must go wrong with it: a dictionary, or None."""
        server = self.server
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with server.lock:
            server.asked.append((self.path, dict(self.headers)))
            server.methods.append((self.command, self.path))
        wanted = server.wanted_failure(self.command, self.path)  # may wait for other requests
        with server.lock:
            return wanted or (server.failures.pop(0) if server.failures else None)

    def do_GET(self):
        server = self.server
        failure = self.take()
        if self.path.startswith(("/latest/", "/container", "/computeMetadata/")):
            return self.credentials_service()
        if failure and failure.get("status"):
            return self.fail_as_told(failure)
        problem = self.authorization_problem()
        if problem:
            return self.fail(*problem)
        raw, _, query = self.path.partition("?")
        bucket, _, key = raw[1:].partition("/")
        key = urllib.parse.unquote(key, errors="surrogateescape")
        if bucket not in server.buckets:
            return self.fail(404, "NoSuchBucket", "The specified bucket does not exist")
        if not key:
            return self.send_listing(server.buckets[bucket],
                                     dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
        data = server.buckets[bucket].get(key)
        if data is None:
            return self.fail(404, "NoSuchKey", "The specified key does not exist.")
        return self.send_object(data, failure or {})

    def do_PUT(self):
        failure = self.take()
        if self.path == "/latest/api/token":
            if self.server.instance:
                return self.send(200, b"imds-s3cr3t-token")
            return self.fail(404, "NotFound", "")
        return self.write(failure)

    def do_DELETE(self):
        return self.write(self.take())

    def do_POST(self):
        failure = self.take()
        if self.path.startswith("/bucket"):
            return self.write(failure)
        self.server.forms.append(dict(urllib.parse.parse_qsl(self.body.decode())))
        return self.server.on_form(self, self.server.forms[-1])

    def write(self, failure):
        failure = failure or {}
        if failure.get("status") and not failure.get("after"):
            return self.fail_as_told(failure)
        problem = self.authorization_problem()
        if problem:
            return self.fail(*problem)
        return answer_write(self, failure)

    def fail_as_told(self, failure):
        return self.fail(failure["status"], failure.get("code", "SlowDown"),
                         failure.get("message", "m"), failure.get("headers", {}),
                         failure.get("body"))

    def authorization_problem(self):
        """Returns the arguments of fail(), or None for a good request."""
        given = self.headers.get("Authorization", "")
        if self.server.bearer is not None:
            # Cloud Storage would decompress objects.
            assert self.headers["Accept-Encoding"] == "gzip"
            if given == "Bearer " + self.server.bearer:
                return None
            return (401 if given else 403, "AuthenticationRequired" if given else "AccessDenied",
                    "Access denied.")
        if self.server.keys is None:
            return None if not given else (403, "AccessDenied", "signed")
        if not given:
            return 403, "AccessDenied", "Access Denied"
        fields = dict(part.strip().split("=", 1)
                      for part in given.removeprefix("AWS4-HMAC-SHA256 ").split(","))
        access, date, region, service, _ = fields["Credential"].split("/")
        keys = self.server.keys
        if self.headers.get("x-amz-security-token", "") in self.server.expired:
            return 400, "ExpiredToken", "The provided token has expired."
        if access != keys.access or self.headers.get("x-amz-security-token", "") != keys.token:
            return 403, "InvalidAccessKeyId", f"The AWS Access Key Id {access} does not exist"
        if region != self.server.region:
            return (400, "AuthorizationHeaderMalformed", f"the region '{region}' is wrong", {},
                    "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region is wrong"
                    f"</Message><Region>{self.server.region}</Region></Error>")
        if self.signature(fields["SignedHeaders"], date, region, service) != fields["Signature"]:
            return 403, "SignatureDoesNotMatch", "The request signature does not match"
        return None

    def signature(self, names, date, region, service):
        assert {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names.split(";"))
        digest = hashlib.sha256(self.body).hexdigest()
        assert self.headers["x-amz-content-sha256"] == digest
        path, _, query = self.path.partition("?")
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        pairs = sorted((encode(n.encode(errors="surrogateescape")),
                        encode(v.encode(errors="surrogateescape"))) for n, v in pairs)
        headers = "".join(f"{name}:{self.headers[name].strip()}\n" for name in names.split(";"))
        # The path as it must be encoded, not as it was.
        path = "/".join(encode(urllib.parse.unquote_to_bytes(part)) for part in path.split("/"))
        request = "\n".join([self.command, path, "&".join(f"{n}={v}" for n, v in pairs), headers,
                             names, digest])
        scope = f"{date}/{region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope,
                          hashlib.sha256(request.encode()).hexdigest()])
        key = ("AWS4" + self.server.keys.secret).encode()
        for part in (date, region, service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()

    def send_object(self, data, failure):
        etag = self.server.etags.get(data) or f'"{hashlib.md5(data).hexdigest()}"'
        wanted = self.headers.get("Range")
        assert "If-Range" not in self.headers
        if self.headers.get("If-Match", etag) != etag:
            return self.fail(412, "PreconditionFailed", "At least one did not hold")
        first, last = 0, len(data) - 1
        if wanted:
            begin, end = wanted.removeprefix("bytes=").split("-")
            first, last = int(begin), min(last, int(end or last))
        if wanted and first > last:
            return self.fail(416, "InvalidRange", "The requested range is not satisfiable", {},
                             "<Error><Code>InvalidRange</Code><Message>m</Message>"
                             f"<ActualObjectSize>{len(data)}</ActualObjectSize></Error>")
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Type", "binary/octet-stream")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", failure.get("etag", etag))
        if self.server.bearer is not None:
            self.send_header("x-goog-hash", "crc32c=" + crc32c(data))
        if wanted:
            shift = failure.get("shift", 0)
            self.send_header("Content-Range", f"bytes {first + shift}-{last + shift}/{len(data)}")
        self.end_headers()
        body = data[first:last + 1]
        if "cut" in failure:
            self.wfile.write(body[:failure["cut"]])
            self.close_connection = True
        else:
            self.wfile.write(body)
        return None

    def send_listing(self, objects, query):
        assert query["list-type"] == "2" and query["encoding-type"] == "url", query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries = {}
        for key in objects:
            if not key.startswith(prefix):
                continue
            head, slash, _ = key[len(prefix):].partition("/")
            is_folder = bool(delimiter and slash)
            entries[prefix + head + "/" if is_folder else key] = is_folder
        names = sorted(entries)
        start = int(query.get("continuation-token", "page-0").removeprefix("page-"))
        end = start + self.server.page_size

        def coded(name):
            return escape(urllib.parse.quote_plus(name, safe="/", errors="surrogateescape"))
        items = "".join(
            f"<CommonPrefixes><Prefix>{coded(name)}</Prefix></CommonPrefixes>" if entries[name] else
            f"<Contents><Key>{coded(name)}</Key><Size>{len(objects[name])}</Size></Contents>"
            for name in names[start:end])
        more = end < len(names)
        token = f"<NextContinuationToken>page-{end}</NextContinuationToken>" if more else ""
        self.send(200, (f'<?xml version="1.0"?><ListBucketResult xmlns="x"><EncodingType>url'
                        f"</EncodingType><IsTruncated>{'true' if more else 'false'}</IsTruncated>"
                        f"{items}{token}</ListBucketResult>").encode())

    def credentials_service(self):
        server = self.server
        if self.path.startswith("/computeMetadata/"):
            assert self.headers["Metadata-Flavor"] == "Google"
            return self.send(200, json.dumps(server.next_token()).encode())
        if self.path.startswith("/container"):
            assert self.headers["Authorization"] == "container-s3cr3t", self.headers
            return self.send(200, server.next_keys().encode())
        if self.headers.get("X-aws-ec2-metadata-token") != "imds-s3cr3t-token":
            return self.fail(401, "Unauthorized", "")
        if self.path.endswith("/security-credentials/"):
            return self.send(200, b"role\n")
        assert self.path.endswith("/security-credentials/role"), self.path
        return self.send(200, server.next_keys().encode())

    def fail(self, status, code, message, headers=None, body=None):
        if body is None:
            body = (f"<?xml version='1.0'?><Error><Code>{code}</Code>"
                    f"<Message>{escape(message)}</Message></Error>")
        self.send(status, body.encode(), headers or {})

    def send(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ObjectStoreServer(http.server.ThreadingHTTPServer):
    """Attributes that tests set: keys (None: requests must not be signed), bearer (None: S3),
    failures (of the next requests: status, code, message, headers, body; or cut, shift, etag)."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.asked, self.forms, self.failures, self.methods = [], [], [], []
        # Multipart uploads: from their ids to {"key", "parts"}; ETags of their objects.
        self.uploads, self.etags, self.begun, self.knows_checksums = {}, {}, 0, True
        # What goes wrong with a request: a function of its method and path.
        self.wanted_failure = lambda method, path: None
        self.buckets = collections.defaultdict(dict)
        self.buckets["bucket"] = {}
        self.buckets.default_factory = None
        self.keys, self.bearer, self.region = Keys("AKIDs3cr3t", "key+/s3cr3t"), None, "us-east-1"
        self.expired, self.page_size, self.instance = set(), 1000, False
        # What the services hand out: keys or tokens, and their lives in seconds. The last one is
        # handed out again.
        self.handed_out = []
        self.on_form = lambda handler, form: handler.fail(404, "NotFound", "")
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def next_handed_out(self):
        with self.lock:
            return self.handed_out.pop(0) if len(self.handed_out) > 1 else self.handed_out[0]

    def next_keys(self):
        keys, life = self.next_handed_out()
        return keys.service_json(life)

    def next_token(self):
        token, life = self.next_handed_out()
        return {"access_token": token, "expires_in": life, "token_type": "Bearer"}

    def object_requests(self):
        return [(path, headers) for path, headers in self.asked if path.startswith("/bucket/")]

    def listings(self):
        return [path for path, _ in self.asked if "list-type" in path]

    def handle_error(self, *_):
        pass  # disconnecting clients are part of the tests


def jwt_parts(token):
    """The header and the claims of a JSON Web Token."""
    def part(text):
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    header, claims, _ = token.split(".")
    return part(header), part(claims)
