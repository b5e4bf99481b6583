"""Decisions of the user in the editor: dialogs of extensions, and choices for the session.

Questions of extensions become permission requests or forms. The choices are model, thinking level
and mode; the modes are those of the bundled permissions and plan batteries, switched with their
commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from pi.agent.policy import Policy
from pi.ai.messages import Json, ToolCall
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.open_dialogs import as_options
from pi.coding.port.ui import EditorStyle, ExtensionUI, NotifyKind, Option, ThemeChange
from pi.modes.acp.connection import INVALID_PARAMS, RequestFailed
from pi.modes.acp.updates import text_block

if TYPE_CHECKING:
    from pi.ai.models.model import Model
    from pi.coding.port.session import SessionPort
    from pi.modes.acp.connection import Connection
    from pi.modes.acp.params import Client


YES, NO = "Yes", "No"
REFUSING = ("deny", "no", "cancel", "decline", "reject", "refuse")
"""First words of options that refuse."""
LASTING = ("always", "session", "project")
"""Words of options that also allow later calls."""


class OpenCalls(Policy):
    """The tool calls that have started and not ended: a dialog belongs to one of them."""

    def __init__(self) -> None:
        self._deciding: ToolCall | None = None
        self._running: dict[str, ToolCall] = {}

    def start(self, call: ToolCall) -> None:
        """A call has started: policies now decide about it, one call at a time."""
        self._deciding = self._running[call.id] = call

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """The policies of extensions have allowed the call; it is returned unchanged."""
        self._deciding = None
        return call

    def end(self, id: str) -> None:
        """A call has ended."""
        self._running.pop(id, None)
        if self._deciding is not None and self._deciding.id == id:
            self._deciding = None

    @property
    def current(self) -> ToolCall | None:
        """The call that is being decided about, or the only one that is running."""
        if self._deciding is not None or len(self._running) != 1:
            return self._deciding
        return next(iter(self._running.values()))


class AcpUI(ExtensionUI):
    """Asks the user through the client; methods that the protocol cannot express do nothing.

    A selection and a yes-no question are permission requests, which every client shows. Other
    questions need forms (``elicitation``); without them they are cancelled.
    """

    has_ui = True

    def __init__(
        self,
        session_id: str,
        connection: Connection,
        client: Client,
        calls: OpenCalls,
        *,
        described: Callable[[ToolCall], Json],
        notify: Callable[[str, NotifyKind], None],
        write: Callable[[str], None],
    ) -> None:
        self._session_id = session_id
        self._connection = connection
        self._client = client
        self._calls = calls
        self._described = described
        self._notify = notify
        self._write = write
        self._numbers = count(1)

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
        cancel: str = "",
    ) -> Any:
        """Ask for one of ``options``, or for several with a form."""
        listed = as_options(options)
        is_permission = any(option_kind(option.label) == "reject_once" for option in listed)
        if self._client.forms and (multi or not is_permission):
            field = _choices(listed, multi=multi)
            return await self._within(timeout, on_timeout, self._form(title, field))
        if multi:
            return None
        return await self._within(timeout, on_timeout, self._permission(title, listed))

    async def confirm(
        self,
        title: str,
        message: str,
        *,
        default: bool = True,
        timeout: float | None = None,
        on_timeout: Any = False,
    ) -> Any:
        """Ask a yes-or-no question; the default answer is the first option."""
        labels = (YES, NO) if default else (NO, YES)
        request = self._permission(f"{title}\n{message}", as_options(labels))
        answer = await self._within(timeout, on_timeout, request)
        return answer == YES if isinstance(answer, str) or answer is None else answer

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a line of text; raises for a secret, which clients show and log."""
        if secret:
            raise ExtensionError(
                f"“{title}” asks for a secret, which is not sent to an editor.",
                hint="Log in with `pi auth login` in a terminal, or set it in the environment.",
            )
        field = {"type": "string"} | ({"description": placeholder} if placeholder else {})
        return await self._within(timeout, on_timeout, self._form(title, field))

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a longer text."""
        field = {"type": "string"} | ({"default": prefill} if prefill else {})
        return await self._within(timeout, on_timeout, self._form(title, field))

    # Messages without an answer -------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a notice."""
        self._notify(message, kind or "info")

    def write(self, text: str) -> None:
        """Show the output of a command in the conversation."""
        self._write(text)

    def set_theme(self, theme: str) -> ThemeChange:
        """Not supported: the client has its own theme."""
        return ThemeChange(success=False, error="The editor has its own theme.")

    # ----------------------------------------------------------------------------------------------

    async def _within(self, timeout: float | None, on_timeout: Any, request: Any) -> Any:
        try:
            async with asyncio.timeout(timeout):
                return await request
        except TimeoutError:
            return on_timeout
        except RequestFailed:  # refused by the client, or it has disconnected
            return None

    async def _permission(self, question: str, options: Sequence[Option]) -> str | None:
        """Return the label of the option that the user selects; ``None`` if they cancel."""
        params = {
            "sessionId": self._session_id,
            "toolCall": self._subject(question),
            "options": [
                {
                    "optionId": str(number),
                    "name": _name(option),
                    "kind": option_kind(option.label),
                }
                for number, option in enumerate(options)
            ],
        }
        match await self._connection.request("session/request_permission", params):
            case {"outcome": {"outcome": "selected", "optionId": str(id)}}:
                labels = {str(number): option.label for number, option in enumerate(options)}
                return labels.get(id)
            case _:
                return None

    def _subject(self, question: str) -> Json:
        """Return the call that a question is about, or one that only shows the question."""
        first, _, rest = question.partition("\n")
        if (call := self._calls.current) is not None:
            tool_call = self._described(call)
        else:
            tool_call = {"toolCallId": f"question-{next(self._numbers)}", "kind": "other"}
            tool_call |= {"title": first, "status": "pending"}
        text = {"type": "content", "content": text_block(question if call else rest or question)}
        return tool_call | {"content": [*tool_call.get("content", ()), text]}

    async def _form(self, message: str, field: Json) -> Any:
        """Return the value of the only field of a form; ``None`` without forms or an answer."""
        if not self._client.forms:
            return None
        params: Json = {
            "sessionId": self._session_id,
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {"answer": field},
                "required": ["answer"],
            },
        }
        if (call := self._calls.current) is not None:
            params["toolCallId"] = call.id
        match await self._connection.request("elicitation/create", params):
            case {"action": "accept", "content": {"answer": answer}}:
                return answer
            case _:
                return None


