"""Which of our variables a child process may see."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

MARKER = "PI_CHILD_ID"
"""Variable by which a descendant is known although its parents are gone.

Holds the names of all our children above it, so that what a pi inside a pi starts is found too.
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
    r"|TERMUX_.*|ANDROID_.*|PREFIX|LD_LIBRARY_PATH|LD_PRELOAD"  # programs of Termux need these
)
"""What a program needs beside ``ALLOWED`` to reach the screen and the clipboard."""
GIT_PLACES = (
    r"GIT_((COMMON_)?DIR|(IMPLICIT_)?WORK_TREE|(INDEX|GRAFT|SHALLOW)_FILE|NAMESPACE|PREFIX"
    r"|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|REPLACE_REF_BASE|NO_REPLACE_OBJECTS"
    r"|INTERNAL_SUPER_PREFIX)"
)
"""What ties git to one repository, wherever it is run."""


def with_absolute_path(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` with the absolute folders of PATH only: for what pi starts on its own.

    Others (``.``, ``node_modules/.bin``, an empty one) mean a folder of the project, whose ``git``
    or ``rg`` would run although nobody trusts it. Commands of the user and of the model keep them.
    """
    return {
        name: _absolute(value) if name.upper() == "PATH" else value
        for name, value in environ.items()
    }


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Where a program is, in the absolute folders of PATH or at the path that ``name`` is."""
    import shutil  # takes 5 ms, and most runs look for no program

    return shutil.which(name, path=_absolute(environ.get("PATH", os.defpath)))


def allow_listed(environ: Mapping[str, str]) -> dict[str, str]:
    """The harmless part of ``environ``: for extensions, servers, status commands, installers."""
    return with_absolute_path(_matching(environ, ALLOWED))


def desktop_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of ``environ`` for clipboard programs and tmux.

    A clipboard program stays in the background as long as it owns the clipboard, with everything
    that it was given.
    """
    return with_absolute_path(_matching(environ, rf"{ALLOWED}|{DESKTOP}"))


def without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """``environ`` for the person's own commands: all but ``names`` and what misleads git."""
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
