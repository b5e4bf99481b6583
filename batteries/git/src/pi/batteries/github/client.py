"""Sends requests to GitHub: with a token over HTTP, or through the ``gh`` program."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import urlencode

from pi.extension import (
    BodyTooLarge,
    ExtensionAPI,
    HttpError,
    Json,
    PiError,
    Record,
    Timeouts,
    ToolFailed,
    field,
    one_line,
)

Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT"]
JSON, DIFF = "application/vnd.github+json", "application/vnd.github.diff"
API_VERSION = "2022-11-28"
SECONDS = 60.0
"""Time limit of one request with its redirects."""
MAX_JSON = 8 * 1024**2
MAX_TEXT = 5 * 1024**2
"""Maximum bytes of a diff or log that are read."""
REDIRECTS = 3
"""For renamed repositories, and for logs at another host, which does not get the token."""
PER_PAGE = 100
MAX_PAGES = 10
_STATUS_LINE = re.compile(rb"HTTP/[\d.]+ (\d{3})")
_NEXT = re.compile(r'<[^<>]*>\s*;[^,]*\brel="?next\b')


class ApiRequest(Record):
    """A request to the API."""

    path: str
    """Percent-encoded, without a leading slash."""
    method: Method = "GET"
    parameters: dict[str, Any] = field(default_factory=dict)
    body: Json | None = None
    accept: str = JSON

    @property
    def target(self) -> str:
        """The path with the parameters that have a value."""
        parameters = {
            key: str(value) for key, value in self.parameters.items() if value not in ("", None)
        }
        return f"{self.path}?{urlencode(parameters)}" if parameters else self.path


class ApiReply(Record):
    """An answer of the API."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    cut: bool = False
    """Whether the body was truncated."""


class ApiTransport(Protocol):
    """Sends requests to a host."""

    async def send(self, query: ApiRequest) -> ApiReply:
        """The answer, whatever its status. Raises ``ToolFailed`` if there is none."""
        ...


class GitHubClient:
    """Sends requests to one host, and raises failures as explained ``ToolFailed``."""

    def __init__(self, transport: ApiTransport, host: str, now: float) -> None:
        self._transport = transport
        self._host = host
        self._now = now
        """Seconds since 1970, to compute the end of a rate limit."""

    async def json(self, query: ApiRequest) -> Any:
        """The answer as JSON. Raises ``ToolFailed``."""
        reply = await self._ok(query)
        if reply.cut:
            raise ToolFailed(f"The answer of {self._host} is larger than {MAX_JSON:,} bytes.")
        try:
            return json.loads(reply.body) if reply.body.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ToolFailed(f"The answer of {self._host} is not JSON.") from error

    async def text(self, query: ApiRequest) -> tuple[str, bool]:
        """The answer as text, and whether it was truncated. Raises ``ToolFailed``."""
        reply = await self._ok(query)
        return reply.body.decode("utf-8", "replace"), reply.cut

    async def rows(
        self, query: ApiRequest, limit: int, *, within: str = "", page: int = 1
    ) -> tuple[list[Json], bool]:
        """The first ``limit`` objects of a list, and whether there are more.

        ``within`` names the member that has the list. Pages are requested by number: a link in an
        answer could lead to another host. Raises ``ToolFailed``.
        """
        objects: list[Json] = []
        size = min(limit, PER_PAGE)
        for number in range(page, page + MAX_PAGES):
            parameters = {**query.parameters, "per_page": size, "page": number}
            reply = await self._ok(
                ApiRequest(path=query.path, parameters=parameters, accept=query.accept)
            )
            objects += self._objects(reply, within)
            more = bool(_NEXT.search(reply.headers.get("link", "")))
            if len(objects) >= limit or not more:
                return objects[:limit], more or len(objects) > limit
        return objects, True

    def _objects(self, reply: ApiReply, within: str) -> list[Json]:
        try:
            value = json.loads(reply.body)
        except (ValueError, RecursionError) as error:
            raise ToolFailed(f"The answer of {self._host} is not JSON.") from error
        if within:
            value = value.get(within) if isinstance(value, dict) else None
        if not isinstance(value, list):
            raise ToolFailed(f"The answer of {self._host} is not a list.")
        return [entry for entry in value if isinstance(entry, dict)]

    async def _ok(self, query: ApiRequest) -> ApiReply:
        reply = await self._transport.send(query)
        if 200 <= reply.status < 300:
            return reply
        raise ToolFailed(explain(reply, query, self._host, self._now))


