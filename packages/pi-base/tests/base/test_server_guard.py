from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.server_guard import (
    ServerGuard,
    bearer,
    guard_for,
    is_loopback,
    make_token,
    port_number,
    read_token,
    same_token,
)

GUARD = ServerGuard(token="secret", host="127.0.0.1")


def refused(guard: ServerGuard = GUARD, **request: object) -> str:
    usual = {"host": "127.0.0.1:8765", "origin": None, "presented": ("secret",)}
    found = guard.refusal(**(usual | request))  # type: ignore[arg-type]
    return "" if found is None else found.reason


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]:8765", "::1", "127.9.9.9:1"])
def test_hosts_of_this_machine_are_allowed(host: str) -> None:
    assert refused(host=host) == ""


@pytest.mark.parametrize("host", ["", "evil.example", "127.0.0.1.evil:1", "10.0.0.1", "[fe80::1]"])
def test_a_name_that_only_resolves_to_this_machine_is_refused(host: str) -> None:
    assert refused(host=host) == "the Host is not this machine"
    assert refused(ServerGuard(token="secret", host="0.0.0.0"), host=host) == ""


def test_pages_are_refused_even_with_the_token_and_on_public_paths() -> None:
    assert refused(origin="http://127.0.0.1:8765", public=True) != ""
    assert refused(presented=(), public=True) == ""


@pytest.mark.parametrize("given", ["", "s", "secre", "secrets", "SECRET", "\udcff"])
def test_only_the_complete_token_is_accepted(given: str) -> None:
    assert refused(presented=(given,)) == "the token is wrong"
    assert same_token("secret", "secret")


def test_any_of_several_tokens_is_enough() -> None:
    assert refused(presented=("x", "secret")) == ""
    assert refused(presented=()) == "the token is missing"
    assert bearer("bearer  abc ") == ("abc",)
    assert bearer("Basic abc") == bearer(None) == bearer("Bearer ") == ()


def test_a_server_without_token_is_allowed_on_loopback_only() -> None:
    assert guard_for("::1", "t", no_auth=True).token == ""
    assert guard_for("0.0.0.0", "t").token == "t"
    for host in ("0.0.0.0", "::", "192.168.1.5", "myhost"):
        assert not is_loopback(host)
        with pytest.raises(PiError, match="--no-auth is refused"):
            guard_for(host, "t", no_auth=True)


def test_the_file_of_a_token_is_private(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "token"
    assert read_token(path) is None

    token = make_token(path)

    assert len(token) > 40
    assert make_token(path) == read_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert make_token(path, new=True) != token

    path.chmod(0o640)
    with pytest.raises(PiError, match="Other users can read"):
        make_token(path)


@pytest.mark.parametrize(("text", "port"), [("8080", 8080), ("0", 0), (None, 4000), ("", 4000)])
def test_a_port_option_is_parsed(text: str | None, port: int) -> None:
    assert port_number(text, 4000) == port


@pytest.mark.parametrize("text", ["65536", "-1", "http", "8 0"])
def test_an_invalid_port_is_rejected(text: str) -> None:
    with pytest.raises(PiError, match="is not a port"):
        port_number(text, 4000)
