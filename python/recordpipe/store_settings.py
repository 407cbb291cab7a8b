"""The options with which obstore opens the bucket of a URL: the settings of the environment.

obstore reads AWS_..., GOOGLE_... and AZURE_... itself, but takes settings of its HTTP client from
the environment only if none are passed. Here, names that the services' own tools read are added.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import re
from typing import Any, Literal

from recordpipe.aws_profile import options_of_profile
from recordpipe.errors import _make

__all__ = ["VARIABLES", "Use", "options_of"]

# What a store is for: requests that are repeated here (store_requests.py), reading or writing; or
# uploads in parts, which only obstore can repeat.
Use = Literal["read", "write", "parts"]

# How the names of the variables of a scheme begin.
VARIABLES = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}
_CLIENT = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "default_content_type",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "randomize_addresses",
    "read_timeout",
    "timeout",
    "user_agent",
)

# By default, obstore ends a request after 30 seconds, also one whose bytes are still coming or
# going: that of 16 MiB needs 4.5 Mbit/s, and twelve at a time are under way. The time without a
# byte is the better bound, but obstore counts it only while it reads.
_SILENCE = "30s"
_LONGEST = {"read": "5m", "write": "2m", "parts": "5m"}
# An answer that doesn't change, such as 501 (Not Implemented), is repeated by obstore, too: about
# two seconds long. What passes is repeated for longer by store_requests.py.
_SHORT = {"max_retries": 10, "retry_timeout": datetime.timedelta(seconds=30)}
# A part whose connection was lost is sent again: retry_timeout is longer than two requests.
_PARTS = {
    "max_retries": 8,
    "retry_timeout": datetime.timedelta(minutes=11),
    "backoff": {
        "init_backoff": datetime.timedelta(seconds=0.5),
        "max_backoff": datetime.timedelta(seconds=16),
        "base": 4,
    },
}


def options_of(bucket: str, use: Use) -> dict[str, Any]:
    """Options of ``obstore.store.from_url()``."""
    scheme = bucket.partition("://")[0]
    options: dict[str, Any] = {"retry_config": _PARTS if use == "parts" else _SHORT}
    client: dict[str, Any] = {}
    if use != "read":
        client["timeout"] = _LONGEST[use]
    elif _knows_silence():
        client |= {"timeout": _LONGEST[use], "read_timeout": _SILENCE}
    if scheme == "s3":
        options |= _amazon()
        client["allow_http"] = _is_bare(
            options.get("endpoint") or _variable("AWS_ENDPOINT"), "AWS_ENDPOINT_URL"
        )
    elif scheme == "gs":
        options |= _google()
        client["allow_http"] = True  # as obstore does
    elif scheme == "az":
        options |= _azure()
        endpoint = options.get("endpoint") or _variable("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
        client["allow_http"] = _is_bare(endpoint, "AZURE_STORAGE_ENDPOINT")
    else:
        client["allow_http"] = scheme == "http"
    if scheme in VARIABLES:
        for name in _CLIENT:
            value = _variable(f"{VARIABLES[scheme]}_{name.upper()}")
            if value:
                client[name] = value
    return {**options, "client_options": client}


def _variable(*names: str) -> str:
    """The first of these variables that is set."""
    return next(filter(None, map(os.environ.get, names)), "")


def _is_bare(endpoint: str, variable: str) -> bool:
    """Endpoints on this machine (MinIO, moto, Azurite) have no TLS.

    obstore panics at what is no URL.
    """
    if endpoint and not re.match(r"https?://[^/?#\s]", endpoint):
        reason = f"{variable} is not an http or https URL"
        hint = "write http://HOST:PORT or https://HOST"
        raise _make("invalid_argument", f"{reason} ({hint})", None, None, reason, hint)
    return endpoint.startswith("http://")


def _knows_silence() -> bool:
    version = re.findall(r"\d+", importlib.metadata.version("obstore"))
    return [int(part) for part in version[:2]] >= [0, 11]


def _amazon() -> dict[str, Any]:
    options: dict[str, Any] = {}
    endpoint = _variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    if endpoint:
        options["endpoint"] = endpoint
    if _variable("AWS_NO_SIGN_REQUEST").lower() == "true":
        options["skip_signature"] = True
    return options | options_of_profile()


def _google() -> dict[str, Any]:
    """STORAGE_EMULATOR_HOST: no token is sent to it."""
    host = _variable("STORAGE_EMULATOR_HOST")
    if not host:
        return {}
    url = host if "://" in host else f"http://{host}"
    return {"base_url": url.rstrip("/"), "bearer_token": ""}


def _azure() -> dict[str, Any]:
    """AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY and AZURE_STORAGE_CONNECTION_STRING."""
    connection = _connection_string()
    account = _variable("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    named = connection.get("AccountName")
    if account and named and named != account:
        connection = {}  # its key and its endpoint are those of another account
    options: dict[str, Any] = {}
    if account or named:
        options["account_name"] = account or named
    key = _variable(
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_KEY",
    )
    if not account and connection.get("AccountKey"):
        key = connection["AccountKey"]  # of the account that the string names
    key = key or connection.get("AccountKey", "")
    if key:
        options["account_key"] = key
    elif connection.get("SharedAccessSignature"):
        options["sas_token"] = connection["SharedAccessSignature"]
    if not _variable("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"):
        endpoint = connection.get("BlobEndpoint")
        if not endpoint and named and connection.get("EndpointSuffix"):
            protocol = connection.get("DefaultEndpointsProtocol") or "https"
            endpoint = f"{protocol}://{named}.blob.{connection['EndpointSuffix']}"
        if endpoint:
            options["endpoint"] = endpoint
    if connection.get("UseDevelopmentStorage", "").lower() == "true":
        options["use_emulator"] = True
    return options


def _connection_string() -> dict[str, str]:
    fields = {}
    for field in _variable("AZURE_STORAGE_CONNECTION_STRING").split(";"):
        name, _, value = field.partition("=")
        fields[name.strip()] = value.strip()
    return fields