def explain(reply: ApiReply, query: ApiRequest, host: str, now: float) -> str:
    """The error message for a failed answer, with advice."""
    message = _message(reply.body)
    answered = f"{host} answered with status {reply.status}{f': {message}' if message else ''}."
    if reply.status in (403, 429):
        if wait := _waiting(reply, now):
            return f"The rate limit of {host} is used up. {wait} {answered}"
        if "rate limit" in message.casefold() or reply.status == 429:
            return f"The rate limit of {host} is used up. Wait some minutes. {answered}"
        allowed = reply.headers.get("x-accepted-github-permissions", "")
        needs = f" It needs: {one_line(allowed)[:200]}." if allowed else ""
        sso = (
            " The organisation wants a login with SSO for the token."
            if "x-github-sso" in reply.headers
            else ""
        )
        return f"The token may not do that.{needs}{sso} {answered}"
    advice = {
        301: "The repository was renamed: use its new name.",
        307: "The repository was renamed: use its new name.",
        308: "The repository was renamed: use its new name.",
        401: "The token is invalid or has expired: the user has to set a new one.",
        404: "It does not exist, or the token may not see it.",
        406: "GitHub does not show a diff of this size: use pr_files.",
        409: "It conflicts with the state of the repository: look at it again.",
        405: "GitHub does not allow that now: checks or reviews may be missing.",
        410: "It was deleted, or the repository does not use this feature.",
        422: "The arguments are not accepted.",
    }.get(reply.status, "")
    if reply.status >= 500:
        advice = "GitHub has a problem: try again later."
        if query.method != "GET":
            advice = "GitHub has a problem. Look whether it was done before you try again."
    return f"{answered} {advice}".strip()


def _waiting(reply: ApiReply, now: float) -> str:
    after = reply.headers.get("retry-after", "")
    if after.isdigit():
        return f"Wait {int(after[:6])} seconds."
    reset = reply.headers.get("x-ratelimit-reset", "")
    if reply.headers.get("x-ratelimit-remaining") == "0":
        minutes = max(1, round((int(reset[:12]) - now) / 60)) if reset.isdigit() else 60
        return f"It is reset in about {min(minutes, 60 * 24)} minutes."
    return ""


def _message(body: bytes) -> str:
    """``message`` and ``errors`` of an error answer, in one line."""
    try:
        value = json.loads(body[: 64 * 1024])
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    parts = [str(value.get("message") or "")]
    errors = value.get("errors")
    for error in errors[:5] if isinstance(errors, list) else ():
        if isinstance(error, Mapping):
            names = (error.get(key) for key in ("resource", "field", "code", "message"))
            parts.append(" ".join(str(name) for name in names if name))
        else:
            parts.append(str(error))
    return one_line("; ".join(filter(None, parts)))[:500].rstrip(".")


