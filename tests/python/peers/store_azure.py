"""store_server.py as Azure Blob Storage.

Signatures (Shared Key) are computed here from Microsoft's description, and compared.
"""

import base64
import email.parser
import hmac
import xml.etree.ElementTree
from xml.sax.saxutils import escape

from store_server import MODIFIED, StoreServer, failure

SIGNED = (
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-MD5",
    "Content-Type",
    "Date",
    "If-Modified-Since",
    "If-Match",
    "If-None-Match",
    "If-Unmodified-Since",
    "Range",
)


class AzureServer(StoreServer):
    """A container. ``is_emulator``: the account is in the path, as in that of Azurite."""

    account = "account1"
    key = base64.b64encode(b"azure-key-s3cr3t").decode()

    def __init__(self, bucket, *, is_emulator=False):
        self.is_emulator = is_emulator
        self.blocks = {}  # from keys to {id: bytes}, which no object has
        super().__init__(bucket)

    def settings(self):
        place = {"AZURE_STORAGE_ENDPOINT": self.url}
        if self.is_emulator:
            place = {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": self.url}
        return {
            **place,
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
        }

    def path_in_service(self, path):
        path = path.lstrip("/")
        return path.removeprefix(f"{self.account}/") if self.is_emulator else path

    def unfinished(self):
        """None: blocks that were not listed are dropped by the service, and can't be by clients."""
        return []

    def refusal(self, request, path):
        expected = self.signature(request.method, path, request.query, request.headers)
        given = request.headers.get("Authorization", "")
        return "" if given == f"SharedKey {self.account}:{expected}" else f"signature: {given}"

    def signature(self, method, path, query, headers):
        lines = {name.lower(): value for name, value in headers.items()}
        if lines.get("content-length") == "0":
            del lines["content-length"]
        own = sorted((name, value) for name, value in lines.items() if name.startswith("x-ms-"))
        text = "\n".join(
            [
                method,
                *(lines.get(name.lower(), "") for name in SIGNED),
                *(f"{name}:{value}" for name, value in own),
                f"/{self.account}{path}",
                *(f"{name.lower()}:{value}" for name, value in sorted(query.items())),
            ]
        )
        digest = hmac.digest(base64.b64decode(self.key), text.encode(), "sha256")
        return base64.b64encode(digest).decode()

    def carry_out(self, request):
        action = request.method, request.query.get("comp", "")
        if action == ("GET", "list"):
            return self.list(request)
        if action == ("POST", "batch"):
            return self.delete_many(request)
        if action == ("PUT", "block"):
            self.blocks.setdefault(request.key, {})[request.query["blockid"]] = request.body
            return 201, b"", {}
        if action == ("PUT", "blocklist"):
            return self.put_blocks(request)
        if action == ("PUT", "") and request.headers.get("x-ms-blob-type") == "BlockBlob":
            return self.write(request, request.body)
        return failure(400, "InvalidHeaderValue")

    def write(self, request, data):
        found = self.objects.get(request.key)
        if request.headers.get("If-None-Match") == "*" and found:
            return failure(409, "BlobAlreadyExists", "The specified blob already exists.")
        wanted = request.headers.get("If-Match")
        if wanted and (found is None or found.etag != wanted):
            return failure(412, "ConditionNotMet", "a condition is not met")
        found = self.put(request.key, data)
        return 201, b"", {"ETag": found.etag, "Last-Modified": MODIFIED}

    def put_blocks(self, request):
        there = self.blocks.pop(request.key, {})
        listed = [one.text for one in xml.etree.ElementTree.fromstring(request.body)]
        if any(block not in there for block in listed):
            return failure(400, "InvalidBlockList")
        return self.write(request, b"".join(there[block] for block in listed))

    def list(self, request):
        assert request.query["restype"] == "container", request
        entries, following = self.page(request, int(request.query.get("marker", "0")))
        items = []
        for name, is_folder in entries:
            if is_folder:
                items.append(f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>")
                continue
            found = self.objects[name]
            items.append(
                f"<Blob><Name>{escape(name)}</Name><Properties>"
                f"<Last-Modified>{MODIFIED}</Last-Modified><Etag>{escape(found.etag)}</Etag>"
                f"<Content-Length>{len(found.data)}</Content-Length>"
                "<Content-Type>application/octet-stream</Content-Type>"
                "<BlobType>BlockBlob</BlobType></Properties></Blob>"
            )
        marker = "" if following is None else str(following)
        return (
            200,
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults>'
            f"<Blobs>{''.join(items)}</Blobs><NextMarker>{marker}</NextMarker>"
            "</EnumerationResults>".encode(),
            {},
        )

    def delete_many(self, request):
        """Blob Batch: requests in the parts of a body, answers in those of another one."""
        boundary = request.headers["Content-Type"].partition("boundary=")[2].encode()
        answers = []
        for part in request.body.split(b"--" + boundary)[1:-1]:
            head, _, inner = part.strip(b"\r\n").partition(b"\r\n\r\n")
            number = email.parser.BytesParser().parsebytes(head)["Content-ID"]
            line, _, rest = inner.partition(b"\r\n")
            method, path, _ = line.decode().split()
            headers = dict(email.parser.BytesParser().parsebytes(rest).items())
            # The account and the container are in the path.
            expected = self.signature(method, path, {}, headers)
            key = self.key_of(path)
            if headers.get("Authorization") != f"SharedKey {self.account}:{expected}":
                status = "403 Forbidden"
            else:
                status = "202 Accepted" if self.objects.pop(key, None) else "404 Not Found"
            answers.append(
                f"--answers\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
                f"HTTP/1.1 {status}\r\nx-ms-version: 2023-11-03\r\n\r\n"
            )
        body = "".join(answers) + "--answers--\r\n"
        return 202, body.encode(), {"Content-Type": "multipart/mixed; boundary=answers"}
