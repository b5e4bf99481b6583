"""Finds the repository of a call, its host and the token for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pi.extension import Record, ToolFailed, one_line

PUBLIC = "github.com"
TENANTS = ".ghe.com"
"""Domain of the hosts of GitHub Enterprise Cloud with data residency."""
PUBLIC_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
SERVER_TOKENS = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
"""Same order as in the gh program. A token is never sent to a host of the other kind."""
TOKENS = (*PUBLIC_TOKENS, *SERVER_TOKENS)
REMOTES = ("upstream", "github", "origin")
"""Names of remotes in the order in which gh searches for the repository."""

_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9_])?"
_NAME = r"(?!\.{1,2}(?:$|/))[A-Za-z0-9._-]{1,100}"
_REPOSITORY = re.compile(rf"(?:(?P<host>[A-Za-z0-9.:-]+)/)?(?P<owner>{_OWNER})/(?P<name>{_NAME})")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?P<path>[^\s]+)")


class Repository(Record):
    """A repository of GitHub."""

    host: str
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        """``owner/name``."""
        return f"{self.owner}/{self.name}"

    @property
    def label(self) -> str:
        """The name for display, with the host if it is not the public one."""
        return self.full_name if self.host == PUBLIC else f"{self.host}/{self.full_name}"


def default_host(environ: Mapping[str, str]) -> str:
    """The host of ``GH_HOST``, or the public one. Raises ``ToolFailed`` if it is invalid."""
    host = environ.get("GH_HOST", "").strip().casefold() or PUBLIC
    if not _HOST.fullmatch(host):
        raise ToolFailed(f"GH_HOST is not a host name: {one_line(host)[:100]}")
    return host


def api_url(host: str) -> str:
    """The address of the REST API of a host."""
    if host == PUBLIC or host.endswith(TENANTS):
        return f"https://api.{host}"
    return f"https://{host}/api/v3"


def token_for(host: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable with the token for a host, and the token; both empty if there is none."""
    names = PUBLIC_TOKENS if host == PUBLIC or host.endswith(TENANTS) else SERVER_TOKENS
    for name in names:
        if token := environ.get(name, "").strip():
            # A line break would end the header that carries the token.
            return (name, token) if token.isascii() and token.isprintable() else ("", "")
    return "", ""


def parse_repository(text: str, host: str) -> Repository:
    """Parse ``owner/name`` or ``host/owner/name``. Raises ``ToolFailed``, also for other hosts."""
    match = _REPOSITORY.fullmatch(text.strip().removesuffix(".git"))
    if match is None:
        raise ToolFailed(f"{one_line(text)[:100]!r} is not a repository. Write owner/name.")
    named = (match["host"] or host).casefold()
    if named not in (PUBLIC, host):
        raise ToolFailed(other_host(named))
    return Repository(host=named, owner=match["owner"], name=match["name"])


def other_host(named: str) -> str:
    """The error for another host: a remote could name any host, which would get the token."""
    return (
        f"{one_line(named)[:100]} is not {PUBLIC}. For GitHub Enterprise the user sets GH_HOST to"
        " the host and GH_ENTERPRISE_TOKEN to a token, before pi is started."
    )


def repository_of_url(url: str) -> tuple[str, str] | None:
    """Host and path of the address of a remote; ``None`` for local folders."""
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:  # "https://[x": a project may name any address
            return None
        host, path = parts.hostname or "", parts.path
    elif match := _SCP.fullmatch(url):
        host, path = match["host"], match["path"]
    else:
        return None
    host = host.casefold()
    # GitHub's ssh server for networks that block port 22 has a name of its own.
    host = PUBLIC if host == f"ssh.{PUBLIC}" else host
    return (host, path.strip("/").removesuffix(".git")) if host and path else None


def repository_of_remotes(listed: str, host: str) -> Repository:
    """The repository of ``git remote -v``. Raises ``ToolFailed`` if no remote is at a known host.

    ``upstream`` comes before ``origin``, because it has the issues and pull requests.
    """
    urls: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, rest = line.partition("\t")
        url, _, kind = rest.rpartition(" ")
        if kind == "(fetch)":
            urls[name] = url.strip()
    others = list[str]()
    for name in sorted(urls, key=lambda name: (_rank(name), name)):
        location = repository_of_url(urls[name])
        if location is None:
            continue
        named, path = location
        if named in (PUBLIC, host) and path.count("/") == 1:
            return parse_repository(f"{named}/{path}", host)
        others.append(named)
    if others:
        raise ToolFailed(f"No remote of this project is at {host}. {other_host(others[0])}")
    raise ToolFailed("This project has no remote at GitHub. Give repo as owner/name.")


def _rank(name: str) -> int:
    return REMOTES.index(name) if name in REMOTES else len(REMOTES)