class TokenTransport:
    """Requests over HTTP with a token."""

    def __init__(self, pi: ExtensionAPI, api: str, token: str, *, seconds: float = SECONDS) -> None:
        self._pi = pi
        self._api = api.rstrip("/")
        self._token = token
        self._seconds = seconds

    async def send(self, query: ApiRequest) -> ApiReply:
        """Send a request. Another host that the answer redirects to does not get the token."""
        headers = {
            "Accept": query.accept,
            "Authorization": f"Bearer {self._token}",
            "User-Agent": f"pi/{self._pi.version}",
            "X-GitHub-Api-Version": API_VERSION,
        }
        if query.body is not None:
            headers["Content-Type"] = "application/json"
        limit = MAX_JSON if query.accept == JSON else MAX_TEXT
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._pi.http.stream(
                    f"{self._api}/{query.target}",
                    method=query.method,
                    headers=headers,
                    body=b"" if query.body is None else json.dumps(query.body).encode(),
                    redirects=REDIRECTS if query.method == "GET" else 0,
                    timeouts=Timeouts(connect=20.0, first_byte=40.0, idle=30.0),
                ) as response,
            ):
                body = await response.read_prefix(limit + 1)
                return ApiReply(
                    status=response.status,
                    headers=dict(response.headers),
                    body=body[:limit],
                    cut=len(body) > limit,
                )
        except TimeoutError as error:
            raise ToolFailed(_late(query, self._seconds)) from error
        except (HttpError, BodyTooLarge) as error:
            raise ToolFailed(error.explain()) from error


class ProgramTransport:
    """Requests through ``gh api``, with the login of the gh program."""

    def __init__(
        self, pi: ExtensionAPI, host: str, environ: Mapping[str, str], *, seconds: float = SECONDS
    ) -> None:
        self._pi = pi
        self._host = host
        self._environ = environ
        self._seconds = seconds

    async def send(self, query: ApiRequest) -> ApiReply:
        """Run ``gh api``, and return the answer that it prints."""
        argv = ["gh", "api", "--hostname", self._host, "--method", query.method, "--include"]
        argv += ["--header", f"Accept: {query.accept}"]
        argv += ["--header", f"X-GitHub-Api-Version: {API_VERSION}"]
        argv += ["--input", "-"] if query.body is not None else []
        try:
            done = await self._pi.exec(
                [*argv, query.target],
                stdin=None if query.body is None else json.dumps(query.body),
                env=gh_environment(self._environ),
                cwd=self._pi.context.agent_dir,
                timeout=self._seconds,
            )
        except PiError as error:
            raise ToolFailed(NO_CREDENTIALS) from error
        if done.killed:
            raise ToolFailed(_late(query, self._seconds))
        reply = parse_included(done.stdout.encode())
        if reply is None:
            message = one_line(done.stderr.strip() or done.stdout.strip())[:300]
            raise ToolFailed(f"gh failed: {message or f'exit code {done.code}'}")
        limit = MAX_JSON if query.accept == JSON else MAX_TEXT
        return ApiReply(
            status=reply.status,
            headers=reply.headers,
            body=reply.body[:limit],
            cut=len(reply.body) > limit,
        )


NO_CREDENTIALS = (
    "There is no way to GitHub: neither GH_TOKEN nor GITHUB_TOKEN is set, and the gh program is not"
    " installed. The user sets a token before pi is started, or installs gh and runs gh auth login."
)
_FOR_GH = ("GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Variables by which gh finds its login: a folder, or the keyring of the desktop."""


def gh_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for gh, in addition to those of every program."""
    quiet = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
    return {name: environ[name] for name in _FOR_GH if name in environ} | quiet


def parse_included(output: bytes) -> ApiReply | None:
    """The answer that ``gh api --include`` prints; ``None`` if it printed none."""
    begin = _STATUS_LINE.match(output)
    if begin is None:
        return None
    head, _, body = output.replace(b"\r\n", b"\n", head_lines(output)).partition(b"\n\n")
    lines = head.decode("utf-8", "replace").split("\n")[1:]
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return ApiReply(status=int(begin[1]), headers=headers, body=body)


def head_lines(output: bytes) -> int:
    """The number of line ends in the head and after it; those of the body must stay."""
    return output.partition(b"\r\n\r\n")[0].count(b"\r\n") + 2


def _late(query: ApiRequest, seconds: float) -> str:
    text = f"GitHub did not answer within {seconds:g} s."
    if query.method != "GET":
        text += " Look whether it was done before you try again."
    return text


def join_values(values: Sequence[str]) -> str:
    """A list of values as a parameter: separated by commas."""
    return ",".join(value.strip() for value in values if value.strip())
