"""The login conversation on the screen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.ai.auth.login import (
    AuthUrl,
    DeviceCode,
    LoginChoice,
    LoginInfo,
    LoginProgress,
    LoginPrompt,
    LoginUI,
)
from pi.modes.interactive.dialogs.login_conversation import LoginConversation
from pi.tui.input.keymap import Keymap
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.fake_screen import plain_theme, sequence, settle


class Watched:
    """A conversation and its calls of the screen."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.conversation = LoginConversation(
            plain_theme(),
            Keymap(),
            on_cancel=lambda: self.calls.append(("cancel",)),
            on_page=lambda url: self.calls.append(("page", url)),
            on_copy=lambda text: self.calls.append(("copy", text)),
            request_render=lambda: None,
        )
        self.ui: LoginUI = self.conversation

    async def press(self, *keys: str) -> None:
        await settle()
        for key in keys:
            self.conversation.handle_input(sequence(key))
        await settle()

    def rows(self, width: int = 40) -> list[str]:
        return [strip_sequences(row).rstrip() for row in self.conversation.render(width)]


def test_a_login_page_is_opened_but_not_the_page_of_a_device_code() -> None:
    watched = Watched()
    watched.ui.notify(DeviceCode(user_code="A-B", url="https://d", expires_in=9))
    assert watched.calls == []
    watched.ui.notify(AuthUrl(url="https://a", instructions="Agree."))
    assert watched.calls == [("page", "https://a")]
    assert watched.rows() == [
        " Open https://d",
        " and type the code A-B",
        "",
        " Agree.",
        "",
        " https://a",
        "",
        " Waiting for the login in the browser…",
    ]


def test_a_message_repeated_in_a_row_is_shown_once() -> None:
    watched = Watched()
    for message in ("No code.", "No code.", "Older.", "No code."):
        watched.ui.notify(LoginInfo(message=message))

    assert watched.rows() == [" No code.", " Older.", " No code."]


async def test_login_prompts_are_shown_one_at_a_time() -> None:
    watched = Watched()
    watched.ui.notify(LoginProgress(message="Waiting…"))
    dialog = asyncio.create_task(watched.ui.ask(LoginPrompt(kind="text", message="Domain:")))
    await watched.press(*"a.b", "enter")
    assert await dialog == "a.b"
    assert watched.rows() == [" Waiting…"]
    choices = (LoginChoice(id="1", label="One"), LoginChoice(id="2", label="Two"))
    dialog = asyncio.create_task(
        watched.ui.ask(LoginPrompt(kind="select", message="Which?", choices=choices))
    )
    await watched.press("down", "enter")
    assert await dialog == "2"


async def test_a_login_prompt_can_be_cancelled() -> None:
    watched = Watched()
    dialog = asyncio.create_task(watched.ui.ask(LoginPrompt(kind="manual_code", message="Code:")))
    await settle()
    assert "Code:" in watched.rows()[0]
    dialog.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dialog
    assert watched.rows() == []
    await watched.press("x", "escape")
    assert watched.calls == [("cancel",)]


@pytest.mark.behaviour("masked-input-leaves-nothing")
async def test_a_secret_is_shown_nowhere() -> None:
    watched = Watched()
    dialog = asyncio.create_task(watched.ui.ask(LoginPrompt(kind="secret", message="Key:")))
    await watched.press(*"hush")
    assert watched.rows() == [" Key:", " > ••••"]
    await watched.press("enter")
    assert await dialog == "hush"
    assert "hush" not in str(watched.calls) + watched.conversation.last_message


def test_control_sequences_are_removed_from_messages_of_a_provider() -> None:
    watched = Watched()
    watched.ui.notify(LoginInfo(message="a\x1b]0;evil\x07b"))
    assert (watched.rows(), watched.conversation.last_message) == ([" ab"], "ab")


async def test_only_keys_that_currently_work_are_named() -> None:
    watched = Watched()
    nothing = watched.conversation.keys
    dialog = asyncio.create_task(watched.ui.ask(LoginPrompt(kind="secret", message="Key:")))
    await settle()
    asking = watched.conversation.keys
    await watched.press("enter")
    await dialog
    watched.ui.notify(DeviceCode(user_code="A-B", url="https://d", expires_in=9))

    give_up = ("tui.select.cancel", "cancel")
    assert nothing == (give_up,)
    assert asking == (("tui.select.confirm", "answer"), give_up)
    assert watched.conversation.keys == (
        ("app.message.copy", "copy the address or code"),
        give_up,
    )


async def test_a_waiting_login_is_shown_above_the_input_field() -> None:
    watched = Watched()
    watched.ui.notify(AuthUrl(url="https://a", instructions="Agree."))
    dialog = asyncio.create_task(
        watched.ui.ask(LoginPrompt(kind="text", message="Address or code:"))
    )
    await settle()
    assert watched.rows()[-3:] == [
        " Waiting for the login in the browser…",
        " Address or code:",
        " >",
    ]
    await watched.press("x", "enter")
    assert await dialog == "x"
