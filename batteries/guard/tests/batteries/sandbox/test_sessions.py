"""The sandbox in whole sessions: the kernel refuses, not a parser."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.base.processes.sandbox import SandboxSupport, find_sandbox
from pi.batteries.sandbox import adapter
from pi.batteries.sandbox.adapter import extension
from pi.batteries.sandbox.network import allows
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.extension_host.extension_session import ExtensionFixture, FakeUI
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture
from tests.coding.web_site import web_site
from tests.files import put


@pytest.fixture(scope="module")
def support() -> SandboxSupport:
    found = asyncio.run(find_sandbox(os.environ))
    if found.mechanism == "none" or not found.cuts_network:
        pytest.skip(f"no sandbox here: {found.reason}")
    return found


@asynccontextmanager
async def boxed(
    tmp_path: Path,
    *steps: Step,
    ui: FakeUI | None = None,
    **sandbox: Any,
) -> AsyncIterator[ExtensionFixture]:
    settings = {"sandbox": {"enabled": True, **sandbox}}
    # Tests run below the usual temporary folder, which commands may change.
    environ = {**ENVIRON, "TMPDIR": str(tmp_path / "tmp")}
    fixture = SessionFixture(tmp_path, *steps, environ=environ)
    chosen = ExtensionOptions(discover=False, inline=(extension,))
    session = await fixture.open(extensions=chosen, settings=settings, approve=True)
    try:
        if ui is not None:
            session.extensions.attach(ui, "rpc")
        await session.start()
        yield ExtensionFixture(fixture, session)
    finally:
        await session.close()


def results(hosted: ExtensionFixture) -> list[tuple[bool, str]]:
    found = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [(m.is_error, m.text.strip()) for m in found]


async def test_the_kernel_refuses_writes_outside_and_to_protected_files(
    tmp_path: Path, support: SandboxSupport
) -> None:
    project = tmp_path / "home/project"
    put(project / ".git/config", "[core]\n")
    put(project / ".git/hooks/pre-commit", "x\n")
    command = (
        "echo a > inside.txt; echo b > ../outside.txt; echo c >> .git/config;"
        ' python3 -c \'open(".git/hooks/pre-commit", "w")\' 2>&1 | tail -1;'
        " mv .git moved; ls"
    )
    steps = (calls("bash", command=command), says("ok"))
    async with boxed(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        ((_, text),) = results(hosted)
        assert (project / "inside.txt").read_text() == "a\n"
        assert not (tmp_path / "home/outside.txt").exists()
        assert (project / ".git/config").read_text() == "[core]\n"
        assert (project / ".git/hooks/pre-commit").read_text() == "x\n"
        assert "../outside.txt" in text


async def test_the_kernel_refuses_the_network(tmp_path: Path, support: SandboxSupport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        steps = (calls("bash", command=command), says("ok"))
        async with boxed(tmp_path / "off", *steps) as hosted:
            await hosted.session.prompt("go")
            assert "connected" not in results(hosted)[0][1]
        async with boxed(tmp_path / "on", *steps, network=True) as hosted:
            await hosted.session.prompt("go")
            assert results(hosted)[0][1] == "connected"


async def test_only_hosts_of_the_list_can_be_reached_and_only_by_the_proxy(
    tmp_path: Path, support: SandboxSupport
) -> None:
    async with web_site({"/": ("text/plain", b"the page")}) as site:
        command = (
            "p=$(echo $http_proxy | sed s/pi:.*@//); "
            f"curl -s http://127.0.0.1:{site.port}/; echo; curl -s http://other.example/; "
            f"curl -s -o /dev/null -w '%{{http_code}}' -x $p http://127.0.0.1:{site.port}/; "
            f"curl -s --noproxy '*' http://127.0.0.1:{site.port}/ || echo cut"
        )
        steps = (calls("bash", command=command), says("ok"))
        hosts = [f"127.0.0.1:{site.port}", "*.example.org"]
        async with boxed(tmp_path, *steps, allowHosts=hosts) as hosted:
            await hosted.session.prompt("go")
            shown = results(hosted)[0][1]

    lines = shown.splitlines()
    assert lines[0] == "the page"
    assert lines[1] == "pi: other.example:80 is not in sandbox.allowHosts."
    assert lines[2] == "407cut"
    assert len(site.requests) == 1


async def test_an_empty_list_of_hosts_cuts_the_network(
    tmp_path: Path, support: SandboxSupport
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        steps = (calls("bash", command=command), says("ok"))
        async with boxed(tmp_path, *steps, network=True, allowHosts=[]) as hosted:
            await hosted.session.prompt("go")
            assert "connected" not in results(hosted)[0][1]


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("pypi.org", 443, True),
        ("PyPI.org.", 80, True),
        ("pypi.org", 22, False),
        ("evil-pypi.org", 443, False),
        ("pypi.org.evil.example", 443, False),
        ("a.npmjs.org", 443, True),
        ("npmjs.org", 443, False),
        ("git.example", 22, True),
        ("git.example", 443, False),
        ("::1", 8000, True),
        ("::2", 8000, False),
    ],
)
def test_entries_of_hosts(host: str, port: int, expected: bool) -> None:
    assert (
        allows(["pypi.org", "*.npmjs.org", "git.example:22", "[::1]:8000"], host, port) is expected
    )


async def test_credentials_are_not_readable_unless_they_are_allowed(
    tmp_path: Path, support: SandboxSupport
) -> None:
    for name in ("a", "b"):
        for file in (".ssh/id_rsa", ".ssh/known_hosts", ".aws/credentials", ".netrc", "notes"):
            put(tmp_path / name / "home" / file, f"{file}: the-secret\n")
        put(tmp_path / name / "home/.config/gcloud/access_tokens.db", "gcloud: the-secret\n")
        put(tmp_path / name / "home/.pi/agent/extension-data/x/token", "pi: the-secret\n")
    reading = (
        "cat ~/notes ~/.netrc; cat ~/.aws/credentials ~/.config/gcloud/*; cat ~/.pi/agent/e*/*/*;"
        " grep -rh 'the-[s]ecret' ~ /proc/1/root$HOME; cp -r ~/.ssh copy; cat copy/*; true"
    )
    steps = (calls("bash", command=reading), says("ok"))
    async with boxed(tmp_path / "a", *steps) as hosted:
        await hosted.session.prompt("go")
        hidden = results(hosted)[0][1]
    async with boxed(tmp_path / "b", *steps, readable=["~/.ssh/known_hosts"]) as hosted:
        await hosted.session.prompt("go")
        partly = results(hosted)[0][1]

    def shown(text: str) -> set[str]:
        return {line.partition(":")[0] for line in text.splitlines() if "the-secret" in line}

    assert shown(hidden) == {"notes"}
    assert shown(partly) == {"notes", ".ssh/known_hosts"}


async def test_further_folders_can_be_writable(tmp_path: Path, support: SandboxSupport) -> None:
    (tmp_path / "home/cache").mkdir(parents=True)
    steps = (calls("bash", command="echo a > ~/cache/x && cat ~/cache/x"), says("ok"))
    async with boxed(tmp_path, *steps, writable=["~/cache"]) as hosted:
        await hosted.session.prompt("go")

        assert results(hosted) == [(False, "a")]


async def test_a_writable_folder_cannot_be_replaced_by_a_link(
    tmp_path: Path, support: SandboxSupport
) -> None:
    (tmp_path / "home/other").mkdir(parents=True)
    steps = (
        calls("bash", command="ln -s ~/other build && ls build"),
        calls("bash", command="touch ~/other/x; ls ~/other"),
        says("ok"),
    )
    async with boxed(tmp_path, *steps, writable=["build"]) as hosted:
        await hosted.session.prompt("go")

        assert not (tmp_path / "home/other/x").exists()


async def test_servers_outside_of_the_project_cannot_be_used_unless_they_are_allowed(
    tmp_path: Path, support: SandboxSupport
) -> None:
    """That of tmux, for example, would run any command outside of the sandbox."""
    connected: list[str] = []

    def serve(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(name)
        writer.close()

    (tmp_path / "home/project").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    names = ("tmp/other", "tmp/allowed", "home/project/own")
    code = (
        "import socket, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try: socket.socket(socket.AF_UNIX).connect(path)\n"
        "    except OSError: pass"
    )
    paths = " ".join(str(tmp_path / name) for name in names)
    steps = (calls("bash", command=f"python3 -c '{code}' {paths}"), says("ok"))
    servers = [
        await asyncio.start_unix_server(partial(serve, name), tmp_path / name) for name in names
    ]
    async with boxed(tmp_path, *steps, readable=[str(tmp_path / "tmp/allowed")]) as hosted:
        await hosted.session.prompt("go")
    for server in servers:
        server.close()

    assert connected == ["tmp/allowed", "home/project/own"]


async def test_a_protected_file_that_a_command_creates_is_reported(
    tmp_path: Path, support: SandboxSupport
) -> None:
    ui = FakeUI()
    steps = (calls("bash", command="echo {} > .mcp.json"), says("ok"))
    async with boxed(tmp_path, *steps, ui=ui) as hosted:
        await hosted.session.prompt("go")

        assert ".mcp.json is protected" in results(hosted)[0][1]
        assert any(".mcp.json, which runs commands later" in seen[1] for seen in ui.seen)


async def test_without_a_sandbox_no_command_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(environ: Any) -> SandboxSupport:
        return SandboxSupport(reason="The kernel is too old.")

    monkeypatch.setattr(adapter, "find_sandbox", nothing)
    steps = (calls("bash", command="touch ran"), says("ok"))
    async with boxed(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

        ((is_error, text),) = results(hosted)
        assert is_error and "The kernel is too old." in text
        assert not (tmp_path / "home/project/ran").exists()


async def test_the_command_shows_the_enforced_limits(
    tmp_path: Path, support: SandboxSupport
) -> None:
    ui = FakeUI()
    async with boxed(tmp_path, says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("/sandbox")

        shown = ui.seen[-1][1]
        assert shown.startswith(f"Sandbox: on\nThis machine: {support.mechanism}")
        assert "Network: off" in shown
        assert f"Sockets of other programs: only those in {tmp_path}/home/project" in shown or (
            "Sockets of other programs: only those in ." in shown
        )
