"""The real program with secrets: its log, ``/debug``, ``/bug``, exports and shares have none."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.base.processes.children import needs_posix_shell
from tests.batteries.secrets.corpus import Corpus
from tests.batteries.test_bundled import install
from tests.cli.program import Program
from tests.screens.terminal_user import TerminalUser, needs_pty, terminal_user
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = [needs_pty, needs_posix_shell]
PAGES = ("page.html", "page.md", "page.txt", "page.jsonl")
LEAKING = """
import logging, os, shutil, urllib.request
from pathlib import Path

TEXT = Path(os.environ["CORPUS_FILE"]).read_text()

def extension(pi):
    log = logging.getLogger("leaking")

    @pi.command("leak")
    async def leak(args, ctx):
        log.warning("all: %s", TEXT)
        try:
            raise ValueError(TEXT)
        except ValueError:
            log.exception("failed with %r", TEXT)
        ctx.ui.notify("leaked now")

    async def upload(path):
        request = urllib.request.Request(os.environ["UPLOAD"], data=path.read_bytes())
        urllib.request.urlopen(request).read()
        return "https://pages.example/uploaded"

    pi.add_share_target("mine", upload)

    @pi.on("session_shutdown")
    async def ending(event, ctx):
        log.warning("at the end: %s", TEXT)
        # Logged when the extensions are unloaded: what ends may still log.
        import asyncio
        asyncio.get_running_loop().call_later(0, log.warning, "after the end: %s", TEXT)
"""
GH = """#!/bin/sh
[ "$1" = auth ] && exit 0
cp "$4" "$SHARED/gist.html"
echo https://gist.github.com/me/0123456789abcdef0123
"""


class Sampled(Corpus):
    """Some secrets of each shape, for the default suite."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.secrets = self.secrets[::every]


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture(params=[pytest.param(1, id="all", marks=pytest.mark.full), 9])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    return Sampled(request.param)


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel, corpus: Corpus) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    (program.cwd / "all.txt").write_text(corpus.text())
    (tmp_path / "bin").mkdir()
    for name, script in (("gh", GH), ("own-share", 'cp "$1" "$SHARED/own.html"\n')):
        path = tmp_path / "bin" / name
        path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}")
        path.chmod(0o755)
    program.environ |= {
        **corpus.environ,
        "CORPUS_FILE": str(program.cwd / "all.txt"),
        "SHARED": str(tmp_path),
        "UPLOAD": model.url,
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
    }
    provider = {"baseUrl": model.url, "apiKey": "k", "api": "openai-completions"}
    models = {"providers": {"mine": provider | {"models": [{"id": "m"}]}}}
    program.write("models.json", json.dumps(models))
    program.write("secrets.yml", corpus.yaml)
    settings = {"secrets": {"enabled": True}, "retry": {"enabled": False}}
    program.write("settings.json", json.dumps(settings | {"lastChangelogVersion": "999"}))
    program.write("leaking.py", LEAKING)
    return program


def pieces_of(corpus: Corpus, text: str, size: int = 16) -> list[str]:
    """Secrets of which a part is readable when a screen wraps them."""
    plain = re.sub(r"\\u[0-9a-f]{4}|[^A-Za-z0-9+/=_.-]", "", text)
    found = []
    for each in corpus.secrets:
        value = re.sub(r"[^A-Za-z0-9+/=_.-]", "", each.value)
        parts = [value[at : at + size] for at in range(0, max(len(value) - size, 0) + 1, 4)]
        if len(value) >= size and any(part in plain for part in parts):
            found.append(each.value)
    return found


def command(user: TerminalUser, line: str, shown: str) -> None:
    """Type a command and wait for what it says."""
    user.types(f"{line}\r")
    user.sees(shown)


