"""Package sources (``npm:``, ``git:``, ``pypi:``, a path), install folders and errors.

Pure, except that ``file:`` repositories are checked for existence.
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


class PackageProblem(PiError):
    """Base class of package errors."""


class BadSource(PackageProblem):
    """The source is invalid, or would lead out of the install folder."""


class NoMatchingPackage(PackageProblem):
    """The settings do not contain the package."""

    def __init__(self, source: str) -> None:
        super().__init__(f"No matching package found for {source}")


class InstallDeclined(PackageProblem):
    """The user declined the installation; nothing was changed."""


class InstallFailed(PackageProblem):
    """A package could not be installed or removed; the previous version is still there."""


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
"""Characters that are not allowed in folder names."""
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
        """The argument for npm."""
        return f"{self.name}@{self.version or 'latest'}"


class PypiSource(Record):
    """A distribution of the Python package index."""

    name: str
    """Normalised: lower case, single hyphens."""
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
        """The argument for pip."""
        return f"{self.name}{self.extras}" + (f"=={self.version}" if self.version else "")


class GitSource(Record):
    """A git repository."""

    url: str
    """The argument for git."""
    segments: tuple[str, ...]
    """Host and path, independent of the protocol."""
    ref: str = ""
    """A branch, a tag or a commit; git resolves which."""

    @property
    def identity(self) -> str:
        """The same for every ref, and for https and ssh."""
        return f"git:{'/'.join(self.segments)}"

    @property
    def is_local(self) -> bool:
        """Whether it needs no network."""
        return self.url.startswith("file:")


class LocalSource(Record):
    """A folder, or a file that is one extension; used in place."""

    path: Path

    @property
    def identity(self) -> str:
        """The real path, so that a link is not a second package."""
        return os.path.realpath(self.path)


Source: TypeAlias = NpmSource | PypiSource | GitSource | LocalSource


def parse_source(text: str, base: Path) -> Source:
    """Parse a source; paths are relative to ``base``. Raises ``BadSource``."""
    text = text.strip()
    if not text or "\0" in text:
        raise _bad_source(text, "it is empty" if not text else "it holds a zero byte")
    if is_too_long(text):
        raise _bad_source(f"{text[:_SHOWN]}…", "it is too long for the name of a folder")
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
    except RuntimeError as error:  # ~name of a user that does not exist
        raise _bad_source(text, str(error)) from error


def stored_form(source: Source, text: str, base: Path) -> str:
    """Return ``text`` for a settings file in ``base``: a path becomes relative to that folder."""
    if not isinstance(source, LocalSource):
        return text.strip()
    try:
        relative = Path(os.path.relpath(source.path, base)).as_posix()
    except ValueError:  # another drive
        return str(source.path)
    return relative if relative.startswith(".") else f"./{relative}"


def without_password(text: str) -> str:
    """Return ``text`` for a message: one line, without user name and password in URLs."""
    return re.sub(r"(?<=://)[^/\s@]+@", "", one_line(text))


def _npm(text: str, rest: str) -> NpmSource:
    match = re.fullmatch(_NPM, rest)
    if match is None:
        raise _bad_source(
            text, "npm packages are npm:name or npm:@owner/name, with or without @version"
        )
    return NpmSource(name=match["name"], version=(match["version"] or "").strip())


def _pypi(text: str, rest: str) -> PypiSource:
    match = re.fullmatch(_PYPI, rest.replace(" ", ""))
    if match is None:
        raise _bad_source(text, "packages of the Python index are pypi:name or pypi:name==version")
    return PypiSource(
        name=normal_name(match["name"]),
        extras=match["extras"] or "",
        version=match["version"] or "",
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
            raise _bad_source(text, "repositories are git:host/owner/name, or an address")
        return _repository(text, f"https://{host}/{path}", host, path, ref)
    try:
        parts = urlsplit(rest)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _bad_source(text, str(error)) from error
    path, ref = _split_ref(parts.path)
    if (parts.username or "").startswith("-"):
        raise _bad_source(text, "ssh would parse the user name as an option")
    if parts.scheme == "file":
        host = "file"  # install folder of local repositories
        if "/" in ref and not _is_repository(path, parts.path):
            path, ref = parts.path, ""  # the @ belongs to the name of a folder
    elif port is not None:
        host = f"{host}-{port}"  # a colon is not allowed in folder names
    return _repository(text, parts._replace(path=path).geturl(), host, path, ref)


def _repository(text: str, url: str, host: str, path: str, ref: str) -> GitSource:
    if not re.fullmatch(_HOST, host):
        raise _bad_source(text, f'"{host}" is not a host name')
    if ref and not re.fullmatch(_REF, ref):
        raise _bad_source(text, f'"{ref}" is not a valid name of a branch, tag or commit')
    parts = path.strip("/").removesuffix(".git").split("/")
    if any(part in ("", ".", "..", ".git") or re.search(_UNFIT, part) for part in parts):
        raise _bad_source(text, "its path cannot be the name of a folder")
    return GitSource(url=url, segments=(host.lower(), *parts), ref=ref)


def _is_repository(path: str, instead_of: str) -> bool:
    """Whether ``path`` is a folder and the longer name ``instead_of`` does not exist."""
    return Path(unquote(path)).is_dir() and not Path(unquote(instead_of)).exists()


def _split_ref(path: str) -> tuple[str, str]:
    """Split at the last ``@``; the ref may contain slashes."""
    match = re.fullmatch(_WITH_REF, path)
    return (match["path"], match["ref"]) if match else (path, "")


def _bad_source(text: str, why: str) -> BadSource:
    return BadSource(
        f'Cannot understand the package source "{without_password(text)}": {one_line(why)}.',
        hint="Write npm:name, pypi:name, git:host/owner/name, an address or a path.",
    )


REQUIREMENTS_FOLDER = ".pi-needs"


class PackageLocation(Record):
    """An install location: the agent directory, a project's ``.pi``, or a folder for one run.

    It has one subfolder for each kind of source.
    """

    scope: Scope
    base: Path
    """The folder of its settings file, which relative paths in it are relative to."""

    def target(self, source: Source) -> Path:
        """Return the folder of a package, whether installed or not."""
        match source:
            case NpmSource(name=name):
                return self.npm.joinpath("node_modules", *name.split("/"))
            case GitSource(segments=segments):
                return self.git.joinpath(*segments)
            case PypiSource(name=name):
                return self.pypi / name
            case LocalSource(path=path):
                return path

    def needs(self, source: GitSource | LocalSource) -> Path:
        """Return the folder for a package's requirements from the Python index."""
        if isinstance(source, GitSource):
            # Inside the checkout, so that both are replaced together.
            return self.target(source) / REQUIREMENTS_FOLDER
        number = crc32(source.identity.encode("utf-8", "surrogateescape"))
        # Truncated, so that name and number fit into the longest file name.
        return self.base / REQUIREMENTS_FOLDER / f"{source.path.name[:50]}-{number:08x}"

    @property
    def npm(self) -> Path:
        """The npm project for all packages of npm."""
        return self.base / "npm"

    @property
    def git(self) -> Path:
        """The folder of checkouts, by host and path."""
        return self.base / "git"

    @property
    def pypi(self) -> Path:
        """The folder of distributions, each with its requirements."""
        return self.base / "pypi"


MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 2000
"""Linux allows 4096 for a path, which includes the folder above a package."""


def is_too_long(path: str) -> bool:
    """Whether a path, or one of the names in it, is longer than common file systems allow."""
    encoded = path.encode("utf-8", "surrogatepass")
    return len(encoded) > MAX_PATH_BYTES or max(map(len, encoded.split(b"/"))) > MAX_NAME_BYTES


def normal_name(name: str) -> str:
    """Normalise a distribution name as the index does."""
    return re.sub(r"[-_.]+", "-", name).lower()
