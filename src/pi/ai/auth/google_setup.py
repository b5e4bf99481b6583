"""What Google's own tools have set up on this machine: variables, and a file of credentials."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pi.ai.errors import AuthenticationFailed
from pi.base.files import expand_home

PROJECT_VARIABLES = ("GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT")
"""Name the project that pays; the first one that is set counts."""
LOCATION_VARIABLES = ("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION")
"""Name the place where models run."""
FILE_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"


def credential_file(environ: Mapping[str, str]) -> Path | None:
    """The file that holds credentials: the named one, or that of ``gcloud`` if it is there."""
    if named := environ.get(FILE_VARIABLE):
        return expand_home(named)
    path = _gcloud_folder(environ) / "application_default_credentials.json"
    return path if path.is_file() else None


def check_credential_file(environ: Mapping[str, str]) -> None:
    """Raise ``AuthenticationFailed`` if the variable names a file that does not exist.

    Google's own libraries do not go on to other credentials then either: they might be those of
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
