"""A loopback server that answers like GitHub's REST API, and sessions whose model calls ``gh``.

The answers have the members that the public documentation of the API shows, shortened.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.github.adapter import extension
from pi.coding.port.ui import ExtensionUI
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
OCTOCAT = {"login": "octocat", "id": 1, "type": "User"}
ISSUE = {
    "id": 1,
    "url": "https://api.github.com/repos/octocat/Spoon-Knife/issues/1347",
    "repository_url": "https://api.github.com/repos/octocat/Spoon-Knife",
    "html_url": "https://github.com/octocat/Spoon-Knife/issues/1347",
    "number": 1347,
    "state": "open",
    "title": "Found a bug",
    "body": "I'm having a problem with this.\r\n\x1b[31mred\x1b[0m",
    "user": OCTOCAT,
    "labels": [{"id": 208045946, "name": "bug", "color": "f29513"}],
    "assignees": [OCTOCAT],
    "milestone": {"number": 1, "title": "v1.0", "state": "open"},
    "comments": 2,
    "created_at": "2011-04-22T13:33:48Z",
    "updated_at": "2011-04-23T13:33:48Z",
}
COMMENT = {
    "id": 1,
    "body": "Me too",
    "user": OCTOCAT,
    "created_at": "2011-04-14T16:00:49Z",
    "html_url": "https://github.com/octocat/Spoon-Knife/issues/1347#issuecomment-1",
}
PULL = {
    "number": 7,
    "state": "open",
    "title": "Amazing new feature",
    "body": "Please pull these awesome changes in!",
    "user": OCTOCAT,
    "draft": False,
    "created_at": "2011-01-26T19:01:12Z",
    "merged_at": None,
    "head": {"label": "octocat:new-topic", "ref": "new-topic", "sha": "6dcb09b5b57875f334f6"},
    "base": {"label": "octocat:master", "ref": "master", "sha": "aaaa"},
    "mergeable": True,
    "mergeable_state": "clean",
    "commits": 3,
    "additions": 100,
    "deletions": 3,
    "changed_files": 5,
    "html_url": "https://github.com/octocat/Spoon-Knife/pull/7",
}
REPOSITORY = {
    "full_name": "octocat/Spoon-Knife",
    "description": "This your first repo!",
    "default_branch": "master",
    "visibility": "public",
    "open_issues_count": 3,
}
JOBS = {
    "total_count": 2,
    "jobs": [
        {"id": 399444496, "name": "build", "status": "completed", "conclusion": "success"},
        {
            "id": 399444497,
            "name": "test",
            "status": "completed",
            "conclusion": "failure",
            "steps": [
                {"name": "Set up job", "conclusion": "success", "number": 1},
                {"name": "pytest", "conclusion": "failure", "number": 2},
            ],
        },
    ],
}
RUN = {
    "id": 30433642,
    "name": "Build",
    "display_title": "Update README.md",
    "head_branch": "master",
    "head_sha": "acb5820ced9479c074f688cc328bf03f341a511d",
    "event": "push",
    "status": "completed",
    "conclusion": "failure",
    "created_at": "2020-01-22T19:33:08Z",
}
CHECKS = {
    "total_count": 1,
    "check_runs": [
        {
            "id": 4,
            "name": "mighty_readme",
            "status": "completed",
            "conclusion": "failure",
            "details_url": "https://github.com/octocat/Spoon-Knife/actions/runs/30433642",
            "output": {"title": "2 problems", "summary": "", "text": ""},
            "app": {"id": 1, "name": "GitHub Actions"},
        }
    ],
}
STATUS = {
    "state": "pending",
    "statuses": [{"state": "pending", "context": "ci/jenkins", "description": "Build is running"}],
}
DIFF = "diff --git a/README b/README\n--- a/README\n+++ b/README\n@@ -1 +1 @@\n-old\n+new\n"
LOG = "\ufeff2020-01-22T19:33:08.1234567Z Run pytest\n2020-01-22T19:33:09.1Z E assert 1 == 2\n"
HERE = "/repos/octocat/Spoon-Knife"


@dataclass
class Asked:
    """One request that the server received."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


NEVER = object()
"""The answer of a server that keeps silent until the client hangs up."""
Answer = Any
"""JSON, text, ``(status, value)``, ``(status, value, headers)``, or a function of the request."""


@dataclass
class GitHubServer:
    """The address of the server, its responses by method and path, and its requests."""

    routes: dict[str, Answer]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """Methods and paths of all requests."""
        return [f"{request.method} {request.path}" for request in self.asked]


