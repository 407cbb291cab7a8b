"""Faults of the servers of stores, and tests without the pauses between repetitions."""

import datetime
import time
import unittest.mock

from recordpipe import store_requests, store_settings
from store_server import Fault

LARGE = [bytes([i + 1]) * 999_999 for i in range(18)]  # two parts
BUSY = Fault(status=503, body="<Error><Code>SlowDown</Code><Message>s3cr3t</Message></Error>")
LOST = Fault(is_lost=True)
# Seconds. obstore itself gives up after about two.
OUTAGE = 4


def is_read(request):
    return request.is_read


def is_block(request):
    """Of those that a pass reads one after another; fingerprints of files are shorter."""
    first, last = (request.is_read and request.range()) or (0, 0)
    return first > 0 and last - first > 100_000


def is_write(request):
    return request.method in ("PUT", "POST")


def is_part(request):
    return request.method == "PUT" and ("partNumber" in request.query or "block" in action(request))


def is_completion(request):
    """The last request of an upload in parts."""
    return action(request) == "blocklist" or (
        request.method == "POST" and "uploadId" in request.query
    )


def action(request):
    return request.query.get("comp", "")


def for_a_while(wanted, fault, seconds=OUTAGE):
    """From the first of these requests on."""
    begin = []

    def fault_of(request):
        if not wanted(request):
            return None
        begin.append(time.monotonic())
        return fault if begin[-1] - begin[0] < seconds else None

    return fault_of


def always(wanted, fault):
    return lambda request: fault if wanted(request) else None


class Patched:
    """Without the pauses, and without repetitions by obstore of what is repeated here."""

    def setUp(self):
        super().setUp()
        pauses = {
            "init_backoff": datetime.timedelta(seconds=0.01),
            "max_backoff": datetime.timedelta(seconds=0.1),
            "base": 2,
        }
        self.change(unittest.mock.patch.object(store_requests, "_FIRST_PAUSE", 0.01))
        self.change(unittest.mock.patch.dict(store_settings._SHORT, max_retries=0))
        self.change(unittest.mock.patch.dict(store_settings._PARTS, backoff=pauses))

    def patience(self, seconds):
        self.change(unittest.mock.patch.object(store_requests, "_PATIENCE", seconds))

    def change(self, patch):
        patch.start()
        self.addCleanup(patch.stop)
