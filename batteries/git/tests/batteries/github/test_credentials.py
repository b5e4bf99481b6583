"""Failures, tokens and hosts of ``gh``: where the token is sent, and errors for the model."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text
from pi.batteries.github import client
from pi.batteries.github.client import ApiReply, ApiRequest, explain, parse_included
from pi.batteries.github.repositories import (
    Repository,
    api_url,
    default_host,
    parse_repository,
    repository_of_remotes,
    token_for,
)
from pi.extension import ToolFailed
from tests.batteries.github.github_server import (
    COMMENT,
    HERE,
    ISSUE,
    NEVER,
    REPOSITORY,
    TOKEN,
    asked_for,
    github_server,
    github_session,
    included,
    results,
    stand_in_gh,
    standard_routes,
)
from tests.coding.extension_host.extension_session import FakeUI

VIEW = {"action": "issue_view", "number": 1347}
COMMENTS = {"action": "issue_comment", "number": 1347, "body": "Hi"}
PLAIN = "a-token-without-a-known-beginning"
LIMIT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "3600"}


def answer(status: int, message: str = "", **headers: str) -> ApiReply:
    body = json.dumps({"message": message}) if message else "<html>"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiReply(status=status, headers=named, body=body.encode())


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (answer(401, "Bad credentials"), "status 401: Bad credentials. The token is invalid"),
        (
            answer(403, "Resource not accessible", x_accepted_github_permissions="issues=write"),
            "The token may not do that. It needs: issues=write.",
        ),
        (answer(403, "SSO", x_github_sso="required; url=https://x"), "a login with SSO"),
        (ApiReply(status=403, headers=LIMIT, body=b"{}"), "It is reset in about 50 minutes."),
        (answer(429, "slow", retry_after="17"), "Wait 17 seconds."),
        (answer(403, "You have exceeded a secondary rate limit"), "Wait some minutes."),
        (answer(404, "Not Found"), "It does not exist, or the token may not see it."),
        (answer(406, "too large"), "use pr_files"),
        (answer(410, "Issues are disabled for this repo"), "does not use this feature"),
        (
            answer(502),
            "github.com answered with status 502. GitHub has a problem: try again later.",
        ),
        (answer(308), "The repository was renamed"),
    ],
)
def test_a_failed_response_is_explained_with_advice(reply: ApiReply, says: str) -> None:
    assert says in explain(reply, ApiRequest(path="x"), "github.com", 600.0)


def test_an_invalid_field_is_named() -> None:
    body = {
        "message": "Validation Failed",
        "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}],
    }
    reply = ApiReply(status=422, headers={}, body=json.dumps(body).encode())

    assert explain(reply, ApiRequest(path="x", method="POST"), "github.com", 0.0) == (
        "github.com answered with status 422: Validation Failed; Issue title missing_field."
        " The arguments are not accepted."
    )


def test_the_error_of_a_failed_write_advises_the_model_to_check_its_effect() -> None:
    reply = answer(502)
    assert "Look whether it was done" in explain(
        reply, ApiRequest(path="x", method="POST"), "h", 0.0
    )


async def test_server_errors_are_tool_errors_and_do_not_end_the_session(tmp_path: Path) -> None:
    routes: dict[str, Any] = {
        f"GET {HERE}": (200, b"\xff\xfe not json"),
        f"GET {HERE}/issues": {"not": "a list"},
        f"GET {HERE}/pulls": (503, b"x" * 100_000),
        f"GET {HERE}/actions/runs": [1, 2],
    }
    async with github_server(routes) as server:
        actions = ("repo_view", "issue_list", "pr_list", "run_list", "issue_search")
        steps = [{"action": name, "query": "x"} for name in actions]
        texts = await asked_for(tmp_path, *steps, api=server.url)

    assert texts == [
        "! The answer of github.com is not JSON.",
        "! The answer of github.com is not a list.",
        "! github.com answered with status 503. GitHub has a problem: try again later.",
        "! The answer of github.com is not a list.",
        "! github.com answered with status 404: Not Found. It does not exist, or the token may"
        " not see it.",
    ]


async def test_a_response_above_the_size_limit_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_JSON", 10_000)
    routes = {f"GET {HERE}": {**REPOSITORY, "description": "x" * 2_000_000}}
    async with github_server(routes) as server:
        (text,) = await asked_for(tmp_path, {"action": "repo_view"}, api=server.url)

    assert text == "! The answer of github.com is larger than 10,000 bytes."


async def test_a_server_that_does_not_respond_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.TokenTransport.__init__, "__kwdefaults__", {"seconds": 0.2})
    async with github_server({f"GET {HERE}": NEVER}) as server:
        (text,) = await asked_for(tmp_path, {"action": "repo_view"}, api=server.url)

    assert text == "! GitHub did not answer within 0.2 s."


async def test_a_refused_connection_is_reported_without_the_token(tmp_path: Path) -> None:
    (text,) = await asked_for(tmp_path, {"action": "repo_view"}, api="http://127.0.0.1:9")

    assert text.startswith("! ")
    assert "127.0.0.1:9" in text
    assert TOKEN not in text


async def test_a_redirect_to_another_host_does_not_carry_the_token(tmp_path: Path) -> None:
    async with github_server({"GET /blob": "the log"}) as storage:
        routes = standard_routes() | {
            f"GET {HERE}/actions/jobs/399444497/logs": (
                302,
                "",
                {"Location": f"{storage.url}/blob"},
            ),
            f"GET {HERE}": (301, "", {"Location": "/repositories/1"}),
            "GET /repositories/1": REPOSITORY,
        }
        async with github_server(routes) as server:
            log, renamed = await asked_for(
                tmp_path,
                {"action": "run_logs", "run": "30433642"},
                {"action": "repo_view"},
                api=server.url,
            )

    assert "the log" in log
    assert "# octocat/Spoon-Knife" in renamed
    (blob,) = storage.asked
    assert "authorization" not in blob.headers
    assert TOKEN not in str(blob.headers)
    same_host = [request for request in server.asked if request.path == "/repositories/1"]
    assert same_host[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_a_write_is_never_redirected(tmp_path: Path) -> None:
    target = (307, "", {"Location": "/elsewhere"})
    routes = standard_routes() | {f"POST {HERE}/issues/1347/comments": target}
    async with github_server(routes) as server:
        (text,) = await asked_for(tmp_path, COMMENTS, api=server.url, ui=FakeUI())

    assert "The repository was renamed" in text
    assert "/elsewhere" not in [request.path for request in server.asked]


# The token ----------------------------------------------------------------------------------------


async def test_the_token_reaches_neither_the_model_nor_an_export(tmp_path: Path) -> None:
    echo = {**ISSUE, "body": f"your token is {PLAIN}"}
    routes = standard_routes() | {f"GET {HERE}/issues/1347": echo}
    async with (
        github_server(routes) as server,
        github_session(tmp_path, VIEW, api=server.url, token=PLAIN) as hosted,
    ):
        await hosted.session.prompt("go")
        (text,) = results(hosted)
        await hosted.session.prompts.prompt(f"my token is {PLAIN}")
        page = await hosted.session.exports.render("text", "export")

    assert "your token is [token of GitHub]" in text
    assert b"my token is [token of GitHub]" in page
    assert PLAIN.encode() not in page


async def test_commands_get_the_token_only_if_the_user_allows_it(tmp_path: Path) -> None:
    for allow, expected in ((), "nothing"), (("GH_*",), TOKEN):
        settings = {"github": {"enabled": True}, "shell": {"env": {"allow": list(allow)}}}
        folder = tmp_path / expected
        folder.mkdir()
        async with github_session(folder, settings=settings) as hosted:
            result = await hosted.session.tools.call(
                "bash", {"command": "echo ${GH_TOKEN-nothing}"}, caller="test"
            )
        assert result.content == (Text(text=f"{expected}\n"),)


@pytest.mark.parametrize(
    ("host", "environ", "name", "api"),
    [
        (
            "github.com",
            {"GITHUB_TOKEN": "b", "GH_TOKEN": "a"},
            "GH_TOKEN",
            "https://api.github.com",
        ),
        ("github.com", {"GITHUB_TOKEN": "b"}, "GITHUB_TOKEN", "https://api.github.com"),
        ("github.com", {"GH_ENTERPRISE_TOKEN": "c"}, "", "https://api.github.com"),
        ("acme.ghe.com", {"GH_TOKEN": "a"}, "GH_TOKEN", "https://api.acme.ghe.com"),
        ("git.acme.example", {"GH_TOKEN": "a"}, "", "https://git.acme.example/api/v3"),
        (
            "git.acme.example",
            {"GH_ENTERPRISE_TOKEN": "c"},
            "GH_ENTERPRISE_TOKEN",
            "https://git.acme.example/api/v3",
        ),
        ("github.com", {"GH_TOKEN": "a\nHost: evil"}, "", "https://api.github.com"),
    ],
)
def test_a_token_is_used_for_hosts_of_its_kind_only(
    host: str, environ: dict[str, str], name: str, api: str
) -> None:
    assert token_for(host, environ)[0] == name
    assert api_url(host) == api


@pytest.mark.parametrize("host", ["-oProxy", "a b", "evil.example/x", "a@b", "x?y"])
def test_gh_host_must_be_a_host_name(host: str) -> None:
    with pytest.raises(ToolFailed, match="GH_HOST is not a host name"):
        default_host({"GH_HOST": host})


# Repositories -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/octo/cat.git",
        "https://user:pass@github.com/octo/cat",
        "git@github.com:octo/cat.git",
        "ssh://git@ssh.github.com:443/octo/cat.git",
        "git://GitHub.com/octo/cat/",
    ],
)
def test_the_repository_is_found_from_a_remote(url: str) -> None:
    repository = repository_of_remotes(
        f"origin\t{url} (fetch)\norigin\t{url} (push)\n", "github.com"
    )

    assert repository == Repository(host="github.com", owner="octo", name="cat")


def test_the_upstream_remote_is_preferred_to_origin_and_local_folders_are_skipped() -> None:
    listed = (
        "backup\t/srv/cat.git (fetch)\norigin\thttps://github.com/me/cat (fetch)\n"
        "upstream\thttps://github.com/octo/cat (fetch)\n"
    )

    assert repository_of_remotes(listed, "github.com").full_name == "octo/cat"


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        ("origin\thttps://evil.example/octo/cat (fetch)\n", "evil.example is not github.com"),
        ("origin\thttps://github.com.evil.example/o/c (fetch)\n", "is not github.com"),
        ("origin\thttps://github.com/a/b/c (fetch)\n", "No remote of this project"),
        ("", "This project has no remote at GitHub."),
        ("\x00\x1b garbage\n", "This project has no remote at GitHub."),
    ],
)
def test_other_hosts_are_refused(listed: str, says: str) -> None:
    with pytest.raises(ToolFailed, match=says):
        repository_of_remotes(listed, "github.com")


def test_an_enterprise_host_is_accepted_if_the_user_configures_it() -> None:
    listed = "origin\tgit@git.acme.example:octo/cat.git (fetch)\n"

    repository = repository_of_remotes(listed, "git.acme.example")
    assert (repository.host, repository.label) == ("git.acme.example", "git.acme.example/octo/cat")
    assert parse_repository("github.com/a/b", "git.acme.example").host == "github.com"


async def test_the_remote_of_the_project_is_used_but_not_the_host_of_its_env_file(
    tmp_path: Path,
) -> None:
    async with (
        github_server(standard_routes()) as server,
        github_session(
            tmp_path, {"action": "repo_view", "repo": ""}, api=server.url, approve=True
        ) as hosted,
    ):
        cwd = hosted.session.workspace.cwd
        hosted.fixture.write("project/.env", "GH_HOST=evil.example\n")
        config = cwd / ".git" / "config"
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(cwd)], check=True)
        remote = '[remote "origin"]\n\turl = git@github.com:octocat/Spoon-Knife.git\n'
        config.write_text(config.read_text() + remote)
        await hosted.session.sessions.reload()
        assert hosted.session.workspace.environ["GH_HOST"] == "evil.example"
        await hosted.session.prompt("go")
        (text,) = results(hosted)

    assert "# octocat/Spoon-Knife" in text


# The gh program -----------------------------------------------------------------------------------


def issue_answers() -> dict[str, tuple[int, str, str]]:
    prefix = HERE.removeprefix("/")
    return {
        f"{prefix}/issues/1347": (0, included(200, ISSUE), ""),
        f"{prefix}/issues/1347/comments": (0, included(200, [COMMENT], Link="<x>; rel=last"), ""),
        prefix: (1, included(404, {"message": "Not Found"}), "gh: Not Found (HTTP 404)"),
        f"{prefix}/pulls": (4, "", "To get started with GitHub CLI, please run:  gh auth login\n"),
    }


async def test_without_a_token_the_gh_program_is_used(tmp_path: Path) -> None:
    folder = stand_in_gh(tmp_path / "bin", issue_answers())
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "GH_ENTERPRISE_TOKEN": "not-for-this-host"}
    steps = (VIEW, {"action": "repo_view"}, {"action": "pr_list"})
    viewed, missing, login = await asked_for(tmp_path, *steps, token="", environ=path)

    assert "Found a bug (#1347)" in viewed
    assert "Me too" in viewed
    assert missing.startswith("! github.com answered with status 404: Not Found.")
    assert login == ("! gh failed: To get started with GitHub CLI, please run: gh auth login")
    rows = [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]
    assert rows[0]["words"][:7] == (
        ["api", "--hostname", "github.com", "--method", "GET", "--include", "--header"]
    )
    for row in rows:
        assert not {"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN"} & set(row["env"])


async def test_a_write_through_gh_sends_its_body_on_standard_input(tmp_path: Path) -> None:
    answers = issue_answers()
    path = f"{HERE.removeprefix('/')}/issues/1347/comments"
    answers[path] = (0, included(201, COMMENT), "")
    folder = stand_in_gh(tmp_path / "bin", answers)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}"}
    step = {**COMMENTS, "body": "--help; $(id)"}
    (text,) = await asked_for(tmp_path, step, token="", environ=environ, ui=FakeUI())

    assert "Added a comment" in text
    last = json.loads((folder / "asked.jsonl").read_text().splitlines()[-1])
    assert json.loads(last["sent"]) == {"body": "--help; $(id)"}
    assert last["words"][-3:] == ["--input", "-", path]


async def test_without_token_and_gh_the_error_names_the_variables_to_set(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (text,) = await asked_for(tmp_path, VIEW, token="", environ={"PATH": str(empty)})

    assert text == f"! {client.NO_CREDENTIALS}"


def test_a_body_of_gh_keeps_its_line_endings() -> None:
    reply = parse_included(b"HTTP/2.0 200 OK\r\nLink: a\r\n\r\none\r\n\r\ntwo\r\n")

    assert reply is not None
    assert (reply.status, reply.headers) == (200, {"link": "a"})
    assert reply.body == b"one\r\n\r\ntwo\r\n"
    assert parse_included(b"gh: command failed") is None


# Permissions --------------------------------------------------------------------------------------


def test_a_remote_whose_address_cannot_be_parsed_is_skipped() -> None:
    listed = "github\thttps://[x/a/b (fetch)\norigin\thttps://github.com/o/r.git (fetch)\n"

    assert repository_of_remotes(listed, "github.com").full_name == "o/r"
