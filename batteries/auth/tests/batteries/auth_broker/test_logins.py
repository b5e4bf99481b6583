"""Logins at the broker, end to end: an authorization server, a browser, a real sshd."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.ai.auth.authorization_server import AuthorizationServer, authorization_server
from tests.cli.program import Ended, Program

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
needs_sshd = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="scripts/oracles installs openssh-server"
)


def accounts(cli: Program) -> list[dict[str, Any]]:
    """The accounts that the broker of this machine has stored."""
    found = list(cli.agent_dir.rglob("accounts.json"))
    rows: list[dict[str, Any]] = json.loads(found[0].read_text())["accounts"] if found else []
    return rows


async def logged_in(cli: Program, *words: str) -> Ended:
    """Run a login, and open its page as a browser does."""
    child = cli.start("auth-broker", "login", "anthropic", *words)
    assert child.stderr is not None
    seen = b""
    try:
        while b"/authorize?" not in seen:
            line = await asyncio.to_thread(child.stderr.readline)
            assert line, seen.decode()
            seen = line
        url = seen.decode().strip()
        async with aiohttp.ClientSession() as browser:
            async with browser.get(url, allow_redirects=False) as page:
                target = page.headers["Location"]
            async with browser.get(target) as callback:
                assert callback.status == 200
                assert "go back to pi" in await callback.text()
        out, err = await asyncio.to_thread(child.communicate, b"", 60)
    finally:
        child.kill()
        child.wait()
    return Ended(child.returncode, out.decode(), err.decode())


def use(cli: Program, issuer: AuthorizationServer) -> None:
    """Send logins to Anthropic to an authorization server of the test, on a port of its own."""
    client = {**issuer.clients, "redirectPort": 0}
    cli.write("settings.json", json.dumps({"oauthClients": {"anthropic": client}}))


async def test_a_login_in_the_browser_is_stored_at_the_broker_only(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    async with authorization_server() as issuer:
        use(cli, issuer)

        done = await logged_in(cli, "--label", "work")

    (row,) = accounts(cli)
    text = f"The broker has the account work of anthropic ({row['id']}).\n"
    assert (done.code, done.out) == (0, text)
    assert (row["label"], row["credential"]["refresh"]) == ("work", "refresh-1")
    assert "refresh-1" not in done.err
    assert not (cli.agent_dir / "auth.json").exists()


class SshServer:
    """A real sshd on the loopback with keys of its own, and an ssh that knows it."""

    def __init__(self, folder: Path, remote: Program) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for name in ("host", "user", "stranger"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(make, check=True, timeout=60)
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        tools = folder / "remote-tools"
        tools.mkdir()
        # The login shell of the other machine finds pi, as an installation puts it on PATH.
        values = [f"{k}={v!r}" for k, v in remote.variables.items() if k != "PATH"]
        program = tools / "pi"
        program.write_text(f'#!/bin/sh\n{" ".join(values)} exec {sys.executable} -m pi "$@"\n')
        program.chmod(0o700)
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {folder / 'host'}\n"
            f"AuthorizedKeysFile {folder / 'authorized_keys'}\nPidFile none\nUsePAM no\n"
            "StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"PermitRootLogin prohibit-password\nSetEnv PATH={tools}:/usr/bin:/bin\n"
        )
        (folder / "known_hosts").write_text(
            f"[127.0.0.1]:{self.port} {(folder / 'host.pub').read_text()}"
        )

    def client(self, cli: Program, key: str = "user") -> None:
        """Configure the ``ssh`` of a user for this server, as ``~/.ssh/config`` would."""
        config = self.folder / f"{key}_config"
        config.write_text(
            f"Host broker\n  HostName 127.0.0.1\n  Port {self.port}\n"
            f"  IdentityFile {self.folder / key}\n  IdentitiesOnly yes\n  BatchMode yes\n"
            f"  UserKnownHostsFile {self.folder / 'known_hosts'}\n  StrictHostKeyChecking yes\n"
        )
        tools = self.folder / f"{key}-tools"
        tools.mkdir()
        ssh = tools / "ssh"  # it reads the configuration of the password file's home otherwise
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        ssh.chmod(0o700)
        cli.environ["PATH"] = f"{tools}:/usr/bin:/bin"

    @contextmanager
    def serving(self) -> Iterator[None]:
        if os.geteuid() == 0:  # it refuses to start without the folder of its unprivileged half
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        assert SSHD is not None
        words = [SSHD, "-D", "-E", f"{self.folder}/log", "-f", f"{self.folder}/sshd_config"]
        (self.folder / "log").touch()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                    break
                except OSError:
                    text = (self.folder / "log").read_text()
                    assert child.poll() is None, text
                    assert time.monotonic() < end, text
                    time.sleep(0.02)
            yield
        finally:
            child.terminate()
            child.wait(30)


@pytest.mark.full
@needs_sshd
async def test_a_local_login_is_stored_at_a_remote_broker_over_ssh(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here, there = Program.below(tmp_path / "here"), Program.below(tmp_path / "there")
    ssh = SshServer(tmp_path / "ssh", there)
    user = f"{getpass.getuser()}@broker"
    async with authorization_server() as issuer:
        use(here, issuer)
        with ssh.serving():
            ssh.client(here)
            done = await logged_in(here, "--via", user, "--label", "two words")
            keyed = await asyncio.to_thread(
                here.run, "auth-broker", "login", "groq", "--with-key", "--via", user,
                piped="gsk-0123456789\n",
            )  # fmt: skip
            ssh.client(here, "stranger")
            refused = await asyncio.to_thread(
                here.run, "auth-broker", "login", "groq", "--with-key", "--via", user,
                piped="gsk-0123456789\n",
            )  # fmt: skip
        down = await asyncio.to_thread(
            here.run, "auth-broker", "login", "groq", "--with-key", "--via", user,
            piped="gsk-0123456789\n",
        )  # fmt: skip

    assert (done.code, done.out) == (0, f"Sent the login to anthropic to {user}.\n"), done.err
    assert keyed.code == 0, keyed.err
    rows = {row["provider"]: (row["label"], row["credential"]) for row in accounts(there)}
    assert rows["anthropic"][0] == "two words"
    assert rows["anthropic"][1]["refresh"] == "refresh-1"
    assert rows["groq"] == ("default", {"type": "api_key", "key": "gsk-0123456789"})
    assert accounts(here) == []
    for failed, reason in ((refused, "Permission denied"), (down, "Connection refused")):
        assert failed.code == 1
        assert f"{user} did not take the login" in failed.err
        assert reason in failed.err
        assert "gsk-" not in failed.out + failed.err
    log = (tmp_path / "ssh/log").read_text()
    assert "refresh-1" not in log
    assert "gsk-" not in log