def option_kind(label: str) -> str:
    """Return the kind of an option, for its icon and key."""
    tokens = label.lower().replace(",", " ").split()
    if tokens and tokens[0] in REFUSING:
        return "reject_once"
    return "allow_always" if any(word in LASTING for word in tokens) else "allow_once"


def _name(option: Option) -> str:
    return f"{option.label} ({option.description})" if option.description else option.label


def _choices(options: Sequence[Option], *, multi: bool) -> Json:
    rows = [{"const": option.label, "title": _name(option)} for option in options]
    if multi:
        return {"type": "array", "items": {"anyOf": rows}}
    return {"type": "string", "oneOf": rows}


MODEL, THINKING, MODE = "model", "thought_level", "mode"
PLAN = "plan"


class SessionMode(Record):
    """A mode that the user can choose."""

    id: str
    name: str
    description: str


MODES = (
    SessionMode(id="off", name="Autonomous", description="tool calls need no consent"),
    SessionMode(id="ask", name="Ask", description="ask before changes and commands"),
    SessionMode(id="ask-all", name="Ask all", description="ask before every call"),
    SessionMode(id="auto-edit", name="Edit", description="edit files, ask before commands"),
    SessionMode(id="read-only", name="Read only", description="read files, change nothing"),
    SessionMode(id=PLAN, name="Plan", description="read and propose a plan for approval"),
)


