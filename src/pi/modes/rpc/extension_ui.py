"""The UI of extensions over RPC: dialogs are sent to the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pi.ai.messages import Json
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.open_dialogs import as_options
from pi.coding.port.drawing import Lines
from pi.coding.port.ui import (
    PLACEMENTS,
    EditorStyle,
    ExtensionUI,
    NotifyKind,
    Option,
    Placement,
    ThemeChange,
)


class RpcUI(ExtensionUI):
    """Sends what the protocol has a method for; other members do nothing.

    If the handler of a dialog is cancelled, a later response is ignored.
    """

    has_ui = True

    def __init__(self, send: Callable[[Json], object], new_id: Callable[[], str]) -> None:
        self._send = send
        self._new_id = new_id
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._closed = False

    def handle_response(self, response: Json) -> None:
        """Handles a response of the client; ignored if the dialog was cancelled."""
        waiting = self._asked.get(str(response.get("id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    def close(self) -> None:
        """The client disconnected: open and later dialogs are cancelled."""
        self._closed = True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result({"cancelled": True})

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: bool = False,
        initial: str | Sequence[str] | None = None,
        timeout: float | None = None,
        on_timeout: Any = None,
        call_id: str | None = None,
    ) -> Any:
        """Asks for one of ``options``; ``descriptions`` and ``previews`` are in the same order.

        With ``multi`` the response has ``values``; a client that only knows ``value`` selects one.
        """
        listed = as_options(options)
        fields: Json = {"title": title, "options": [option.label for option in listed]}
        if any(option.description for option in listed):
            fields["descriptions"] = [option.description for option in listed]
        if any(option.preview for option in listed):
            fields["previews"] = [option.preview for option in listed]
        if multi:
            fields["multi"] = True
        if initial is not None:
            fields["initial"] = initial if isinstance(initial, str) else [*initial]
        answer = await self._ask("select", fields, timeout)
        if answer is None:
            return on_timeout
        return _values(answer) if multi else _value(answer)

    async def confirm(
        self, title: str, message: str, *, timeout: float | None = None, on_timeout: Any = False
    ) -> Any:
        """Asks a yes-or-no question."""
        answer = await self._ask("confirm", {"title": title, "message": message}, timeout)
        return on_timeout if answer is None else answer.get("confirmed") is True

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Asks for a line of text; raises for a secret, which clients show and log."""
        if secret:
            raise ExtensionError(
                f"“{title}” asks for a secret, which is not sent over RPC.",
                hint="Log in with the terminal, or set it in the environment.",
            )
        fields = {"title": title} | ({"placeholder": placeholder} if placeholder else {})
        answer = await self._ask("input", fields, timeout)
        return on_timeout if answer is None else _value(answer)

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Asks for a longer text; ``style`` is sent if it is not the usual one."""
        fields = {"title": title} | ({"prefill": prefill} if prefill else {})
        if style != "prompt":
            fields["style"] = style
        answer = await self._ask("editor", fields, timeout)
        return on_timeout if answer is None else _value(answer)

    # Without a response ---------------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Shows a transient notice."""
        self._request("notify", {"message": message} | ({"notifyType": kind} if kind else {}))

    def set_status(self, key: str, text: str | None) -> None:
        """Shows a text in the status line."""
        fields = {"statusKey": key} | ({} if text is None else {"statusText": text})
        self._request("setStatus", fields)

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Shows lines beside the editor; components cannot be sent."""
        if callable(lines):
            return
        fields: Json = {"widgetKey": key}
        if lines is not None:
            fields["widgetLines"] = list(lines)
        if placement is not None:
            fields["widgetPlacement"] = PLACEMENTS[placement]
        self._request("setWidget", fields)

    def set_title(self, title: str) -> None:
        """Sets the window title; the default is up to the client."""
        if title:
            self._request("setTitle", {"title": title})

    def set_editor_text(self, text: str) -> None:
        """Puts text into the client's editor."""
        self._request("set_editor_text", {"text": text})

    def set_theme(self, theme: str) -> ThemeChange:
        """Not supported: the client has its own theme."""
        return ThemeChange(success=False, error="Theme switching not supported in RPC mode")

    # ----------------------------------------------------------------------------------------------

    def _request(self, method: str, fields: Json) -> str:
        id = self._new_id()
        self._send({"type": "extension_ui_request", "id": id, "method": method, **fields})
        return id

    async def _ask(self, method: str, fields: Json, timeout: float | None) -> Json | None:
        """Returns the response of the client, ``None`` if the time is over."""
        if self._closed:
            return {"cancelled": True}
        if timeout is not None:
            fields = fields | {"timeout": round(timeout * 1000)}
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        id = self._request(method, fields)
        self._asked[id] = waiting
        try:
            async with asyncio.timeout(timeout):
                return await waiting
        except TimeoutError:
            return None
        finally:
            del self._asked[id]


def _value(answer: Json) -> str | None:
    value = answer.get("value")
    return value if isinstance(value, str) else None


def _values(answer: Json) -> list[str] | None:
    values = answer.get("values")
    if isinstance(values, list):
        return [value for value in values if isinstance(value, str)]
    value = _value(answer)
    return None if value is None else [value]
