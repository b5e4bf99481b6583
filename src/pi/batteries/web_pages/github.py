"""GitHub's addresses: files, folders, repositories, issues. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pi.extension import Record

Kind: TypeAlias = Literal["file", "folder", "repository", "issue"]
MAX_COMMENTS = 100
_NAME = r"[A-Za-z0-9._-]+"
_REPOSITORY = re.compile(rf"/({_NAME})/({_NAME}?)(?:\.git)?/?")
_FILE = re.compile(rf"/({_NAME})/({_NAME})/(?:blob|raw)/([^/]+)/(.+)")
_FOLDER = re.compile(rf"/({_NAME})/({_NAME})/tree/([^/]+)(?:/(.*))?")
_ISSUE = re.compile(rf"/({_NAME})/({_NAME})/(?:issues|pull)/(\d+)/?")
_RESERVED = frozenset(
    {"about", "apps", "collections", "contact", "enterprise", "events", "explore", "features",
     "login", "marketplace", "notifications", "orgs", "pricing", "search", "settings", "site",
     "sponsors", "topics", "trending", "users"}
)  # fmt: skip
"""First words of addresses that are not the names of users."""


class GitHubHosts(Record):
    """Where GitHub's API and its plain files are."""

    api: str = "https://api.github.com"
    raw: str = "https://raw.githubusercontent.com"


class GitHubPage(Record):
    """What an address of GitHub shows."""

    kind: Kind
    owner: str
    name: str
    ref: str = ""
    path: str = ""
    number: int = 0

    @property
    def repository(self) -> str:
        """``owner/name``."""
        return f"{self.owner}/{self.name}"

    def raw_url(self, hosts: GitHubHosts) -> str:
        """The plain text of a file."""
        return f"{hosts.raw}/{self.repository}/{quote(self.ref)}/{quote(self.path)}"

    def api_urls(self, hosts: GitHubHosts) -> tuple[str, ...]:
        """The requests whose answers ``written`` takes."""
        base = f"{hosts.api}/repos/{self.repository}"
        ref = f"?ref={quote(self.ref, safe='')}" if self.ref else ""
        match self.kind:
            case "issue":
                issue = f"{base}/issues/{self.number}"
                return (issue, f"{issue}/comments?per_page={MAX_COMMENTS}")
            case "repository":
                return (base, f"{base}/contents", f"{base}/readme")
            case _:
                return (f"{base}/contents/{quote(self.path)}{ref}",)


def parse_github(url: str) -> GitHubPage | None:
    """The page of GitHub that an address names; ``None`` for other addresses."""
    parts = urlsplit(url)
    if (parts.hostname or "") not in ("github.com", "www.github.com"):
        return None
    if found := _FILE.fullmatch(parts.path):
        return _page("file", found[1], found[2], ref=found[3], path=found[4])
    if found := _FOLDER.fullmatch(parts.path):
        return _page("folder", found[1], found[2], ref=found[3], path=(found[4] or "").strip("/"))
    if found := _ISSUE.fullmatch(parts.path):
        return _page("issue", found[1], found[2], number=int(found[3][:18]))
    found = _REPOSITORY.fullmatch(parts.path)
    if found and found[2] and found[1].lower() not in _RESERVED and not parts.query:
        return _page("repository", found[1], found[2])
    return None


def _page(kind: Kind, owner: str, name: str, **more: Any) -> GitHubPage:
    plain: dict[str, Any] = {
        key: unquote(each) if isinstance(each, str) else each for key, each in more.items()
    }
    return GitHubPage(kind=kind, owner=owner, name=name, **plain)


def written(page: GitHubPage, answers: Sequence[str]) -> str:
    """The answers of the API as Markdown; raises ``ValueError`` if they have another form."""
    match page.kind:
        case "issue":
            return _issue(json.loads(answers[0]), json.loads(answers[1]))
        case "repository":
            return _repository(json.loads(answers[0]), json.loads(answers[1]), answers[2])
        case _:
            return _listing(json.loads(answers[0]), f"{page.repository}/{page.path}".rstrip("/"))


def _listing(rows: Any, title: str) -> str:
    if not isinstance(rows, list):
        raise ValueError("not a folder")
    entries = [row for row in rows if isinstance(row, Mapping)]
    entries.sort(key=lambda row: (row.get("type") != "dir", str(row.get("name"))))
    lines = [
        f"- {row.get('name')}/" if row.get("type") == "dir"
        else f"- {row.get('name')} ({row.get('size', 0):,} bytes)"
        for row in entries
    ]  # fmt: skip
    return "\n".join((f"# {title}", "", *(lines or ["(empty)"])))


def _repository(about: Any, rows: Any, readme: str) -> str:
    name = str(about["full_name"])
    facts = [
        str(about.get("description") or ""),
        f"Default branch: {about.get('default_branch')}",
        f"Stars: {about.get('stargazers_count', 0):,}",
    ]
    listing = _listing(rows, name)
    text = "\n".join((listing.partition("\n")[0], "", *filter(None, facts)))
    files = listing.partition("\n\n")[2]
    return "\n\n".join(filter(None, (text, "## Files", files, "## README", readme.strip())))


def _issue(issue: Any, comments: Any) -> str:
    state = str(issue["state"])
    reason = issue.get("state_reason")
    kind = "Pull request" if issue.get("pull_request") else "Issue"
    labels = ", ".join(str(each.get("name")) for each in issue.get("labels") or ())
    head = [
        f"# {issue['title']} (#{issue['number']})",
        "",
        f"{kind}, {state}{f' ({reason})' if reason else ''}, opened by {_author(issue)}",
        f"Labels: {labels}" if labels else "",
    ]
    parts = ["\n".join(line for n, line in enumerate(head) if line or n == 1), _body(issue)]
    for comment in comments:
        parts.append(f"## Comment of {_author(comment)}\n\n{_body(comment)}")
    left = int(issue.get("comments") or 0) - len(comments)
    if left > 0:
        parts.append(f"({left} more comments)")
    return "\n\n".join(parts)


def _author(row: Mapping[str, Any]) -> str:
    user = row.get("user") or {}
    return f"{user.get('login', 'unknown')}, {str(row.get('created_at', ''))[:10]}"


def _body(row: Mapping[str, Any]) -> str:
    return str(row.get("body") or "(no text)").replace("\r\n", "\n").strip()