def standard_routes() -> dict[str, Answer]:
    """Answers to every action."""
    return {
        f"GET {HERE}": REPOSITORY,
        f"GET {HERE}/issues": [ISSUE, {**ISSUE, "number": 1348, "pull_request": {"url": "x"}}],
        f"GET {HERE}/issues/1347": ISSUE,
        f"GET {HERE}/issues/7": {**ISSUE, "number": 7, "title": PULL["title"]},
        f"GET {HERE}/issues/1347/comments": [COMMENT],
        f"GET {HERE}/issues/7/comments": [COMMENT],
        "GET /search/issues": {"total_count": 1, "incomplete_results": False, "items": [ISSUE]},
        f"POST {HERE}/issues": (201, {**ISSUE, "number": 1349}),
        f"POST {HERE}/issues/1347/comments": (201, COMMENT),
        f"POST {HERE}/issues/7/comments": (201, COMMENT),
        f"PATCH {HERE}/issues/1347": {**ISSUE, "state": "closed"},
        f"GET {HERE}/pulls": [PULL],
        f"GET {HERE}/pulls/7": lambda request: (
            DIFF if "diff" in request.headers["accept"] else PULL
        ),
        f"PATCH {HERE}/pulls/7": {**PULL, "state": "closed"},
        f"GET {HERE}/pulls/7/files": [
            {
                "filename": "README",
                "status": "modified",
                "additions": 1,
                "deletions": 1,
                "patch": "@@ -1 +1 @@\n-old\n+new",
            },
        ],
        f"GET {HERE}/pulls/7/reviews": [
            {
                "user": OCTOCAT,
                "state": "CHANGES_REQUESTED",
                "body": "No.",
                "submitted_at": "2019-11-17T17:43:43Z",
            },
        ],
        f"GET {HERE}/pulls/7/comments": [
            {
                "user": OCTOCAT,
                "path": "README",
                "line": 1,
                "body": "Why?",
                "created_at": "2011-04-14T16:00:49Z",
            },
        ],
        f"POST {HERE}/pulls/7/reviews": {"id": 80, "html_url": "https://github.com/x/y/pull/7#r"},
        f"POST {HERE}/pulls": (201, {**PULL, "number": 8}),
        f"PUT {HERE}/pulls/7/merge": {"sha": "6dcb", "merged": True, "message": "merged"},
        f"GET {HERE}/commits/6dcb09b5b57875f334f6/check-runs": CHECKS,
        f"GET {HERE}/commits/6dcb09b5b57875f334f6/status": STATUS,
        f"GET {HERE}/actions/runs": {"total_count": 1, "workflow_runs": [RUN]},
        f"GET {HERE}/actions/runs/30433642": RUN,
        f"GET {HERE}/actions/runs/30433642/jobs": JOBS,
        f"GET {HERE}/actions/jobs/399444497/logs": LOG,
    }


@asynccontextmanager
async def github_server(routes: Mapping[str, Answer]) -> AsyncIterator[GitHubServer]:
    """Serve ``routes``; anything else is a 404 like that of GitHub."""
    state = GitHubServer(routes=dict(routes))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split(" ")
        pairs = (line.partition(": ") for line in head[1:] if line)
        headers = {name.lower(): value for name, _, value in pairs}
        sent = await reader.readexactly(int(headers.get("content-length", 0)))
        parts = urlsplit(target)
        request = Asked(
            method,
            parts.path,
            dict(parse_qsl(parts.query)),
            headers,
            json.loads(sent) if sent else None,
        )
        state.asked.append(request)
        answer = state.routes.get(f"{method} {parts.path}", (404, {"message": "Not Found"}))
        if answer is NEVER:
            await reader.read()
            writer.close()
            return
        if callable(answer):
            answer = answer(request)
        status, value, more = (*answer, {})[:3] if isinstance(answer, tuple) else (200, answer, {})
        content = (
            value
            if isinstance(value, bytes)
            else (value if isinstance(value, str) else json.dumps(value)).encode()
        )
        lines = "".join(f"{name}: {text}\r\n" for name, text in more.items())
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"{lines}Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield state


@asynccontextmanager
async def github_session(
    tmp_path: Path,
    *steps: Mapping[str, Any],
    api: str = "",
    token: str = TOKEN,
    ui: ExtensionUI | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session whose model makes these calls of ``gh``."""
    settings = {"github": {"enabled": True, "apiUrl": api}} | options.pop("settings", {})
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    environ |= {"GH_TOKEN": token} if token else {}
    script = [calls("gh", **{"repo": "octocat/Spoon-Knife", **step}) for step in steps]
    async with extension_session(
        tmp_path,
        *options.pop("extensions", ()),
        extension,
        steps=(*script, says("done")),
        settings=settings,
        environ=environ | options.pop("environ", {}),
        ui=ui,
        **options,
    ) as hosted:
        yield hosted


def results(hosted: ExtensionFixture) -> list[str]:
    """The results as texts; errors start with ``! ``."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [
        ("! " if message.is_error else "")
        + "\n".join(part.text for part in message.content if isinstance(part, Text))
        for message in messages
    ]


async def asked_for(tmp_path: Path, *steps: Mapping[str, Any], **options: Any) -> list[str]:
    """Make the calls and return the results."""
    async with github_session(tmp_path, *steps, **options) as hosted:
        await hosted.session.prompt("go")
        assert hosted.failures == []
        return results(hosted)


GH = """import json, os, sys
state = os.path.dirname(os.path.abspath(__file__))
words = sys.argv[1:]
sent = sys.stdin.read() if "--input" in words else None
with open(os.path.join(state, "asked.jsonl"), "a") as file:
    file.write(json.dumps({"words": words, "sent": sent, "env": sorted(os.environ)}) + "\\n")
answers = json.load(open(os.path.join(state, "answers.json")))
code, out, err = answers.get(words[-1].split("?")[0], [1, "", "no answer"])
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def stand_in_gh(folder: Path, answers: Mapping[str, tuple[int, str, str]]) -> Path:
    """A program ``gh`` that prints these answers by path; returns the folder for PATH."""
    folder.mkdir()
    program = folder / "gh"
    (folder / "gh.py").write_text(GH)
    # The first line of a script cannot name a Python whose path has a space.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/gh.py" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "answers.json").write_text(json.dumps(answers))
    return folder


def included(status: int, body: Any, **headers: str) -> str:
    """What ``gh api --include`` prints."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    text = body if isinstance(body, str) else json.dumps(body)
    return f"HTTP/2.0 {status} X\r\n{lines}\r\n{text}"
