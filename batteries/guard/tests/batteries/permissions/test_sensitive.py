"""Files that look like credentials: what counts, who is asked, what a refusal shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Step, calls, says
from pi.batteries.permissions.adapter import extension
from pi.batteries.permissions.paths import BaseFolders
from pi.batteries.permissions.questions import DENY, ONCE, SESSION
from pi.batteries.permissions.sensitive import is_sensitive, variable_names
from pi.batteries.permissions.sensitive_commands import sensitive_files_of
from pi.coding.runtime.options import ToolFilter
from tests.batteries.permissions.test_sessions import Asked, results
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
ENV = "API_KEY=s3cr3t-one\nexport DB_PASSWORD='s3cr3t-two'\n# NOTE=1\n"


@asynccontextmanager
async def session_with(
    tmp_path: Path, *steps: Step, ui: FakeUI | None = None, **settings: Any
) -> AsyncIterator[ExtensionFixture]:
    project = tmp_path / "home/project"
    (project / "conf").mkdir(parents=True)
    (project / ".env").write_text(ENV)
    (project / "conf/prod.env").write_text(ENV)
    (project / "notes.txt").symlink_to(".env")
    (project / "plain.txt").write_text("API_KEY is in the environment\n")
    steps = (*steps, says("ok"))
    async with extension_session(
        tmp_path,
        extension,
        steps=steps,
        settings=settings,
        ui=ui,
        approve=True,
        tools=ToolFilter(built_ins=TOOLS),
    ) as hosted:
        await hosted.session.prompt("go")
        yield hosted


READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read", {"path": ".env"}),
    ("read", {"path": "@.env"}),
    ("read", {"path": "file://PROJECT/conf/%2e%2e/%2eenv"}),
    ("read", {"path": "notes.txt"}),
    ("grep", {"pattern": "KEY", "path": ".env"}),
    ("edit", {"path": ".env", "edits": [{"oldText": "API", "newText": "APP"}]}),
    ("bash", {"command": "cat .env"}),
    ("bash", {"command": "cat notes.txt"}),
    ("bash", {"command": "cd conf && cat prod.env"}),
    ("bash", {"command": "cat .en* | head"}),
    ("bash", {"command": "cat .[e]nv"}),
    ("bash", {"command": 'cat ".e""nv"'}),
    ("bash", {"command": "f=.env; cat $f"}),
    ("bash", {"command": "for f in .*; do cat $f; done"}),
    ("bash", {"command": "head < .env"}),
    ("bash", {"command": "source .env && env"}),
    ("bash", {"command": "python3 -c \"print(open('.env').read())\""}),
    ("bash", {"command": "python3 - <<'X'\nprint(open('.env').read())\nX"}),
    ("bash", {"command": "node --env-file=.env -e 'console.log(process.env)'"}),
    ("bash", {"command": "grep -r KEY ."}),
    ("bash", {"command": "find . -type f -exec cat {} \\;"}),
    ("bash", {"command": "find . -type f | xargs cat"}),
    ("bash", {"command": "cp -r . ../copy"}),
    ("bash", {"command": "git show HEAD:.env"}),
    ("bash", {"command": "base64 .env"}),
    ("bash", {"command": "rg -L KEY"}),
    ("bash", {"command": "grep -R KEY ."}),
    ("bash", {"command": "rg --follow KEY ."}),
    ("bash", {"command": "ln -s .env harmless"}),
)


@pytest.mark.parametrize(("tool", "arguments"), READS, ids=lambda value: str(value)[:60])
async def test_without_a_user_such_a_read_is_refused_with_the_names_only(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    if "path" in arguments:
        project = tmp_path / "home/project"
        arguments = {**arguments, "path": arguments["path"].replace("PROJECT", str(project))}
    step = calls(tool, **arguments)
    async with session_with(tmp_path, step, files={"sensitive": "ask"}) as hosted:
        [(is_error, text)] = results(hosted)

    assert is_error
    assert "looks like a file with credentials" in text
    assert "s3cr3t" not in text
    if "HEAD:" not in str(arguments):
        assert "API_KEY, DB_PASSWORD" in text


HARMLESS: tuple[Step, ...] = (
    calls("read", path="plain.txt"),
    calls("ls"),
    calls("find", pattern="*"),
    calls("bash", command="ls -la .env && test -f .env"),
    calls("bash", command="echo X=1 >> .env"),
    calls("bash", command="printf .env >> .gitignore"),
    calls("bash", command="cat plain.txt; echo .env"),
    calls("bash", command="find . -name '*.env'"),
    calls("bash", command="git status; git check-ignore .env"),
    calls("bash", command="cat *"),
)


async def test_ordinary_calls_are_not_asked_about(tmp_path: Path) -> None:
    ui = Asked(DENY)
    async with session_with(tmp_path, *HARMLESS, ui=ui, files={"sensitive": "ask"}) as hosted:
        texts = [text for _, text in results(hosted)]

    # ``notes.txt`` is a link to ``.env``, which the shell's ``*`` covers.
    assert [question.splitlines()[0][-6:] for question in ui.questions] == ["/.env?"]
    assert ".env" in texts[1], "lists show the names"


async def test_a_search_of_the_project_leaves_such_files_out(tmp_path: Path) -> None:
    steps = (calls("grep", pattern="API_KEY"),)
    async with session_with(tmp_path, *steps, files={"sensitive": "ask"}) as hosted:
        [(is_error, text)] = results(hosted)

    assert not is_error
    assert "plain.txt" in text and "s3cr3t" not in text


async def test_the_user_allows_a_file_once_or_for_the_session(tmp_path: Path) -> None:
    read = calls("read", path=".env")
    ui = Asked(DENY, ONCE, SESSION)
    steps = (read, read, read, read, calls("bash", command="cat .env"))
    async with session_with(tmp_path, *steps, ui=ui, files={"sensitive": "ask"}) as hosted:
        texts = [text for _, text in results(hosted)]

    assert ["s3cr3t-one" in text for text in texts] == [False, True, True, True, True]
    assert len(ui.questions) == 3
    assert ui.questions[0].startswith(f"Let the model read {tmp_path}/home/project/.env?")


@pytest.mark.parametrize(
    ("settings", "is_read"),
    [
        ({}, True),
        ({"permissions": {"mode": "off"}}, True),
        ({"permissions": {"mode": "ask"}}, False),
        ({"permissions": {"mode": "auto-edit"}}, False),
        ({"secrets": {"enabled": True}}, False),
        ({"batteries": "recommended"}, False),
        ({"permissions": {"mode": "ask"}, "files": {"sensitive": "allow"}}, True),
        ({"files": {"sensitive": "refuse"}}, False),
        ({"files": {"sensitive": "alow"}}, False),
    ],
)
async def test_reads_are_guarded_as_soon_as_another_guard_is_on(
    tmp_path: Path, settings: dict[str, Any], is_read: bool
) -> None:
    async with session_with(tmp_path, calls("read", path=".env"), **settings) as hosted:
        [(is_error, text)] = results(hosted)

    assert is_error is not is_read
    assert ("s3cr3t-one" in text) is is_read


async def test_refuse_does_not_ask(tmp_path: Path) -> None:
    ui = Asked(ONCE)
    steps = (calls("read", path=".env"),)
    async with session_with(tmp_path, *steps, ui=ui, files={"sensitive": "refuse"}) as hosted:
        [(is_error, text)] = results(hosted)

    assert is_error and "files.sensitive" in text and ui.questions == []


@pytest.mark.parametrize(
    "path",
    [
        *("/p/.env", "/p/.env.local", "/p/.env.production", "/p/prod.env", "/p/.ENV", "/p/.envrc"),
        *("/h/.ssh/id_ed25519", "/h/.ssh/config", "/p/server.key", "/p/private.pem", "/p/a.p12"),
        *("/h/.aws/credentials", "/h/.aws/config", "/h/.config/gcloud/x.json", "/h/.kube/config"),
        *("/h/.netrc", "/h/.npmrc", "/h/.git-credentials", "/h/.docker/config.json"),
        *("/p/.env~", "/p/prod.env.bak", "/p/server.key.old", "/p/.server.key.swp"),
        *("/h/.s3cfg", "/h/.config/rclone/rclone.conf", "/h/.m2/settings.xml", "/p/.dev.vars"),
        *("/h/.password-store/a.gpg", "/p/app-firebase-adminsdk-x1.json"),
        *("/proc/self/environ", "/proc/1/environ", "/proc/1/task/1/environ"),
        *("/h/.pi/agent/auth.json", "/p/config/secrets.yml", "/p/terraform.tfstate"),
    ],
)
def test_a_name_of_credentials_counts(path: str) -> None:
    assert is_sensitive(path)


@pytest.mark.parametrize(
    "path",
    [
        *("/p/.env.example", "/p/.env.sample", "/p/.env.template", "/p/env.py", "/p/environment"),
        *("/h/.ssh/id_ed25519.pub", "/h/.ssh/known_hosts", "/etc/ssl/cert.pem", "/p/cacert.pem"),
        *("/p/.env.example~", "/p/a.py~", "/p/~", "/p/proc/1/environ", "/p/settings.xml"),
        *("/p/credentials.md", "/p/keys.py", "/p/src/secrets.py", "/p/monkey.txt", "/"),
    ],
)
def test_a_name_that_only_resembles_one_does_not(path: str) -> None:
    assert not is_sensitive(path)


def test_only_the_names_of_variables_are_listed() -> None:
    texts = [
        "A=1\nexport B_C='x=y'\n# D=1\n",
        '{\n "key": "v",\n "n": {"deep": 1}\n}',
        "-----BEGIN",
    ]

    assert variable_names(texts) == ("A", "B_C", "key", "n")


def test_a_file_in_a_folder_that_is_not_known_counts_by_the_folders_that_are(
    tmp_path: Path,
) -> None:
    (tmp_path / ".env").write_text("A=1")
    places = BaseFolders(cwd=str(tmp_path), home=str(tmp_path))

    assert sensitive_files_of("cat $HOME/../x/.env .env", str(tmp_path), places)
    assert not sensitive_files_of("cat other.txt", str(tmp_path), places)


@pytest.mark.parametrize(
    "command",
    [
        "curl -F f=@.env http://localhost",
        "diff -r . /tmp",
        "cat /proc/self/cwd/.env",
        'cat "${PWD%/}/.env"',
        "ls | cpio -o",
        "pax -w .",
        "a=.e; b=nv; cat $a$b",
        "tar xf made.tar && cat made/.env",
        "git restore -s OLD . && cat other.env",
        "git worktree add ../w && cat ../w/.env",
    ],
)
def test_further_ways_to_read_a_file_are_known(tmp_path: Path, command: str) -> None:
    (tmp_path / ".env").write_text("A=1")
    places = BaseFolders(cwd=str(tmp_path), home=str(tmp_path))

    assert sensitive_files_of(command, str(tmp_path), places)


def test_a_file_that_a_line_makes_of_an_example_is_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text("A=1")
    places = BaseFolders(cwd=str(tmp_path), home=str(tmp_path))

    assert not sensitive_files_of("cp .env.example .env && npm test", str(tmp_path), places)
