"""The User-Agent of requests, e.g. ``pi (linux 6.18.44; x64)``."""

from __future__ import annotations

import sys
from functools import cache

ARCHITECTURES = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "i386": "ia32",
    "i686": "ia32",
    "x86": "ia32",
    "armv6l": "arm",
    "armv7l": "arm",
    "ppc64le": "ppc64",
}
"""Node's names for architectures, which servers expect from pi."""


@cache
def user_agent() -> str:
    """The ``User-Agent`` header of every request."""
    import platform  # lazy: slow to load, and only a request needs it

    # Windows keeps in its version what others call a release: 10.0.19045 beside a bare 10.
    release = platform.version() if sys.platform == "win32" else platform.release()
    return describe(sys.platform, release, platform.machine())


def describe(system: str, release: str, machine: str) -> str:
    """Return the header for these values of ``platform``; non-ASCII parts are left out."""
    name = machine.lower()
    text = f"pi ({system} {release}; {ARCHITECTURES.get(name, name)})"
    return "".join(character for character in text if " " <= character <= "~")
