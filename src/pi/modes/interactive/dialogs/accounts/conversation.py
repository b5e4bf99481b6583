"""A login as it is seen: what was told so far, and the question that is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pi.ai.auth.login_ui import AuthUrl, DeviceCode, Notice, Prompt
from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList


class LoginConversation:
    """Implements ``LoginUI`` and is the component that shows it.

    ``on_page`` is told of a page to open; a page for a device code is never opened by itself.
    """

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        *,
        on_cancel: Callable[[], None],
        on_page: Callable[[str], None],
        on_copy: Callable[[str], None],
        request_render: Callable[[], None],
    ) -> None:
        self.last_told = ""
        """What was told last, in plain words."""
        self._theme = theme
        self._keymap = keymap
        self._on_cancel = on_cancel
        self._on_page = on_page
        self._on_copy = on_copy
        self._request_render = request_render
        self._told: list[str] = []
        self._copyable = ""
        self._question = ""
        self._field: Input | SelectList | None = None
        self._focused = False

    # For the login --------------------------------------------------------------------------------

    async def ask(self, prompt: Prompt) -> str:
        """The person's answer; may be taken back by cancelling."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def take(text: str) -> None:
            if not answer.done():
                answer.set_result(text)

        self._question, self._field = sanitise(prompt.message), self._field_for(prompt, take)
        self.focused = self._focused
        self._request_render()
        try:
            return await answer
        finally:
            self._question, self._field = "", None
            self._request_render()

    def notify(self, notice: Notice) -> None:
        """Show it."""
        accent = self._theme.paint("accent")
        match notice:
            case AuthUrl(url=url, instructions=instructions):
                self._copyable = url
                self._told += [sanitise(instructions), "", accent(one_line(url)), ""]
                self._on_page(url)
            case DeviceCode(user_code=code, url=url, direct_url=direct):
                self._copyable = code
                bold = self._theme.paint("accent", bold=True)
                self._told += [f"Open {accent(one_line(direct or url))}"]
                self._told += [f"and type the code {bold(one_line(code))}", ""]
            case _:
                self.last_told = one_line(notice.message)
                if self._told[-1:] != [self.last_told]:  # the same mistake again needs no more rows
                    self._told.append(self.last_told)
        self._request_render()

    # For the screen -------------------------------------------------------------------------------

    @property
    def focused(self) -> bool:
        """Whether the field shows its cursor."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = focused
        if isinstance(self._field, Input):
            self._field.focused = focused

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The actions that mean something now, and what."""
        answer = (("tui.select.confirm", "answer"),) if self._field is not None else ()
        copy = (("app.message.copy", "copy the address or code"),) if self._copyable else ()
        return (*answer, *copy, ("tui.select.cancel", "give up"))

    def handle_input(self, data: str) -> None:
        """Answer, copy what is to be copied, or give up."""
        actions = self._keymap.actions(data)
        if "tui.select.cancel" in actions:
            self._on_cancel()
        elif "app.message.copy" in actions and self._copyable:
            self._on_copy(self._copyable)
        elif self._field is not None:
            self._field.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        if self._field is not None:
            self._field.invalidate()

    def render(self, width: int) -> list[str]:
        """Everything that was told, addresses in full, and the open question."""
        room = max(width - 2, 1)
        rows = [f" {row}" for text in self._told for row in wrap_text(text, room) or [""]]
        if self._field is not None:
            asked = [f" {row}" for row in wrap_text(self._question, room)]
            rows += [*asked, *self._field.render(width)]
        return rows

    def _field_for(self, prompt: Prompt, take: Callable[[str], None]) -> Input | SelectList:
        if prompt.kind == "select":
            return SelectList(
                [SelectItem(value=each.id, label=each.label) for each in prompt.choices],
                theme=self._theme.select,
                keymap=self._keymap,
                on_select=lambda item: take(item.value),
            )
        return Input(
            prompt=" > ",
            placeholder=prompt.placeholder,
            masked=prompt.kind == "secret",
            placeholder_paint=self._theme.paint("dim"),
            keymap=self._keymap,
            on_submit=take,
        )
