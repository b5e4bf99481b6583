"""Logging in to a provider, or storing a key for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.runtime.accounts import Account
from pi.modes.interactive.dialogs.accounts.conversation import LoginConversation
from pi.modes.interactive.dialogs.browser import open_outside
from pi.modes.interactive.dialogs.columns import spread
from pi.modes.interactive.dialogs.panel import framed, list_rows
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING, Option, choose, left_to_the_caller
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component

Way = Literal["login", "key"]


async def log_in(ui: Ui, wanted: str = "") -> bool:
    """Log in to a provider, asking for whatever was not said; whether something was stored."""
    accounts = await ui.port.accounts.all()
    offered = [each for each in accounts if each.provider.login or each.provider.needs_key]
    account = _called(accounts, wanted) or await _meant(ui, "Log in to", offered, wanted)
    if account is None or (way := await _way(ui, account)) is None:
        return False
    return await _carry_out(ui, account, way)


async def log_out(ui: Ui, wanted: str = "") -> str | None:
    """Forget what is stored for a provider; gives its name, ``None`` if nothing was done."""
    stored = [account for account in await ui.port.accounts.all() if account.is_stored]
    if not stored:
        raise PiError("Nothing is stored.", hint="Keys from the environment stay where they are.")
    account = _called(stored, wanted) or await _meant(ui, "Log out of", stored, wanted)
    if account is None or not await ui.port.accounts.log_out(account.provider.id):
        return None
    return account.provider.name


def state_of(account: Account) -> str:
    """What is known of the credentials, in a word or two."""
    if account.logged_in:
        return "logged in"
    if account.has_key:
        return "key stored"
    return "from the environment" if account.usable else ""


def _called(accounts: Sequence[Account], name: str) -> Account | None:
    for account in accounts:
        if name.lower() in (account.provider.id.lower(), account.provider.name.lower()):
            return account
    return None


async def _meant(ui: Ui, title: str, offered: Sequence[Account], wanted: str) -> Account | None:
    """The only account that some letters fit, or what the person chooses from a list."""
    if wanted:
        fitting = [account for account in offered if rank(wanted, _names(account))]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            raise PiError(
                f'There is no provider "{wanted}" here.', hint="Without a name, all are listed."
            )
    return await _picked(ui, title, offered, wanted)


def _names(account: Account) -> tuple[str, str]:
    return account.provider.name, account.provider.id


async def _picked(ui: Ui, title: str, offered: Sequence[Account], query: str) -> Account | None:
    # Those with a login of their own are what most people look for.
    accounts = sorted(offered, key=lambda each: each.provider.login is None)

    def draw(account: Account, width: int, *, selected: bool) -> str:
        name = one_line(account.provider.name)
        text = ui.theme.paint("accent")(name) if selected else name
        return spread(text, ui.theme.paint("dim")(state_of(account)), width)

    def build(done: Callable[[Account | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, accounts, key=lambda each: " ".join(_names(each))),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            query=query,
        )
        return framed(ui, title, inside, lambda: CHOOSING)

    return await ui.show(build)


async def _way(ui: Ui, account: Account) -> Way | None:
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


async def _carry_out(ui: Ui, account: Account, way: Way) -> bool:
    provider = account.provider
    async with TaskScope(report=left_to_the_caller) as tasks:

        def give_up() -> None:
            doing.cancel()

        def open_page(url: str) -> None:
            tasks.start(open_outside(url, ui.host), name="browser")

        def copy(text: str) -> None:
            tasks.start(_copied(ui, text), name="copy")

        conversation = LoginConversation(
            ui.theme,
            ui.keymap,
            on_cancel=give_up,
            on_page=open_page,
            on_copy=copy,
            request_render=ui.request_render,
        )
        work = ui.port.accounts.log_in if way == "login" else ui.port.accounts.store_key
        doing = tasks.start(work(provider.id, conversation), name=f"login to {provider.id}")

        def build(done: Callable[[None], None]) -> Component:
            doing.add_done_callback(lambda _: done(None))
            title = f"{'Log in to' if way == 'login' else 'Key for'} {provider.name}"
            return framed(ui, title, conversation, lambda: conversation.keys)

        await ui.show(build)
        if doing.cancelled():
            return False
        doing.result()
    ui.notify(conversation.last_told, "success")
    return True


async def _copied(ui: Ui, text: str) -> None:
    try:
        copied = await ui.clipboard.copy(text)
    except PiError as problem:
        ui.notify(problem.explain(), "error")
    else:
        ui.notify("Copied." if copied.confirmed else "Sent to the terminal's clipboard.")
