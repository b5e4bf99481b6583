"""The dialogs of a login: its prompts, notices and pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pi.ai.auth.login import AuthUrl, DeviceCode, LoginPrompt, Notice
from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.dialogs.panel import LIST_INSET
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList


class LoginConversation:
    """Implements ``LoginUI``; also the component with its messages and the open prompt.

    ``on_page`` is called with a page to open; the page of a device code is never opened
    automatically.
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
        self.last_message = ""
        """The last message, without styles."""
        self._theme = theme
        self._keymap = keymap
        self._on_cancel = on_cancel
        self._on_page = on_page
        self._on_copy = on_copy
        self._request_render = request_render
        self._messages: list[str] = []
        self._copyable = ""
        self._question = ""
        self._field: Input | SelectList | None = None
        self._focused = False

    # For the login --------------------------------------------------------------------------------

    async def ask(self, prompt: LoginPrompt) -> str:
        """Return the user's answer; can be cancelled."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def submit(text: str) -> None:
            if not answer.done():
                answer.set_result(text)

        self._question, self._field = sanitise(prompt.message), self._field_for(prompt, submit)
        self.focused = self._focused
        self._request_render()
        try:
            return await answer
        finally:
            self._question, self._field = "", None
            self._request_render()

    def notify(self, notice: Notice) -> None:
        """Show a notice."""
        accent = self._theme.paint("accent")
        match notice:
            case AuthUrl(url=url, instructions=instructions):
                self._copyable = url
                self._messages += [sanitise(instructions), "", accent(one_line(url)), ""]
                self._on_page(url)
            case DeviceCode(user_code=code, url=url, direct_url=direct):
                self._copyable = code
                bold = self._theme.paint("accent", bold=True)
                self._messages += [f"Open {accent(one_line(direct or url))}"]
                self._messages += [f"and type the code {bold(one_line(code))}", ""]
            case _:
                self.last_message = one_line(notice.message)
                if self._messages[-1:] != [self.last_message]:  # no repetition
                    self._messages.append(self.last_message)
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
        """The actions available now, with their labels."""
        answer = (("tui.select.confirm", "answer"),) if self._field is not None else ()
        copy = (("app.message.copy", "copy the address or code"),) if self._copyable else ()
        return (*answer, *copy, ("tui.select.cancel", "cancel"))

    def handle_input(self, data: str) -> None:
        """Answers, copies or cancels."""
        actions = self._keymap.actions(data)
        if "tui.select.cancel" in actions:
            self._on_cancel()
        elif "app.message.copy" in actions and self._copyable:
            self._on_copy(self._copyable)
        elif self._field is not None:
            self._field.handle_input(data)

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        if self._field is not None:
            self._field.invalidate()

    def render(self, width: int) -> list[str]:
        """Return all messages, addresses in full, and the open prompt."""
        text_width = max(width - 2, 1)
        rows = [f" {row}" for text in self._messages for row in wrap_text(text, text_width) or [""]]
        if self._copyable:
            waiting = self._theme.paint("muted")("Waiting for the login in the browser…")
            rows += [f" {row}" for row in wrap_text(waiting, text_width)]
        if self._field is not None:
            question = [f" {row}" for row in wrap_text(self._question, text_width)]
            margin = " " * (LIST_INSET if isinstance(self._field, SelectList) else 0)
            rows += [
                *question,
                *(f"{margin}{row}" for row in self._field.render(width - len(margin))),
            ]
        return rows

    def _field_for(self, prompt: LoginPrompt, submit: Callable[[str], None]) -> Input | SelectList:
        if prompt.kind == "select":
            return SelectList(
                [SelectItem(value=choice.id, label=choice.label) for choice in prompt.choices],
                theme=self._theme.select,
                keymap=self._keymap,
                on_select=lambda item: submit(item.value),
            )
        return Input(
            prompt=" > ",
            placeholder=prompt.placeholder,
            masked=prompt.kind == "secret",
            placeholder_paint=self._theme.paint("dim"),
            keymap=self._keymap,
            on_submit=submit,
        )
