"""store_server.py as Amazon S3, and as Cloud Storage's XML API, which is modelled on it."""

import hashlib
import xml.etree.ElementTree
from xml.sax.saxutils import escape

from store_server import StoreServer, failure

SMALLEST_PART = 5 << 20


class XmlServer(StoreServer):
    """What both have in common."""

    def __init__(self, bucket):
        super().__init__(bucket)
        self.uploads = {}  # from ids to [key, {number: bytes}]
        self.begun = 0

    def unfinished(self):
        return [key for key, _ in self.uploads.values()]

    def carry_out(self, request):
        query = request.query
        if request.is_listing:
            return self.list(request)
        if request.method == "PUT" and "uploadId" in query:
            return self.put_part(query["uploadId"], int(query["partNumber"]), request.body)
        if request.method == "PUT":
            return self.write(request)
        if request.method == "POST" and "uploads" in query:
            self.begun += 1
            self.uploads[f"id/+{self.begun}"] = [request.key, {}]
            name = "InitiateMultipartUploadResult"
            return 200, f"<{name}><UploadId>id/+{self.begun}</UploadId></{name}>".encode(), {}
        if request.method == "POST" and "uploadId" in query:
            return self.complete(request)
        if request.method == "POST" and "delete" in query:
            return self.delete_many(request)
        if request.method == "DELETE" and "uploadId" in query:
            known = self.uploads.pop(query["uploadId"], None)
            return (204, b"", {}) if known else failure(404, "NoSuchUpload")
        if request.method == "DELETE":
            known = self.objects.pop(request.key, None)
            return (204, b"", {}) if known else failure(404, "NoSuchKey")
        return failure(400, "InvalidRequest")

    def list(self, request):
        assert request.query["list-type"] == "2", request
        start = int(request.query.get("continuation-token", "page-0").removeprefix("page-"))
        entries, following = self.page(request, start)
        items = []
        for name, is_folder in entries:
            if is_folder:
                items.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
                continue
            found = self.objects[name]
            items.append(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(found.data)}</Size>"
                "<LastModified>2026-11-26T12:00:00.000Z</LastModified>"
                f"<ETag>{escape(found.etag)}</ETag></Contents>"
            )
        if following is not None:
            items.append(f"<NextContinuationToken>page-{following}</NextContinuationToken>")
        is_truncated = "false" if following is None else "true"
        return (
            200,
            f'<?xml version="1.0"?><ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>'
            f"{''.join(items)}</ListBucketResult>".encode(),
            {},
        )

    def write(self, request):
        problem = self.broken_condition(request, self.objects.get(request.key))
        if problem:
            return failure(412, "PreconditionFailed", problem)
        found = self.put(request.key, request.body)
        return 200, b"", {"ETag": found.etag, **self.headers_of(found)}

    def put_part(self, upload, number, data):
        if upload not in self.uploads:
            return failure(404, "NoSuchUpload")
        self.uploads[upload][1][number] = data
        return 200, b"", {"ETag": f'"{hashlib.md5(data).hexdigest()}"'}

    def complete(self, request):
        key, parts = self.uploads.get(request.query["uploadId"], (None, {}))
        if key != request.key:
            return failure(404, "NoSuchUpload")
        root = xml.etree.ElementTree.fromstring(request.body)
        listed = []
        for part in root:
            fields = {one.tag.rpartition("}")[2]: one.text for one in part}
            data = parts[int(fields["PartNumber"])]
            if fields["ETag"].strip('"') != hashlib.md5(data).hexdigest():
                return failure(400, "InvalidPart")
            listed.append(data)
        if any(len(data) < SMALLEST_PART for data in listed[:-1]):
            return failure(400, "EntityTooSmall")
        problem = self.broken_condition(request, self.objects.get(key))
        if problem:
            return failure(412, "PreconditionFailed", problem)
        del self.uploads[request.query["uploadId"]]
        found = self.put(key, b"".join(listed))
        name = "CompleteMultipartUploadResult"
        body = f"<{name}><Key>k</Key><ETag>{escape(found.etag)}</ETag></{name}>"
        return 200, body.encode(), {"ETag": found.etag, **self.headers_of(found)}

    def delete_many(self, request):
        root = xml.etree.ElementTree.fromstring(request.body)
        keys = [one.text for one in root.iter() if one.tag.rpartition("}")[2] == "Key"]
        for key in keys:
            self.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return 200, f"<DeleteResult>{deleted}</DeleteResult>".encode(), {}

    def broken_condition(self, request, found):
        """Which condition of a write does not hold; empty if all do."""
        raise NotImplementedError


class AmazonServer(XmlServer):
    """Signatures are there, but not compared: moto does that, and tests/cli/object_store_server."""

    key_id = "s3-key-id-s3cr3t"
    key = "s3-key-s3cr3t"

    def settings(self):
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.key_id,
            "AWS_SECRET_ACCESS_KEY": self.key,
            "AWS_REGION": "us-east-1",
        }

    def refusal(self, request, path):
        given = request.headers.get("Authorization", "")
        start = f"AWS4-HMAC-SHA256 Credential={self.key_id}/"
        return "" if given.startswith(start) and "Signature=" in given else f"not signed: {given}"

    def broken_condition(self, request, found):
        if request.headers.get("If-None-Match") == "*" and found:
            return "If-None-Match"
        wanted = request.headers.get("If-Match")
        return "If-Match" if wanted and (found is None or found.etag != wanted) else ""


class GoogleServer(XmlServer):
    token = "google-token-s3cr3t"

    def settings(self):
        return {
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": self.url,
            "GOOGLE_OAUTH_ACCESS_TOKEN": self.token,
        }

    def headers_of(self, found):
        return {"x-goog-generation": str(found.generation)}

    def refusal(self, request, path):
        given = request.headers.get("Authorization", "")
        return "" if given == f"Bearer {self.token}" else f"not the token: {given}"

    def broken_condition(self, request, found):
        wanted = request.headers.get("x-goog-if-generation-match")
        there = str(found.generation) if found else "0"
        return "" if wanted in (None, there) else "x-goog-if-generation-match"