class SessionChoices:
    """The choices of one session. ``publish`` sends them when they have changed."""

    def __init__(self, port: SessionPort, send: Callable[[Json], object]) -> None:
        self._port = port
        self._send = send
        self._sent: tuple[Any, ...] = ("",)
        """The values that were last sent to the client."""
        self._listed: list[Model] = []

    # Options --------------------------------------------------------------------------------------

    def state(self) -> Json:
        """Return the modes and options for the answer to the request that opens a session."""
        self._listed, self._sent = self._models(), self._current()
        available = [
            {"id": mode.id, "name": mode.name, "description": mode.description}
            for mode in self._modes()
        ]
        state: Json = {"configOptions": self.options()}
        if available:
            state["modes"] = {"currentModeId": self.mode, "availableModes": available}
        return state

    @property
    def mode(self) -> str:
        """The id of the current mode."""
        facts = self._port.extensions.facts
        return PLAN if facts.get("plan") else facts.get("approval") or "off"

    def options(self) -> list[Json]:
        """Return all options with their current values."""
        options = []
        if modes := self._modes():
            rows = [_row(mode.id, mode.name, mode.description) for mode in modes]
            options.append(_select(MODE, "Mode", MODE, self.mode, rows))
        if (current := self._port.models.current) is not None:
            models = {_id(model): model for model in (*self._listed, current)}
            rows = [_row(id, model.name or model.id, id) for id, model in models.items()]
            options.append(_select(MODEL, "Model", MODEL, _id(current), rows))
        levels = self._port.models.levels()
        if len(levels) > 1:
            rows = [_row(level, level) for level in levels]
            level = self._port.models.thinking_level
            options.append(_select(THINKING, "Thinking", THINKING, level, rows))
        return options

    def _modes(self) -> list[SessionMode]:
        """Return the modes whose commands exist: an extension may be switched off."""
        find = self._port.extensions.find
        has_plan, has_rest = find("/pi:plan") is not None, find("/pi:permissions") is not None
        return [mode for mode in MODES if (has_plan if mode.id == PLAN else has_rest)]

    def _models(self) -> list[Model]:
        if scope := self._port.models.scope:
            return [resolved.model for resolved in scope]
        return list(self._port.models.registry.get_available())

    # Choosing -------------------------------------------------------------------------------------

    async def set_mode(self, id: str) -> None:
        """Switch the mode. Raises ``RequestFailed``."""
        if id not in {mode.id for mode in self._modes()}:
            raise RequestFailed(INVALID_PARAMS, f"Unknown mode {id}")
        if id != self.mode:
            prompt = self._port.prompts.prompt
            if id == PLAN:
                await prompt("/pi:plan", source="rpc")
            else:
                if self.mode == PLAN:
                    await prompt("/pi:plan off", source="rpc")
                await prompt(f"/pi:permissions {id}", source="rpc")
        self.publish()

    async def set_option(self, id: str, value: object) -> list[Json]:
        """Change an option; returns all of them. Raises ``RequestFailed``."""
        options = {option["id"]: option for option in self.options()}
        if id not in options:
            raise RequestFailed(INVALID_PARAMS, f"Unknown option {id}")
        if value not in {row["value"] for row in options[id]["options"]}:
            raise RequestFailed(INVALID_PARAMS, f"Unknown value {value} for the option {id}")
        text = str(value)
        if id == MODE:
            await self.set_mode(text)
        elif id == MODEL:
            provider, _, model = text.partition("/")
            await self._port.models.select_id(provider, model)
        else:
            await self._port.models.set_thinking_level(text)
        self._sent = self._current()
        return self.options()

    def publish(self) -> None:
        """Send the mode and the options if they differ from what the client knows."""
        before, now = self._sent, self._current()
        if now == before:
            return
        self._sent = now
        if now[0] != before[0] and self._modes():
            self._send({"sessionUpdate": "current_mode_update", "currentModeId": now[0]})
        self._send({"sessionUpdate": "config_option_update", "configOptions": self.options()})

    def _current(self) -> tuple[Any, ...]:
        """Return the chosen values. They are compared after every tool call: keep this cheap."""
        models = self._port.models
        current = models.current
        return (self.mode, current and _id(current), models.thinking_level, models.levels())


def _id(model: Model) -> str:
    return f"{model.provider}/{model.id}"


def _row(value: str, name: str, description: str = "") -> Json:
    row: Json = {"value": value, "name": name}
    return row | ({"description": description} if description else {})


def _select(id: str, name: str, category: str, current: str, rows: list[Json]) -> Json:
    return {
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": rows,
    }
