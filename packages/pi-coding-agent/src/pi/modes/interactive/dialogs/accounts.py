"""Login to a provider, or storing an API key for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.port.results import Account
from pi.modes.interactive.dialogs.columns import spread
from pi.modes.interactive.dialogs.login_conversation import LoginConversation
from pi.modes.interactive.dialogs.opening_pages import open_in_browser
from pi.modes.interactive.dialogs.panel import list_rows, make_panel
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING, Option, choose, ignore_task_error
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import Component

# Login and logout ---------------------------------------------------------------------------------

Way = Literal["login", "key"]


async def log_in(ui: Ui, name: str = "") -> bool:
    """Log in to a provider, asking for missing input; returns whether it succeeded."""
    accounts = await ui.port.accounts.all()
    offered = [
        account for account in accounts if account.provider.login or account.provider.needs_key
    ]
    account = _account_named(accounts, name) or await _match_or_pick(ui, "Log in to", offered, name)
    if account is None or (method := await _choose_method(ui, account)) is None:
        return False
    return await _carry_out(ui, account, method)


async def log_out(ui: Ui, name: str = "") -> str | None:
    """Remove stored credentials; returns the provider's name, ``None`` if nothing was removed."""
    stored = [account for account in await ui.port.accounts.all() if account.is_stored]
    if not stored:
        raise PiError(
            "No stored credentials.", hint="API keys in environment variables are not affected."
        )
    account = _account_named(stored, name) or await _match_or_pick(ui, "Log out of", stored, name)
    if account is None or not await ui.port.accounts.storage.remove(account.provider.id):
        return None
    return account.provider.name


def state_of(account: Account) -> str:
    """Return the state of the credentials in a word or two."""
    if account.source:
        return account.source
    if account.logged_in:
        return "logged in"
    if account.has_key:
        return "key stored"
    return "from the environment" if account.usable else ""


def _account_named(accounts: Sequence[Account], name: str) -> Account | None:
    for account in accounts:
        if name.lower() in (account.provider.id.lower(), account.provider.name.lower()):
            return account
    return None


async def _match_or_pick(
    ui: Ui, title: str, offered: Sequence[Account], name: str
) -> Account | None:
    """Return the only account that matches, or the user's choice from a list."""
    if name:
        matching = [account for account in offered if rank(name, _names(account))]
        if len(matching) == 1:
            return matching[0]
        if not matching:
            raise PiError(f'Unknown provider "{name}".', hint="Omit the name to list all.")
    return await _pick(ui, title, offered, name)


def _names(account: Account) -> tuple[str, str]:
    return account.provider.name, account.provider.id


COMMON = ("anthropic", "openai-codex", "openai", "google", "github-copilot", "openrouter")
"""Providers that most users look for, in the order of the list."""
_COMMON, _PLAN, _KEY = "Common", "With a plan", "With an API key"


def group_of(account: Account) -> str:
    """The heading above a provider in the list."""
    if account.provider.id in COMMON:
        return _COMMON
    return _PLAN if account.provider.login is not None else _KEY


def payment(provider: Provider) -> str:
    """``plan``, ``key`` or both: what a provider can be used with."""
    has_key = bool(provider.key_variables or (provider.needs_key and provider.login is None))
    if provider.login is None:
        return "key"
    return "plan or key" if has_key else "plan"


def in_order(accounts: Sequence[Account]) -> list[Account]:
    """Common providers first, then plans, then keys; each by name."""
    groups = (_COMMON, _PLAN, _KEY)

    def sort_key(account: Account) -> tuple[int, int, str]:
        group, id = group_of(account), account.provider.id
        common = COMMON.index(id) if id in COMMON else 0
        return groups.index(group), common, account.provider.name.casefold()

    return sorted(accounts, key=sort_key)


async def _pick(ui: Ui, title: str, offered: Sequence[Account], query: str) -> Account | None:
    accounts = in_order(offered)

    def draw(account: Account, width: int, *, selected: bool) -> str:
        name = one_line(account.provider.name)
        text = ui.theme.paint("accent")(name) if selected else name
        facts = " · ".join(filter(None, (state_of(account), payment(account.provider))))
        return spread(text, ui.theme.paint("dim")(facts), width)

    def build(done: Callable[[Account | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, accounts, key=lambda account: " ".join(_names(account))),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            query=query,
            group=group_of,
        )
        return make_panel(ui, title, inside, lambda: CHOOSING)

    return await ui.show(build)


async def _choose_method(ui: Ui, account: Account) -> Way | None:
    provider = account.provider
    if provider.login is None:
        return "key"
    if not provider.key_variables:
        return "login"
    options: list[Option[Way]] = [
        Option(value="login", label="Log in", description="with an account or a subscription"),
        Option(value="key", label="API key", description="paid by use"),
    ]
    return await choose(ui, f"How to use {provider.name}?", options)


async def _carry_out(ui: Ui, account: Account, method: Way) -> bool:
    provider = account.provider
    async with TaskScope(report=ignore_task_error) as tasks:

        def give_up() -> None:
            task.cancel()

        def open_page(url: str) -> None:
            tasks.start(open_in_browser(url, ui.host), name="browser")

        def copy(text: str) -> None:
            tasks.start(_copy(ui, text), name="copy")

        conversation = LoginConversation(
            ui.theme,
            ui.keymap,
            on_cancel=give_up,
            on_page=open_page,
            on_copy=copy,
            request_render=ui.request_render,
        )
        work = ui.port.accounts.log_in if method == "login" else ui.port.accounts.store_key
        task = tasks.start(work(provider.id, conversation), name=f"login to {provider.id}")

        def build(done: Callable[[None], None]) -> Component:
            task.add_done_callback(lambda _: done(None))
            title = f"{'Log in to' if method == 'login' else 'Key for'} {provider.name}"
            return make_panel(ui, title, conversation, lambda: conversation.keys)

        await ui.show(build)
        if task.cancelled():
            return False
        task.result()
    ui.notify(conversation.last_message, "success")
    return True


async def _copy(ui: Ui, text: str) -> None:
    with report_errors(ui):
        copied = await ui.clipboard.copy(text)
        ui.notify("Copied." if copied.confirmed else "Sent to the terminal's clipboard.")
