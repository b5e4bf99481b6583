"""Where a package comes from, as people write it: ``npm:``, ``git:``, ``pypi:``, a path.

Pure, except that the place of a repository on this machine is looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit
from zlib import crc32

from pi.base.errors import PiError
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.resources.sources import Scope

# Why a package cannot be had.
#
# PackageProblem ├── BadSource what was typed names no package ├── NoMatchingPackage the settings
# have no such package ├── InstallDeclined the user did not want what it brings └── InstallFailed
# it could not be fetched; what was there before is still there


class PackageProblem(PiError):
    """Something about a package."""


class BadSource(PackageProblem):
    """A source that cannot be understood, or that would lead out of where packages are kept."""


class NoMatchingPackage(PackageProblem):
    """The settings name no such package."""

    def __init__(self, source: str) -> None:
        super().__init__(f"No matching package found for {source}")


class InstallDeclined(PackageProblem):
    """The user was asked and declined; nothing was changed."""


class InstallFailed(PackageProblem):
    """A package could not be fetched, replaced or removed."""


# Patterns are compiled when first used: a session without packages needs none.
_NPM = (
    r"(?ai)(?P<name>(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@(?P<version>[^\s@/:-][^@/:]*))?"
)
_PYPI = (
    r"(?ai)(?P<name>[a-z0-9](?:[\w.-]*[a-z0-9])?)(?P<extras>\[[\w.,-]+\])?"
    r"(?:==(?P<version>[\w.!+-]+))?"
)
_URL = r"(?i)(?:https?|ssh|git|file)://"
_SCP = r"(?a)(?P<user>\w[\w.-]*)@(?P<host>[\w.-]+):(?P<path>[^/].*)"
_HOST = r"(?ai)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_WITH_REF = r"(?P<path>.*[^/])@(?P<ref>[^@]+)"
_REF = r"(?!-)[^\s~^:?*\[\\\x00-\x1f\x7f]+"
_UNFIT = r"[\\:\x00-\x1f\x7f]"
"""What no part of a path that becomes a folder may hold."""
_SHOWN = 80


class NpmSource(Record):
    """A package of the npm registry."""

    name: str
    version: str = ""

    @property
    def identity(self) -> str:
        """The same for every version."""
        return f"npm:{self.name}"

    @property
    def pinned(self) -> bool:
        """Whether an update leaves it alone."""
        return bool(self.version)

    @property
    def spec(self) -> str:
        """What npm is asked for."""
        return f"{self.name}@{self.version or 'latest'}"


class PypiSource(Record):
    """A distribution of the Python package index."""

    name: str
    """As the index compares names: small letters, single hyphens."""
    extras: str = ""
    version: str = ""

    @property
    def identity(self) -> str:
        """The same for every version."""
        return f"pypi:{self.name}"

    @property
    def pinned(self) -> bool:
        """Whether an update leaves it alone."""
        return bool(self.version)

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.name}{self.extras}" + (f"=={self.version}" if self.version else "")


class GitSource(Record):
    """A repository."""

    url: str
    """What git is asked for."""
    place: tuple[str, ...]
    """Host and path: what it is called, however it is reached."""
    ref: str = ""
    """A branch, a tag or a commit; only git can tell which."""

    @property
    def identity(self) -> str:
        """The same for every ref, and for https and ssh."""
        return f"git:{'/'.join(self.place)}"

    @property
    def is_local(self) -> bool:
        """Whether it needs no network."""
        return self.url.startswith("file:")


class LocalSource(Record):
    """A folder, or a file that is one extension; used where it is."""

    path: Path

    @property
    def identity(self) -> str:
        """The real place, so that a link to it is no second package."""
        return os.path.realpath(self.path)


Source: TypeAlias = NpmSource | PypiSource | GitSource | LocalSource


def parse_source(text: str, base: Path) -> Source:
    """What ``text`` names; paths start from ``base``. ``BadSource`` says what is wrong with it."""
    text = text.strip()
    if not text or "\0" in text:
        raise _bad(text, "it is empty" if not text else "it holds a zero byte")
    if is_too_long(text):
        raise _bad(f"{text[:_SHOWN]}…", "it is too long for the name of a folder")
    kind, _, rest = text.partition(":")
    match kind:
        case "npm":
            return _npm(text, rest)
        case "pypi":
            return _pypi(text, rest)
        case "git" if not rest.startswith("//"):
            return _git(text, rest)
    if re.match(_URL, text) or re.fullmatch(_SCP, text):
        return _git(text, text)
    try:
        return LocalSource(path=Path(os.path.normpath(base / Path(text).expanduser())))
    except RuntimeError as error:  # ~somebody who does not exist
        raise _bad(text, str(error)) from error


def stored_form(source: Source, text: str, base: Path) -> str:
    """``text`` as a settings file in ``base`` keeps it: a path is relative to that folder."""
    if not isinstance(source, LocalSource):
        return text.strip()
    try:
        relative = Path(os.path.relpath(source.path, base)).as_posix()
    except ValueError:  # another drive
        return str(source.path)
    return relative if relative.startswith(".") else f"./{relative}"


def without_password(text: str) -> str:
    """``text`` for a message: one line, and no user name or password in its addresses."""
    return re.sub(r"(?<=://)[^/\s@]+@", "", one_line(text))


# --------------------------------------------------------------------------------------------------


def _npm(text: str, rest: str) -> NpmSource:
    found = re.fullmatch(_NPM, rest)
    if found is None:
        raise _bad(text, "npm packages are npm:name or npm:@owner/name, with or without @version")
    return NpmSource(name=found["name"], version=(found["version"] or "").strip())


def _pypi(text: str, rest: str) -> PypiSource:
    found = re.fullmatch(_PYPI, rest.replace(" ", ""))
    if found is None:
        raise _bad(text, "packages of the Python index are pypi:name or pypi:name==version")
    return PypiSource(
        name=normal_name(found["name"]),
        extras=found["extras"] or "",
        version=found["version"] or "",
    )


def _git(text: str, rest: str) -> GitSource:
    if (scp := re.fullmatch(_SCP, rest)) is not None:
        path, ref = _split_ref(scp["path"])
        url = f"{scp['user']}@{scp['host']}:{path}"
        return _repository(text, url, scp["host"], path, ref)
    if not re.match(_URL, rest):
        host, _, path = rest.partition("/")
        path, ref = _split_ref(path)
        if "/" not in path.strip("/"):
            raise _bad(text, "repositories are git:host/owner/name, or an address")
        return _repository(text, f"https://{host}/{path}", host, path, ref)
    try:
        parts = urlsplit(rest)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _bad(text, str(error)) from error
    path, ref = _split_ref(parts.path)
    if (parts.username or "").startswith("-"):
        raise _bad(text, "ssh would take the name of the user for an option")
    if parts.scheme == "file":
        host = "file"  # where the folders of repositories on this machine begin
        if "/" in ref and not _is_repository(path, parts.path):
            path, ref = parts.path, ""  # a folder above has an @ in its name
    elif port is not None:
        host = f"{host}-{port}"  # a colon is no character for a folder
    return _repository(text, parts._replace(path=path).geturl(), host, path, ref)


def _repository(text: str, url: str, host: str, path: str, ref: str) -> GitSource:
    if not re.fullmatch(_HOST, host):
        raise _bad(text, f'"{host}" is no name of a host')
    if ref and not re.fullmatch(_REF, ref):
        raise _bad(text, f'"{ref}" is no name of a branch, tag or commit')
    parts = path.strip("/").removesuffix(".git").split("/")
    if any(part in ("", ".", "..", ".git") or re.search(_UNFIT, part) for part in parts):
        raise _bad(text, "its path cannot be the name of a folder")
    return GitSource(url=url, place=(host.lower(), *parts), ref=ref)


def _is_repository(path: str, instead_of: str) -> bool:
    """Whether a folder is there, and not rather one with the longer name."""
    return Path(unquote(path)).is_dir() and not Path(unquote(instead_of)).exists()


def _split_ref(path: str) -> tuple[str, str]:
    """What stands behind the last ``@`` of a path is a ref, slashes included."""
    found = re.fullmatch(_WITH_REF, path)
    return (found["path"], found["ref"]) if found else (path, "")


def _bad(text: str, why: str) -> BadSource:
    return BadSource(
        f'Cannot understand the package source "{without_password(text)}": {one_line(why)}.',
        hint="Write npm:name, pypi:name, git:host/owner/name, an address or a path.",
    )


# Where packages are kept: one folder for each kind of source, below each settings file.


REQUIREMENTS_FOLDER = ".pi-needs"


class PackageLocation(Record):
    """The agent directory, the ``.pi`` folder of a project, or a folder for one run."""

    scope: Scope
    base: Path
    """Where its settings file is, and where relative paths in it start."""

    def target(self, source: Source) -> Path:
        """Where a package is, or would be."""
        match source:
            case NpmSource(name=name):
                return self.npm.joinpath("node_modules", *name.split("/"))
            case GitSource(place=place):
                return self.git.joinpath(*place)
            case PypiSource(name=name):
                return self.pypi / name
            case LocalSource(path=path):
                return path

    def needs(self, source: GitSource | LocalSource) -> Path:
        """Where that which a package in a folder needs of the Python index is, or would be."""
        if isinstance(source, GitSource):
            return self.target(source) / REQUIREMENTS_FOLDER  # so that both change together
        number = crc32(source.identity.encode("utf-8", "surrogateescape"))
        # Cut, so that the number fits into the longest name that a file system allows.
        return self.base / REQUIREMENTS_FOLDER / f"{source.path.name[:50]}-{number:08x}"

    @property
    def npm(self) -> Path:
        """One npm project for all packages of npm."""
        return self.base / "npm"

    @property
    def git(self) -> Path:
        """One checkout for each repository, by host and path."""
        return self.base / "git"

    @property
    def pypi(self) -> Path:
        """One folder for each distribution, with what it needs beside pi."""
        return self.base / "pypi"


MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 2000
"""Bytes. Linux allows 4096 for a path, of which the folder above a package takes its part."""


def is_too_long(path: str) -> bool:
    """Whether a path, or one of the names in it, is longer than common file systems allow."""
    encoded = path.encode("utf-8", "surrogatepass")
    return len(encoded) > MAX_PATH_BYTES or max(map(len, encoded.split(b"/"))) > MAX_NAME_BYTES


def normal_name(name: str) -> str:
    """As the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()
