"""Which of our variables a child process may see."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

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


def allow_listed(environ: Mapping[str, str]) -> dict[str, str]:
    """The harmless part of ``environ``: for extensions, servers, status commands, installers."""
    return {
        name: value for name, value in environ.items() if re.fullmatch(ALLOWED, name, re.IGNORECASE)
    }


def desktop_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of ``environ`` for clipboard programs and tmux.

    A clipboard program stays in the background as long as it owns the clipboard, with everything
    that it was given.
    """
    pattern = rf"{ALLOWED}|{DESKTOP}"
    return {
        name: value for name, value in environ.items() if re.fullmatch(pattern, name, re.IGNORECASE)
    }


def without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """``environ`` for the person's own commands: all but ``names`` and what misleads git."""
    return {
        name: value
        for name, value in environ.items()
        if name not in names and not re.fullmatch(GIT_PLACES, name)
    }
