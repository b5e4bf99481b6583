from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.auth.config_values import (
    MAX_REMEMBERED,
    CommandCache,
    escape,
    expand,
    may_expand,
    remember_used,
    unresolved_reason,
    used_secrets,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="commands for a POSIX shell")

ENVIRON = {"KEY": "secret", "_B2": "b", "EMPTY": "", "PATH": os.defpath}


@pytest.mark.behaviour("keys-are-literal-or-explicit")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sk-123", "sk-123"),
        ("KEY", "KEY"),  # a plain string is itself, although there is such a variable
        ("$KEY", "secret"),
        ("${KEY}", "secret"),
        ("Bearer ${KEY}-$_B2!", "Bearer secret-b!"),
        ("$KEYS", None),
        ("x$UNSET", None),
        ("$EMPTY", None),
        ("", None),
        ("$$KEY", "$KEY"),
        ("$!echo", "!echo"),
        ("a$", "a$"),
        ("$5 ${KEY ${}", "$5 ${KEY ${}"),
        ("a!b", "a!b"),
    ],
)
async def test_variables_and_escapes_in_text_are_expanded(text: str, value: str | None) -> None:
    assert await expand(text, environ=ENVIRON) == value
    assert may_expand(text, ENVIRON) is (value is not None)


@given(st.text(min_size=1))
def test_an_escaped_key_is_read_as_it_was_typed(literal: str) -> None:
    assert asyncio.run(expand(escape(literal), environ=ENVIRON)) == literal


@posix
@pytest.mark.behaviour("keys-are-literal-or-explicit")
async def test_the_value_of_a_command_is_its_output_or_none_if_it_fails(tmp_path: Path) -> None:
    commands = {
        "!echo ' key '; echo noise >&2": "key",
        '!printf %s "$KEY"': "secret",
        "!pwd": str(tmp_path.resolve()),
        "!echo key; exit 3": None,
        "!true": None,
        "!no-such-program": None,
        "!cat": None,  # nothing to read
    }

    values = {text: await expand(text, environ=ENVIRON, cwd=tmp_path) for text in commands}

    assert values == commands
    assert all(may_expand(text, {}) for text in commands)


@posix
@pytest.mark.behaviour("keys-are-literal-or-explicit")
async def test_a_command_inherits_no_descriptors_and_does_not_block_the_event_loop(
    tmp_path: Path,
) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        command = f"until test -e go; do :; done; test -e /dev/fd/{file.fileno()} || echo closed"
        running = asyncio.create_task(expand(f"!{command}", environ=ENVIRON, cwd=tmp_path))
        await asyncio.sleep(0)
        (tmp_path / "go").touch()

        async with asyncio.timeout(30):
            assert await running == "closed"


@posix
async def test_a_cached_command_runs_once_and_a_failed_one_is_retried(tmp_path: Path) -> None:
    remembered = CommandCache()
    count = "echo x >> runs; test -e ready && wc -l < runs"

    async def value() -> str | None:
        return await expand(f"!{count}", environ=ENVIRON, cwd=tmp_path, remembered=remembered)

    assert await value() is None
    (tmp_path / "ready").touch()
    first, second = await asyncio.gather(value(), value())
    assert (first, second) == ("2", "2")
    assert await value() == "2"
    assert await expand(f"!{count}", environ=ENVIRON, cwd=tmp_path) == "3"


@posix
async def test_a_cached_command_runs_again_for_other_variables() -> None:
    remembered = CommandCache()

    values = [
        await expand("!echo $KEY", environ=ENVIRON | {"KEY": key}, remembered=remembered)
        for key in ("a", "b")
    ]

    assert values == ["a", "b"]


async def test_a_command_that_cannot_be_started_returns_none(tmp_path: Path) -> None:
    assert await expand("!echo x", environ=ENVIRON, cwd=tmp_path / "missing") is None


def test_the_reason_of_a_missing_value_does_not_contain_the_value() -> None:
    assert unresolved_reason("$A-${KEY}", ENVIRON) == "A is not set"
    assert unresolved_reason("$A-${KEY}-$B", ENVIRON) == "A and B are not set"
    assert unresolved_reason("", ENVIRON) == "it is empty"
    assert unresolved_reason("!secret-command", ENVIRON) == (
        "its command failed or printed nothing: run it in a terminal to see why"
    )


def test_the_secrets_that_were_used_are_remembered_up_to_a_number() -> None:
    for number in range(MAX_REMEMBERED + 1):
        remember_used(f"secret {number}")
    remember_used("secret 1")
    remember_used("")
    remember_used(None)

    used = used_secrets()
    assert len(used) == MAX_REMEMBERED
    assert (used[0], used[-1]) == ("secret 2", "secret 1")


async def test_the_output_of_a_command_is_recorded_as_a_used_secret() -> None:
    await expand("!echo printed", environ={"PATH": "/bin"})
    await expand("plain", environ={})

    assert used_secrets() == ("printed",)
