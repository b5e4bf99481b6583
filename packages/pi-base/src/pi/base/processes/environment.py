"""Filters of the environment for child processes."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

MARKER = "PI_CHILD_ID"
"""Variable that identifies a descendant although its parents are gone.

It lists all our children above it, so that processes started by a nested pi are found too.
"""

ALLOWED = (
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TERM|TMPDIR|TZ|XDG_.*"
    r"|(HTTP|HTTPS|FTP|ALL|NO)_PROXY|(REQUESTS|CURL|AWS)_CA_BUNDLE|NODE_EXTRA_CA_CERTS|PIP_CERT"
    r"|(NIX_)?SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CA(INFO|PATH)"
    # Windows starts hardly any program without these.
    r"|SYSTEM(ROOT|DRIVE)|WINDIR|COMSPEC|PATHEXT|TE?MP|USERNAME|USERPROFILE|(LOCAL)?APPDATA"
    rf"|PROGRAM(DATA|FILES)|{MARKER}"
)
DESKTOP = (
    r"DISPLAY|WAYLAND_.*|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|TMUX.*|WSL.*"
    r"|TERMUX_.*|ANDROID_.*|PREFIX|LD_LIBRARY_PATH|LD_PRELOAD"  # Termux programs need these
)
"""Variables that a program needs besides ``ALLOWED`` to reach the screen and the clipboard."""
GIT_PLACES = (
    r"GIT_((COMMON_)?DIR|(IMPLICIT_)?WORK_TREE|(INDEX|GRAFT|SHALLOW)_FILE|NAMESPACE|PREFIX"
    r"|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|REPLACE_REF_BASE|NO_REPLACE_OBJECTS"
    r"|INTERNAL_SUPER_PREFIX)"
)
"""Variables that tie git to one repository, wherever it is run."""


def with_absolute_path(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` with only the absolute folders of PATH: for programs that pi itself
    starts.

    Relative ones (``.``, ``node_modules/.bin``, an empty one) mean a folder of the project, whose
    ``git`` or ``rg`` would run without being trusted. Commands of the user and the model keep them.
    """
    return {
        name: _absolute(value) if name.upper() == "PATH" else value
        for name, value in environ.items()
    }


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program found in the absolute folders of PATH, or given as a path."""
    import shutil  # lazy: takes 5 ms, and most runs look for no program

    return shutil.which(name, path=_absolute(environ.get("PATH", os.defpath)))


def allow_listed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the harmless part of ``environ``: for extensions, servers, status commands,
    installers."""
    return with_absolute_path(_matching(environ, ALLOWED))


def desktop_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of ``environ`` for clipboard programs and tmux.

    A clipboard program keeps running in the background while it owns the clipboard, with its whole
    environment.
    """
    return with_absolute_path(_matching(environ, rf"{ALLOWED}|{DESKTOP}"))


def without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return ``environ`` for the user's commands: without ``names`` and ``GIT_PLACES``."""
    return {
        name: value
        for name, value in environ.items()
        if name not in names and not re.fullmatch(GIT_PLACES, name)
    }


def _matching(environ: Mapping[str, str], pattern: str) -> dict[str, str]:
    return {
        name: value for name, value in environ.items() if re.fullmatch(pattern, name, re.IGNORECASE)
    }


def _absolute(path: str) -> str:
    return os.pathsep.join(
        folder for folder in path.split(os.pathsep) if Path(folder).is_absolute()
    )
