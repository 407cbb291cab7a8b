"""Credentials and regions of AWS profiles, for obstore, which doesn't read them.

https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html
"""

from __future__ import annotations

import configparser
import datetime
import os
from typing import Any

from recordpipe.errors import Error, _make

__all__ = ["ProfileCredentials", "options_of_profile"]

# A program may write new keys to the files. obstore asks again five minutes before the end.
_FRESH = datetime.timedelta(minutes=10)
# What AWS's tools take before the keys, and after them.
_BEFORE = ("role_arn", "sso_session", "sso_start_url")
_AFTER = ("credential_process", "login_session")


def options_of_profile() -> dict[str, Any]:
    """Options of obstore's S3Store for the profile of AWS_PROFILE, or "default".

    None of its credentials if the environment has any: the order is that of AWS's own tools.
    """
    environment = os.environ
    has_region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    given = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")
    has_credentials = any(environment.get(name) for name in given)
    if environment.get("AWS_NO_SIGN_REQUEST", "").lower() == "true":
        has_credentials = True
    if has_region and has_credentials:
        return {}
    settings = _settings()
    options: dict[str, Any] = {}
    if not has_region and settings.get("region"):
        options["region"] = settings["region"]
    if has_credentials:
        return options
    if settings.get("web_identity_token_file"):
        for name in ("web_identity_token_file", "role_arn", "role_session_name"):
            if settings.get(name):
                options[name] = settings[name]
        return options
    _refuse(settings, _BEFORE)
    if settings.get("aws_access_key_id"):
        options["credential_provider"] = ProfileCredentials()
    else:
        _refuse(settings, _AFTER)
    return options


class ProfileCredentials:
    """The keys in the files, read again every five minutes. A pickle has none of them."""

    def __call__(self) -> dict[str, Any]:
        settings = _settings()
        key, secret = settings.get("aws_access_key_id"), settings.get("aws_secret_access_key")
        if not key or not secret:
            reason = f"the profile {_name()} has no aws_access_key_id or no aws_secret_access_key"
            hint = "see ~/.aws/credentials"
            raise _make("permission_denied", f"{reason} ({hint})", None, None, reason, hint)
        return {
            "access_key_id": key,
            "secret_access_key": secret,
            "token": settings.get("aws_session_token"),
            "expires_at": datetime.datetime.now(datetime.UTC) + _FRESH,
        }


def _name() -> str:
    return os.environ.get("AWS_PROFILE") or "default"


def _settings() -> dict[str, str]:
    """The settings of the profile; those of the credentials file come first."""
    name, found = _name(), None
    for variable, file, sections in (
        ("AWS_CONFIG_FILE", "config", (f"profile {name}", *([name] if name == "default" else []))),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", (name,)),
    ):
        path = os.path.expanduser(os.environ.get(variable) or f"~/.aws/{file}")
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            # The error's own text shows lines of the file, which may be secret.
            reason = "not a file of AWS profiles"
            hint = "correct it, or set AWS_ACCESS_KEY_ID and AWS_REGION"
            message = f"{path}: {reason} ({hint})"
            raise _make("corrupted", message, path, None, reason, hint) from None
        for section in sections:
            if parser.has_section(section):
                found = {**(found or {}), **parser[section]}
    if found is None and os.environ.get("AWS_PROFILE"):
        reason, hint = f"no profile {name}, which AWS_PROFILE names", "see ~/.aws/credentials"
        raise _make("not_found", f"{reason} ({hint})", None, None, reason, hint)
    return found or {}


def _refuse(settings: dict[str, str], names: tuple[str, ...]) -> None:
    for name in names:
        if settings.get(name):
            raise _refused(name)


def _refused(name: str) -> Error:
    reason = f"the profile {_name()} takes credentials from {name}, which recordpipe can't do"
    hint = f'run: eval "$(aws configure export-credentials --profile {_name()} --format env)"'
    return _make("unsupported", f"{reason} ({hint})", None, None, reason, hint)
