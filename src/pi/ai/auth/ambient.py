"""Credentials that a cloud's own tools have put on this machine: whether they seem to be there.

Only what was set up on purpose counts: variables that exist for nothing else. The chains
themselves are run by the wires.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Literal

from pi.ai.auth.google_setup import (
    LOCATION_VARIABLES,
    PROJECT_VARIABLES,
    check_credential_file,
    credential_file,
)

SKIP_AUTH = "AWS_BEDROCK_SKIP_AUTH"
"""``1``: a proxy authenticates the requests itself, so that they are signed with dummy keys."""

AWS_SIGNS = (
    ("AWS_PROFILE",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
    ("AWS_WEB_IDENTITY_TOKEN_FILE",),
)
GOOGLE_SIGNS = tuple(product(PROJECT_VARIABLES, LOCATION_VARIABLES))

SECRET_VARIABLES = (
    # Also the id, which is no secret: a program that finds it without its key stops there and does
    # not look for a profile.
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
)
"""Variables of a cloud's chain that hold a secret themselves, not the place of one."""

NAMES = {"aws": "AWS credentials", "google": "Google application default credentials"}


def is_there(cloud: Literal["aws", "google"], environ: Mapping[str, str]) -> bool:
    """Whether the chain of ``cloud`` will probably find something, without asking it."""
    if cloud == "aws":
        return environ.get(SKIP_AUTH) == "1" or _any_set(AWS_SIGNS, environ)
    return _any_set(GOOGLE_SIGNS, environ) and credential_file(environ) is not None


def check(cloud: Literal["aws", "google"], environ: Mapping[str, str]) -> None:
    """Raise ``AuthenticationFailed`` where the variables of ``cloud`` cannot be right."""
    if cloud == "google":
        check_credential_file(environ)


def _any_set(signs: tuple[tuple[str, ...], ...], environ: Mapping[str, str]) -> bool:
    return any(all(environ.get(name) for name in names) for names in signs)
