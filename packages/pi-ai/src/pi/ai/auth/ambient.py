"""Detects credentials of AWS, Google and Anthropic that are set up on this machine.

Only variables that exist for this purpose count. The wires run the credential chains.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from pi.ai.errors import AuthenticationFailed
from pi.ai.provider import Cloud
from pi.base.files import expand_home

PROJECT_VARIABLES = ("GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT")
"""Name the project that is billed; the first one that is set counts."""
LOCATION_VARIABLES = ("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION")
"""Name the region where models run."""
FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"


def credential_file(environ: Mapping[str, str]) -> Path | None:
    """Return the credential file: the named one, or that of ``gcloud`` if it exists."""
    if named := environ.get(FILE_VARIABLE):
        return expand_home(named)
    path = _gcloud_folder(environ) / "application_default_credentials.json"
    return path if path.is_file() else None


def check_credential_file(environ: Mapping[str, str]) -> None:
    """Raise ``AuthenticationFailed`` if the variable names a file that does not exist.

    Google's own libraries do not fall back to other credentials either: they might belong to
    another account.
    """
    named = environ.get(FILE_VARIABLE)
    if named and not expand_home(named).exists():
        raise AuthenticationFailed(
            f"{FILE_VARIABLE} names a file that does not exist: {named}",
            hint="Correct the path, or unset the variable to use the login of "
            "`gcloud auth application-default login`.",
        )


def _gcloud_folder(environ: Mapping[str, str]) -> Path:
    if folder := environ.get("CLOUDSDK_CONFIG"):
        return Path(folder)
    if sys.platform == "win32":
        return Path(environ.get("APPDATA", "C:\\")) / "gcloud"
    return Path(environ.get("HOME", "/")) / ".config" / "gcloud"


SKIP_AUTH = "AWS_BEDROCK_SKIP_AUTH"
"""``1``: a proxy authenticates the requests itself, so they are signed with dummy keys."""

AWS_SIGNS = (
    ("AWS_PROFILE",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
    ("AWS_WEB_IDENTITY_TOKEN_FILE",),
)
GOOGLE_SIGNS = tuple(product(PROJECT_VARIABLES, LOCATION_VARIABLES))

ANTHROPIC_VARIABLES = (
    "ANTHROPIC_FEDERATION_RULE_ID",
    "ANTHROPIC_ORGANIZATION_ID",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
)
"""Together they are Anthropic's workload identity: see ``anthropic_identity``."""
SIGNS: Mapping[Cloud, tuple[tuple[str, ...], ...]] = {
    "anthropic": (ANTHROPIC_VARIABLES,),
    "aws": AWS_SIGNS,
    "google": GOOGLE_SIGNS,
}

SECRET_VARIABLES = (
    # Includes the id, which is not secret: a program that finds it without its key stops there and
    # does not look for a profile.
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
)
"""Variables of a cloud's chain that hold a secret themselves, not its location."""

NAMES: Mapping[Cloud, str] = {
    "anthropic": "workload identity",
    "aws": "AWS credentials",
    "google": "Google application default credentials",
}
WAYS: Mapping[Cloud, str] = {
    "aws": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,",
    "google": "run `gcloud auth application-default login` and set GOOGLE_CLOUD_PROJECT and"
    " GOOGLE_CLOUD_LOCATION,",
}
"""How to set up the chain of a cloud."""


def has_credentials(cloud: Cloud, environ: Mapping[str, str]) -> bool:
    """Whether the chain of ``cloud`` will probably find credentials, without running it."""
    if cloud == "aws" and environ.get(SKIP_AUTH) == "1":
        return True
    is_set_up = _any_set(SIGNS[cloud], environ)
    return is_set_up and (cloud != "google" or credential_file(environ) is not None)


def check(cloud: Cloud, environ: Mapping[str, str]) -> None:
    """Raise ``AuthenticationFailed`` where the chain of ``cloud`` is known to fail:

    a variable names a file that does not exist, or the library that reads the credentials is not
    installed.
    """
    if cloud == "google":
        check_credential_file(environ)
        if credential_file(environ) is not None and not _is_installed("google.auth"):
            raise google_auth_is_missing()
    elif cloud == "aws" and _needs_botocore(environ) and not _is_installed("botocore"):
        from pi.base.installation import extra_command  # lazy: for errors only

        raise AuthenticationFailed(
            "AWS profiles and roles need the package botocore, which is not installed:"
            f" run `{extra_command('bedrock')}`.",
            hint="Or set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )


def google_auth_is_missing() -> AuthenticationFailed:
    """Return the error for Google credentials without the library that reads them."""
    from pi.base.installation import extra_command  # lazy: for errors only

    return AuthenticationFailed(
        "Google credentials need the package google-auth, which is not installed:"
        f" run `{extra_command('vertex')}`.",
        hint="Or set GOOGLE_CLOUD_API_KEY.",
    )


def _needs_botocore(environ: Mapping[str, str]) -> bool:
    """Whether botocore is required: neither dummy keys nor a pair of keys are set."""
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return environ.get(SKIP_AUTH) != "1" and not all(environ.get(name) for name in keys)


def _is_installed(module: str) -> bool:
    """Whether a module can be imported, without the half second that importing it takes."""
    try:
        return find_spec(module) is not None
    except ImportError:  # its parent package is missing
        return False


def _any_set(signs: tuple[tuple[str, ...], ...], environ: Mapping[str, str]) -> bool:
    return any(all(environ.get(name) for name in names) for names in signs)
