"""Requests to the stores of URLs: which are repeated, and what an error says.

An error names the URL, the offset, the reason, and what to do. It has only the status and the code
of the server's answer, because the rest may repeat credentials.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from recordpipe.errors import Error, _make
from recordpipe.store_settings import VARIABLES

__all__ = ["Requests", "failure", "status_of"]

Answer = TypeVar("Answer")

# How long a request is repeated whose failure passes: obstore itself gives up after two seconds.
_PATIENCE = 60.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 16.0
_PASSING = (408, 429, 500, 502, 503, 504)

_STATUS = re.compile(r"non-2xx status code: (\d{3})( [A-Za-z ]+)?")
_CODE = re.compile(r"<Code>(\w+)</Code>|\"(?:code|error)\": *\"(\w+)\"")


class Requests:
    """The requests to one bucket. Thread-safe."""

    def __init__(self) -> None:
        self._has_answered = False
        # When a request was given up: those of the next minute are not repeated.
        self._given_up = -math.inf

    def send(
        self,
        request: Callable[[], Answer],
        path: str,
        offset: int | None = None,
        stopped: threading.Event | None = None,
    ) -> Answer:
        """Returns what ``request`` returns, which must be harmless to repeat.

        A request that takes longer than the time of all repetitions is still repeated once. Once
        ``stopped`` is set, nothing is repeated.

        Raises:
            FileNotFoundError: there is no such object, or no such bucket.
            obstore.exceptions.PreconditionError, AlreadyExistsError: a condition of the request
                doesn't hold.
            Error: for all other failures.
        """
        from obstore import exceptions

        stopped = stopped or threading.Event()
        begin, pause, is_repeated = time.monotonic(), _FIRST_PAUSE, False
        while True:
            try:
                answer = request()
                self._has_answered, self._given_up = True, -math.inf
                return answer
            except (
                FileNotFoundError,
                exceptions.PreconditionError,
                exceptions.AlreadyExistsError,
            ):
                self._has_answered, self._given_up = True, -math.inf
                raise
            except (exceptions.BaseError, NotImplementedError) as error:
                status = status_of(error)
                if status == 412:  # of a body that obstore began to read again
                    raise exceptions.PreconditionError(str(error)) from None
                self._has_answered |= status is not None
                if not self._passes(error, status):
                    raise failure(error, path, offset) from None
                now = time.monotonic()
                is_late = is_repeated and now - begin + pause > _PATIENCE
                if is_late:
                    self._given_up = now
                if is_late or now - self._given_up < _PATIENCE:
                    raise failure(error, path, offset) from None
                if stopped.wait(pause * random.uniform(1, 1.25)):
                    raise failure(error, path, offset) from None
            pause, is_repeated = min(2 * pause, _LONGEST_PAUSE), True

    def _passes(self, error: Exception, status: int | None) -> bool:
        if status is not None:
            return status in _PASSING
        # A name of a server that never answered is rather wrong.
        return self._has_answered and "HTTP error" in str(error)


def failure(error: Exception, path: str, offset: int | None = None) -> Error:
    """What an exception of obstore means, for who reads or writes ``path``."""
    kind, reason, hint = _meaning(error, path)
    place = "" if offset is None else f" at {offset}"
    message = f"{path}: {reason}{place} ({hint})"
    return _make(kind, message, path, offset, reason, hint)


def status_of(error: Exception) -> int | None:
    """The HTTP status in an exception of obstore; None if the server did not answer."""
    found = _STATUS.search(str(error))
    return int(found[1]) if found else None


def _meaning(error: Exception, path: str) -> tuple[str, str, str]:
    """The kind, the reason and the hint."""
    from obstore import exceptions

    text, _, details = str(error).partition("\n\nDebug source:")
    variables = VARIABLES.get(path.partition("://")[0])
    settings = f"{variables}_... in the environment" if variables else "the URL"
    found = _STATUS.search(text)
    if found:
        status = int(found[1])
        code = _CODE.search(text)
        reason = f"the server answered {found[1]}{found[2] or ''}"
        if code:
            reason += f", {code[1] or code[2]}"
        if status in (401, 403):
            return "permission_denied", reason, f"check the credentials: {settings}"
        if status == 404 and (not code or (code[1] or code[2]) != "NoSuchUpload"):
            return "not_found", f"no such bucket: {reason}", f"check its name, and {settings}"
        if status in (405, 501):
            return "unsupported", reason, "the service can't do this; use another one"
        if status in _PASSING:
            return "network", reason, "repeat it later; a job with resume=True keeps what is done"
        return "network", reason, f"check {settings}"
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return "permission_denied", "access was denied", f"check the credentials: {settings}"
    if isinstance(error, NotImplementedError | exceptions.NotSupportedError):
        return "unsupported", "the service can't do this", "use another one"
    if "non-partial response" in text:
        hint = "download the file first"
        return "unsupported", "the server sends whole files only, not ranges of them", hint
    if re.search(r"Requested \d+\.\.\d+, got \d+\.\.\d+", text):
        return "network", "the server sent another range than that asked for", "read it again"
    if "kind: Connect" in details:
        return "network", "no connection to the server", f"check the network, and {settings}"
    if "kind: Timeout" in details:
        return "network", "the server did not answer in time", "repeat it later"
    if "HTTP error" in text:
        return "network", "the transfer failed", "repeat it later"
    # Without queries, which may be signatures.
    short = re.sub(r"\?\S*", "", text.strip().splitlines()[0] if text.strip() else "no reason")
    return "network", short, f"check {settings}"
