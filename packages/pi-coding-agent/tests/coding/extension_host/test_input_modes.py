from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.providers.faux import says
from pi.coding.bus import NamedRegistry, Owner
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.commands import (
    RegisteredInputMode,
    check_prefix,
    mode_of,
)
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.extensions import InputMode
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.test_remote_session import FakeRemote

OWNER = Owner(name="kernel", path="/home/ada/kernel.py")


def owned(prefix: str) -> RegisteredInputMode:
    mode = InputMode(label=prefix, run=lambda text, ctx: None)
    return RegisteredInputMode(prefix=prefix, mode=mode, context=None, owner=OWNER)


def test_the_mode_with_the_longest_matching_prefix_is_selected() -> None:
    modes: NamedRegistry[RegisteredInputMode] = NamedRegistry()
    for prefix in ("$", "$$"):
        modes.add(prefix, owned(prefix), OWNER)

    matches = [mode_of(modes, text) for text in ("$ 1", "$$ 1", "1 $", "")]

    assert [mode and mode.prefix for mode in matches] == ["$", "$$", None, None]


def test_a_mode_gets_the_text_after_its_prefix() -> None:
    assert owned("$").text_of("$  print($x) ") == "print($x)"


@pytest.mark.parametrize("prefix", ["", "/", "!", "!x", "@", " $", "$ "])
def test_reserved_prefixes_are_refused(prefix: str) -> None:
    with pytest.raises(ExtensionError, match="Invalid prefix for an input mode"):
        check_prefix(prefix)


def test_other_characters_are_valid_prefixes() -> None:
    assert check_prefix("$") == "$"


async def test_a_prefix_applies_to_user_input_but_not_to_messages_of_extensions(
    tmp_path: Path,
) -> None:
    story: list[str] = []
    received: list[str] = []
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        def run(text: str, ctx: Any) -> None:
            story.append(text)

        pi.add_input_mode("$", InputMode(label="python", run=run))
        pi.on("input", lambda event, ctx: received.append(event.text))

    async with extension_session(tmp_path, extension, steps=(says("yes"),)) as hosted:
        accepted: list[str] = []
        await hosted.session.prompts.prompt("$ 1", source="rpc", accepted=accepted.append)
        await hosted.session.prompts.steer("$ 2", source="rpc")
        await hosted.session.prompts.follow_up("$ 3", source="rpc")
        await apis[0].send_user_message("$ is a sign")
        await hosted.session.runs.settled()

        assert (story, accepted, received) == (["1", "2", "3"], ["handled"], ["$ is a sign"])
        assert [point.text for point in hosted.session.info.fork_points()] == ["$ is a sign"]


async def test_a_prefix_applies_in_a_view_of_a_remote_session(tmp_path: Path) -> None:
    story: list[str] = []
    remote = FakeRemote("prompt")

    def extension(pi: ExtensionAPI) -> None:
        pi.add_input_mode("$", InputMode(label="python", run=lambda text, ctx: story.append(text)))

    async with extension_session(tmp_path, extension) as hosted:
        header = msgspec.to_builtins(hosted.session.entries.log.header)
        await SessionControl(hosted.session).open_replica({**header, "id": "other"}, remote)
        await hosted.session.prompt("$ 1")
        await hosted.session.prompt("hello")

    assert (story, remote.asked) == (["1"], ["hello None"])


async def test_events_are_emitted_before_and_after_user_commands(
    tmp_path: Path,
) -> None:
    story: list[tuple[str, ...]] = []

    def extension(pi: ExtensionAPI) -> None:
        def run(text: str, ctx: Any) -> None:
            story.append(("run", text))
            raise ValueError("a cell that fails")

        pi.add_input_mode("$", InputMode(label="python", run=run))

        def note(name: str, event: Any, ctx: Any) -> None:
            story.append((name, event.prefix, event.text))

        for name in ("user_command_start", "user_command_end"):
            pi.on(name, partial(note, name))

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("$ 1/0")
        await hosted.session.shell.run("true")

    assert story == [
        ("user_command_start", "$", "1/0"),
        ("run", "1/0"),
        ("user_command_end", "$", "1/0"),
        ("user_command_start", "!", "true"),
        ("user_command_end", "!", "true"),
    ]
