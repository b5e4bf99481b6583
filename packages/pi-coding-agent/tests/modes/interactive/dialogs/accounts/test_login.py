"""Logging in and out on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginChoice, LoginInfo, LoginPrompt, LoginUI
from pi.ai.provider import Provider
from pi.ai.providers.rows import BUILT_IN
from pi.base.errors import PiError
from pi.coding.port.results import Account
from pi.coding.port.session import SessionPort
from pi.modes.interactive.dialogs.accounts import group_of, in_order, log_in, log_out, payment
from tests.modes.interactive.fake_screen import FakeScreen

PLAN = Provider(id="plan", name="The Plan", login="plan", key_variables=("PLAN_KEY",))
KEYED = Provider(id="keyed", name="Keyed", key_variables=("KEYED_KEY",))
CODE = Provider(id="code", name="Code", login="code")
HERE = Provider(id="here", name="Here", needs_key=False)
LONG = "https://login.example.com/authorize?" + "x" * 100


class Accounts:
    """A store, and the logins of three providers."""

    def __init__(self, *stored: str) -> None:
        self.stored = list(stored)
        self.got: list[str] = []

    async def all(self) -> tuple[Account, ...]:
        rows = (KEYED, PLAN, CODE, HERE)
        return tuple(
            Account(provider=row, usable=row.id in self.stored, has_key=row.id in self.stored)
            for row in rows
        )

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        if provider == "plan":
            ui.notify(AuthUrl(url=LONG, instructions="Agree in the browser."))
            self.got.append(
                await ui.ask(LoginPrompt(kind="manual_code", message="Address or code:"))
            )
        else:
            ui.notify(DeviceCode(user_code="AB-12", url="https://code.example.com", expires_in=60))
            choices = (LoginChoice(id="one", label="First"), LoginChoice(id="two", label="Second"))
            self.got.append(
                await ui.ask(LoginPrompt(kind="select", message="Which?", choices=choices))
            )
        if self.got[-1] == "wrong":
            raise LoginFailed("The code is wrong.")
        self.stored.append(provider)
        ui.notify(LoginInfo(message="Saved. Requests are paid through the plan."))

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        self.got.append(await ui.ask(LoginPrompt(kind="secret", message="API key:")))
        self.stored.append(provider)
        ui.notify(LoginInfo(message="Saved."))

    @property
    def storage(self) -> Accounts:
        return self

    async def remove(self, provider: str) -> bool:
        self.stored.remove(provider)
        return True


def screen_with(tmp_path: Path, accounts: Accounts) -> FakeScreen:
    port = SimpleNamespace(accounts=accounts)
    return FakeScreen(tmp_path, cast("SessionPort", port))


async def test_a_login_shows_the_whole_address_and_how_requests_are_paid_for(
    tmp_path: Path,
) -> None:
    accounts = Accounts()
    screen = screen_with(tmp_path, accounts)
    task = asyncio.create_task(log_in(screen))
    await screen.wait_until_shown()
    assert [" ".join(line.split()) for line in screen.lines()[4:9]] == [
        *("With a plan", "→ Code plan", "The Plan plan or key", "With an API key", "Keyed key")
    ]
    await screen.press("down", "enter", "enter")
    address_text = "".join(line.strip() for line in screen.lines())
    assert LONG in address_text
    assert screen.notices == []
    await screen.press("ctrl+x", *"code", "enter")
    assert await task
    assert screen.copied == [LONG]
    assert accounts.got == ["code"]
    copied = ("info", "Copied.")
    saved = ("success", "Saved. Requests are paid through the plan.")
    assert screen.notices == [copied, saved]


async def test_a_device_code_is_shown_and_can_be_copied(tmp_path: Path) -> None:
    accounts = Accounts()
    screen = screen_with(tmp_path, accounts)
    task = asyncio.create_task(log_in(screen, "code"))
    await screen.wait_until_shown()
    await screen.until(lambda text: "Which?" in text)
    assert " Open https://code.example.com\n and type the code AB-12\n" in screen.text()
    await screen.press("ctrl+x", "down", "enter")
    assert await task
    assert (screen.copied, accounts.got) == (["AB-12"], ["two"])


@pytest.mark.behaviour("masked-input-leaves-nothing")
async def test_a_key_is_typed_unseen(tmp_path: Path) -> None:
    accounts = Accounts()
    screen = screen_with(tmp_path, accounts)
    task = asyncio.create_task(log_in(screen, "Keyed"))
    await screen.type("sk-secret")
    assert "sk-" not in screen.text()
    assert "•••••••••" in screen.text()
    await screen.press("enter")
    assert await task
    assert accounts.got == ["sk-secret"]
    assert "sk-" not in str(screen.notices)


async def test_a_cancelled_login_stores_nothing(tmp_path: Path) -> None:
    accounts = Accounts()
    screen = screen_with(tmp_path, accounts)
    task = asyncio.create_task(log_in(screen, "plan"))
    await screen.press("enter", "escape")
    assert not await task
    assert (accounts.stored, screen.notices, screen.is_open) == ([], [], False)


async def test_a_failed_login_raises_its_reason(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, Accounts())
    task = asyncio.create_task(log_in(screen, "plan"))
    await screen.press("enter", *"wrong", "enter")
    with pytest.raises(LoginFailed, match="The code is wrong"):
        await task


async def test_a_name_that_fits_no_provider_is_reported_with_how_to_see_them_all(
    tmp_path: Path,
) -> None:
    with pytest.raises(PiError) as caught:
        await log_in(screen_with(tmp_path, Accounts()), "unknown")
    assert caught.value.explain() == ('Unknown provider "unknown". Omit the name to list all.')


async def test_a_search_that_matches_one_provider_selects_it(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, Accounts())
    task = asyncio.create_task(log_in(screen, "keye"))
    await screen.until(lambda text: "API key:" in text)
    assert screen.lines()[0] == " Key for Keyed"
    await screen.press("escape")
    assert not await task


async def test_a_search_that_matches_several_providers_opens_the_filtered_list(
    tmp_path: Path,
) -> None:
    screen = screen_with(tmp_path, Accounts())
    task = asyncio.create_task(log_in(screen, "e"))
    await screen.wait_until_shown()
    assert screen.lines()[:3] == [" Log in to", "", " > e"]
    assert all(name in screen.text() for name in ("Code", "Keyed", "The Plan"))
    await screen.type("y")
    assert [" ".join(line.split()) for line in screen.lines()[2:6]] == [
        "> ey",
        "",
        "→ Keyed key",
        "",
    ]
    await screen.press("escape")
    assert not await task


async def test_a_stored_key_that_a_provider_does_not_need_can_be_removed(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, Accounts("here", "plan"))
    task = asyncio.create_task(log_out(screen))
    await screen.wait_until_shown()
    assert "Here" in screen.text()
    await screen.press("escape")
    assert await task is None


async def test_logout_lists_providers_with_stored_credentials(tmp_path: Path) -> None:
    accounts = Accounts("plan")
    screen = screen_with(tmp_path, accounts)
    task = asyncio.create_task(log_out(screen))
    await screen.wait_until_shown()
    assert "Keyed" not in screen.text()
    await screen.press("enter")
    assert await task == "The Plan"
    assert accounts.stored == []


async def test_logout_without_stored_credentials_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PiError, match="No stored credentials"):
        await log_out(screen_with(tmp_path, Accounts()))


def test_common_providers_come_first() -> None:
    rows = {row.id: Account(provider=row, usable=False) for row in BUILT_IN}
    groups = [group_of(account) for account in in_order(list(rows.values()))]

    assert [account.provider.id for account in in_order(list(rows.values()))][:3] == [
        *("anthropic", "openai-codex", "openai")
    ]
    assert list(dict.fromkeys(groups)) == ["Common", "With a plan", "With an API key"]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)
    assert (payment(rows["anthropic"].provider), payment(rows["groq"].provider)) == (
        *("plan or key", "key"),
    )
