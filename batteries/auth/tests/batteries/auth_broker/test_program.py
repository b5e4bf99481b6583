"""The real programs: arguments of the command line, logins over ssh and in a browser."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.mock_process import mock_server
from tests.cli.program import Program
from tests.sampling import sampled

KEY = '{"mock": {"type": "api_key", "key": "sk-mock-0123456789"}}'


def served(cli: Program, *words: str, port: str = "0") -> tuple[subprocess.Popen[bytes], str]:
    """Start a server and return it with its address."""
    child = cli.start(*words, "--port", port)
    assert child.stdout is not None
    line = child.stdout.readline().decode()
    if "http" not in line:
        child.kill()
        _, errors = child.communicate()
        raise AssertionError(line + errors.decode())
    return child, next(word for word in line.split() if word.startswith("http"))


def ended(child: subprocess.Popen[bytes]) -> str:
    """End a server as a service manager does; returns its messages."""
    child.send_signal(signal.SIGTERM)
    _, errors = child.communicate(timeout=30)
    return errors.decode()


@pytest.mark.full
def test_a_gateway_answers_with_a_key_that_only_the_broker_has(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    host, other = Program.below(tmp_path / "a"), Program.below(tmp_path / "b")
    host.write("auth.json", KEY)
    token = host.run("auth-broker", "token").out.strip()
    moved = host.run("auth-broker", "migrate", "--from-local")
    assert (moved.code, moved.out) == (0, "Moved mock.\nMoved 1 credentials to the broker.\n")
    assert json.loads((host.agent_dir / "auth.json").read_text()) == {}
    broker, url = served(host, "auth-broker", "serve")
    with mock_server() as server:
        try:
            provider = {
                "baseUrl": f"http://127.0.0.1:{server.port}/v1",
                "api": "openai-completions",
                "models": [{"id": "echo-3"}],
            }
            other.write("models.json", json.dumps({"providers": {"mock": provider}}))
            other.environ |= {"PI_AUTH_BROKER_URL": url, "PI_AUTH_BROKER_TOKEN": token}
            gateway, address = served(other, "auth-gateway", "serve")
            try:
                gateway_token = other.run("auth-gateway", "token").out.strip()
                answer = asyncio.run(_asked(address, gateway_token))
            finally:
                messages = ended(gateway)
            checked = other.run("auth-gateway", "check", "--strict")
        finally:
            messages += ended(broker)
        down = other.run("auth-broker", "status")
    assert down.code == 1
    assert down.out.startswith(f"The auth broker {url} cannot be reached")
    assert "choices" in answer, answer
    assert answer["choices"][0]["message"]["content"]
    assert answer["model"] == "mock/echo-3"
    assert (checked.code, checked.out) == (0, f"mock: ready (auth broker {url}: default)\n")
    assert messages == ""
    assert token not in url + messages


async def _asked(address: str, token: str) -> Any:
    question = {"model": "mock/echo-3", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{address}/chat/completions", json=question) as response,
    ):
        return await response.json()


@pytest.mark.full
def test_a_login_is_sent_to_the_broker_over_ssh(tmp_path: Path) -> None:
    cli, tools = Program.below(tmp_path), tmp_path / "tools"
    tools.mkdir()
    ssh, seen = tools / "ssh", tmp_path / "seen"
    ssh.write_text(f'#!/bin/sh\n{{ echo "$@"; cat; }} > {seen}\n[ "$2" != bad@host ]\n')
    ssh.chmod(0o700)
    cli.environ["PATH"] = f"{tools}:/usr/bin:/bin"
    words = ("auth-broker", "login", "groq", "--with-key", "--label", "work", "--via")

    done = cli.run(*words, "me@host", piped="gsk-0123456789\n")

    assert (done.code, done.out) == (0, "Sent the login to groq to me@host.\n")
    line, _, sent = seen.read_text().partition("\n")
    assert line == "-- me@host pi auth-broker import - --label work"
    assert json.loads(sent) == {"groq": {"type": "api_key", "key": "gsk-0123456789"}}
    assert not list(cli.agent_dir.rglob("accounts.json"))
    failed = cli.run(*words, "bad@host", piped="gsk-0123456789\n")
    assert failed.code == 1
    assert "bad@host did not take the login" in failed.err
    assert "is not user@host" in cli.run(*words[:-1], "--via=-oProxyCommand=x").err


@pytest.mark.parametrize(
    ("words", "message"),
    sampled(
        [
            (("auth-broker", "serve", "--no-auth", "--host", "0.0.0.0"), "--no-auth is refused"),
            (("auth-gateway", "serve", "--no-auth", "--host", "::"), "--no-auth is refused"),
            (("auth-broker", "dance"), "Unknown words"),
            (("auth-broker", "logout", "missing"), "no account missing"),
        ],
        keep=1,
    ),
)
def test_invalid_arguments_are_rejected(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = Program.below(tmp_path).run(*words)

    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert "Traceback" not in done.err