@pytest.mark.full
def test_the_files_of_a_session_on_a_screen_have_no_secret(
    cli: Program, model: LoopbackModel, corpus: Corpus, tmp_path: Path
) -> None:
    model.calls = [{"command": "cat all.txt"}]
    extension = str(cli.agent_dir / "leaking.py")
    with terminal_user(cli, "--model", "mine/m", "-e", extension, columns=90, rows=60) as user:
        user.sees("mine/m")
        command(user, "go", "All is well.")
        command(user, "/leak", "leaked now")
        command(user, "/debug", "Written to")
        user.types("/bug it failed\r")
        user.sees("Add the session?")
        user.types("\r")
        user.sees("Nothing was sent.")
        for page in PAGES:
            command(user, f"/export {page}", page)
            user.until((cli.cwd / page).exists)
        command(user, "/share mine", "https://pages.example/uploaded")
        command(user, "/share", "0123456789abcdef0123")
        user.leaves()

    [report] = (cli.agent_dir / "bug-reports").iterdir()
    with zipfile.ZipFile(report) as archive:
        written = {name: archive.read(name) for name in archive.namelist()}
    written |= {page: (cli.cwd / page).read_bytes() for page in PAGES}
    written |= {name: (cli.agent_dir / name).read_bytes() for name in ("pi.log", "pi-debug.log")}
    written["gist"] = (tmp_path / "gist.html").read_bytes()
    *requests, upload = model.requests
    written |= {"upload": upload.encode(), "requests": "\n".join(requests).encode()}
    logged = written["pi.log"].decode()
    assert all(mark in logged for mark in ("all: ", "failed with ", "ValueError: "))
    # The names of variables show that the texts are there, without their values.
    assert [name for name, data in written.items() if b"API_KEY=" not in data] == ["report.md"]
    assert {name: found for name, data in written.items() if (found := corpus.leaks(data))} == {}
    assert pieces_of(corpus, written["pi-debug.log"].decode()) == []


@pytest.mark.full
def test_exports_and_shares_without_a_screen_have_no_secret(
    cli: Program, model: LoopbackModel, corpus: Corpus, tmp_path: Path
) -> None:
    settings: dict[str, Any] = json.loads((cli.agent_dir / "settings.json").read_text())
    own = {"share": {"command": ["own-share"]}}
    cli.write("settings.json", json.dumps(settings | own))
    model.calls = [{"command": "cat all.txt"}]

    cli.environ["PI_CODEX_DEBUG"] = "1"  # the only log without a screen

    extension = str(cli.agent_dir / "leaking.py")
    ended = cli.run("-p", "--model", "mine/m", "-e", extension, "go")
    [session] = (cli.agent_dir / "sessions").rglob("*.jsonl")
    pages = [cli.run("--export", str(session), page) for page in PAGES]
    by_id = cli.run("sessions", "export", session.stem.rpartition("_")[2], "named.html")

    assert (ended.code, [page.code for page in pages], by_id.code) == (0, [0] * 4, 0)
    assert len(corpus.leaks(session.read_bytes())) > 10, "the session itself is not changed"
    written = {name: (cli.cwd / name).read_bytes() for name in (*PAGES, "named.html")}
    written["requests"] = "\n".join(model.requests).encode()
    written["pi.log"] = (cli.agent_dir / "pi.log").read_bytes()
    assert all(mark in written["pi.log"] for mark in (b"at the end: ", b"after the end: "))
    assert {name: found for name, data in written.items() if (found := corpus.leaks(data))} == {}


CRASHING = """
import os
from pathlib import Path
import pi.cli.crashes

def extension(pi):
    @pi.on("session_start")
    def start(event, ctx):
        import pi.cli.headless as headless
        def crash(*_):
            raise KeyError(Path(os.environ["CORPUS_FILE"]).read_text())
        headless.run_print = crash
"""


def test_the_log_of_a_crash_has_no_secret(cli: Program, corpus: Corpus) -> None:
    cli.write("leaking.py", CRASHING)
    path = str(cli.agent_dir / "leaking.py")

    ended = cli.run("-p", "--model", "mine/m", "-e", path, "go")

    logged = (cli.agent_dir / "pi.log").read_bytes()
    assert ended.code == 1
    assert b"KeyError" in logged
    assert corpus.leaks(logged) == []
