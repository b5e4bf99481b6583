"""The title of a session is requested once, in the background, and only if enabled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Step, says
from pi.batteries.titles.adapter import MAX_TITLE, extension, title_of
from pi.coding.port.ui import Mode
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.files import put
from tests.modes.pipes import until

ON: dict[str, Any] = {"titles": {"enabled": True}}


@asynccontextmanager
async def titled(
    tmp_path: Path, *steps: Step, mode: Mode = "tui", settings: dict[str, Any] = ON, **options: Any
) -> AsyncIterator[ExtensionFixture]:
    async with extension_session(
        tmp_path, extension, steps=steps, settings=settings, **options
    ) as hosted:
        hosted.session.extensions.attach(FakeUI(), mode)
        yield hosted


def name(hosted: ExtensionFixture) -> str | None:
    return hosted.session.entries.log.name


async def test_the_first_message_names_the_session_without_entering_the_conversation(
    tmp_path: Path,
) -> None:
    answer = says("<title>Fix the login.</title>")
    async with titled(tmp_path, answer, answer) as hosted:
        await hosted.session.prompt("the login redirects wrongly")
        await until(lambda: name(hosted) == "Fix the login")
        texts = [str(message) for message in hosted.session.messages]

    assert not any("<message>" in text for text in texts)


async def test_a_title_is_requested_once(tmp_path: Path) -> None:
    async with titled(tmp_path, *(says("A title") for _ in range(3))) as hosted:
        await hosted.session.prompt("first")
        await until(lambda: name(hosted) == "A title")
        await hosted.session.prompt("second")

        assert len(hosted.fixture.provider.requests) == 3


async def test_a_given_name_is_kept(tmp_path: Path) -> None:
    async with titled(tmp_path, says("one"), says("two")) as hosted:
        await hosted.session.info.rename("mine")
        await hosted.session.prompt("go")

        assert len(hosted.fixture.provider.requests) == 1
        assert name(hosted) == "mine"


@pytest.mark.parametrize("mode", ["print", "json", "rpc"])
async def test_no_title_is_requested_in_other_modes(tmp_path: Path, mode: Mode) -> None:
    async with titled(tmp_path, says("one"), says("two"), mode=mode) as hosted:
        await hosted.session.prompt("go")

        assert len(hosted.fixture.provider.requests) == 1


async def test_rpc_requests_a_title_if_the_variable_is_set(tmp_path: Path) -> None:
    environ = {"PI_RPC_EMIT_TITLE": "1"}
    async with titled(tmp_path, says("A"), says("A"), mode="rpc", environ=environ) as hosted:
        await hosted.session.prompt("go")
        await until(lambda: name(hosted) == "A")


async def test_off_by_default_and_by_variable(tmp_path: Path) -> None:
    for folder, options in (("a", {"settings": {}}), ("b", {"environ": {"PI_NO_TITLE": "1"}})):
        async with titled(tmp_path / folder, says("one"), says("two"), **options) as hosted:
            await hosted.session.prompt("go")

            assert len(hosted.fixture.provider.requests) == 1


async def test_an_unknown_model_falls_back_to_that_of_the_session(tmp_path: Path) -> None:
    settings = {**ON, "modelRoles": {"tiny": "nope"}}
    environ = {"PI_TINY_MODEL": "neither"}
    async with titled(tmp_path, says("A"), says("A"), settings=settings, environ=environ) as hosted:
        await hosted.session.prompt("go")
        await until(lambda: name(hosted) == "A")


async def test_a_response_without_a_title_leaves_the_session_unnamed(tmp_path: Path) -> None:
    async with titled(tmp_path, says("\n"), says("\n")) as hosted:
        await hosted.session.prompt("go")
        await until(lambda: len(hosted.fixture.provider.requests) == 2)

    assert name(hosted) is None
    assert hosted.failures == []


async def test_a_file_replaces_the_prompt(tmp_path: Path) -> None:
    put(tmp_path / "home/.pi/agent/TITLE_SYSTEM.md", "Titles in Latin.")

    async with titled(tmp_path, says("A"), says("A")) as hosted:
        await hosted.session.prompt("go")
        await until(lambda: name(hosted) == "A")

        assert any("Titles in Latin." in str(r) for r in hosted.fixture.provider.requests)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the login redirect", "Fix the login redirect"),
        ('"Fix the login."\n\nIt is short.', "Fix the login"),
        ("**Title: Fix it**", "Fix it"),
        ("<title>Fix it", "Fix it"),
        ("\n\n", ""),
        ("\x1b]0;evil\x07Fix", "Fix"),
    ],
)
def test_the_title_is_extracted_from_the_response(answer: str, title: str) -> None:
    assert title_of(answer) == title


def test_a_long_title_is_cut_at_a_word() -> None:
    title = title_of("word " * 40)
    assert len(title) <= MAX_TITLE
    assert title.endswith("word…")
