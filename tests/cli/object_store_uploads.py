"""The part of object_store_server.py that writes objects: PutObject, multipart uploads, deletion.

Like the services, it compares the checksums of bodies, and refuses parts below 5 MiB (except the
last one), conditions that don't hold, and uploads that are over.
"""
import base64
import hashlib
import time
import urllib.parse
import xml.etree.ElementTree

SMALLEST_PART = 5 << 20


def make_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = make_table()


def crc32c(data):
    """The checksum as headers have it. Of a long body, which would take seconds: None."""
    if len(data) > 1 << 16:
        return None
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def answer_write(handler, failure):
    """Answers a request that writes, and does what `failure` asks for afterwards: {"after": True}
    loses the answer."""
    status, body, headers = write(handler, failure)
    if failure.get("after"):
        if "status" in failure:
            return handler.fail(failure["status"], failure.get("code", "SlowDown"), "m")
        handler.close_connection = True
        return None
    return handler.send(status, body, headers)


def error(status, code):
    return status, f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode(), {}


def write(handler, failure):
    server = handler.server
    raw, _, query = handler.path.partition("?")
    bucket, _, key = raw[1:].partition("/")
    key = urllib.parse.unquote(key, errors="surrogateescape")
    objects = server.buckets.get(bucket)
    if objects is None:
        return error(404, "NoSuchBucket")
    query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    given = crc_of(handler)
    if given and crc32c(handler.body) not in (None, given):
        return error(400, "BadDigest")
    action = {("PUT", False): put, ("PUT", True): put_part, ("POST", False): begin,
              ("POST", True): complete, ("DELETE", False): delete, ("DELETE", True): abort}
    if "sleep" in failure:
        time.sleep(failure["sleep"])
    return action[handler.command, "uploadId" in query](handler, objects, key, query)


def crc_of(handler):
    google = handler.headers.get("x-goog-hash", "").removeprefix("crc32c=")
    return handler.headers.get("x-amz-checksum-crc32c") or google


def must_be_new(handler):
    return (handler.headers.get("If-None-Match") == "*"
            or handler.headers.get("x-goog-if-generation-match") == "0")


def put(handler, objects, key, _):
    assert crc_of(handler)
    if must_be_new(handler) and key in objects:
        return error(412, "PreconditionFailed")
    objects[key] = handler.body
    return 200, b"", {"ETag": f'"{hashlib.md5(handler.body).hexdigest()}"'}


def begin(handler, _, key, query):
    assert query == {"uploads": ""}, query
    server = handler.server
    if server.bearer is None and "x-amz-checksum-algorithm" in handler.headers and \
            not server.knows_checksums:
        return error(501, "NotImplemented")
    with server.lock:
        server.begun += 1
        upload = f"id/+{server.begun}"
        server.uploads[upload] = {"key": key, "parts": {}}
    result = "InitiateMultipartUploadResult"
    body = f"<{result}><UploadId>{upload}</UploadId></{result}>"
    return 200, body.encode(), {}


def put_part(handler, _, key, query):
    server = handler.server
    upload = server.uploads.get(query["uploadId"])
    if upload is None or upload["key"] != key:
        return error(404, "NoSuchUpload")
    if server.knows_checksums:
        assert crc_of(handler)
    upload["parts"][int(query["partNumber"])] = (handler.body, crc_of(handler))
    return 200, b"", {"ETag": f'"{hashlib.md5(handler.body).hexdigest()}"'}


def complete(handler, objects, key, query):
    server = handler.server
    upload = server.uploads.get(query["uploadId"])
    if upload is None or upload["key"] != key:
        return error(404, "NoSuchUpload")
    if server.bearer is not None:
        assert "x-goog-if-generation-match" not in handler.headers  # not supported there
    if must_be_new(handler) and key in objects:
        return error(412, "PreconditionFailed")
    listed = list(xml.etree.ElementTree.fromstring(handler.body))
    numbers = [int(part.findtext("PartNumber")) for part in listed]
    assert numbers == list(range(1, len(numbers) + 1)), numbers
    parts = [upload["parts"][number] for number in numbers]
    for part, (data, crc) in zip(listed, parts, strict=True):
        if part.findtext("ETag") != f'"{hashlib.md5(data).hexdigest()}"':
            return error(400, "InvalidPart")
        if server.bearer is None and server.knows_checksums:
            assert part.findtext("ChecksumCRC32C") == crc
    if any(len(data) < SMALLEST_PART for data, _ in parts[:-1]):
        return error(400, "EntityTooSmall")
    data = b"".join(data for data, _ in parts)
    digest = hashlib.md5(b"".join(hashlib.md5(data).digest() for data, _ in parts)).hexdigest()
    server.etags[data] = f'"{digest}-{len(parts)}"'
    objects[key] = data
    del server.uploads[query["uploadId"]]
    # AWS sends blanks while it works.
    return 200, b"\n  <?xml version='1.0'?><CompleteMultipartUploadResult><Key>k</Key>" \
                b"</CompleteMultipartUploadResult>", {}


def delete(handler, objects, key, _):
    objects.pop(key, None)
    return 204, b"", {}


def abort(handler, _, __, query):
    found = handler.server.uploads.pop(query["uploadId"], None)
    return (204, b"", {}) if found else error(404, "NoSuchUpload")
