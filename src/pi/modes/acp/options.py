"""What the user can choose in the editor: model, thinking level and mode of a session.

The modes are those of the bundled permissions and plan batteries, switched with their commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pi.ai.messages import Json
from pi.base.records import Record
from pi.modes.acp.connection import INVALID_PARAMS, RequestFailed

if TYPE_CHECKING:
    from pi.ai.models.model import Model
    from pi.coding.port.session import SessionPort

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
        """The values that the client knows."""
        self._listed: list[Model] = []

    # What can be chosen ---------------------------------------------------------------------------

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
        found = []
        if modes := self._modes():
            rows = [_row(mode.id, mode.name, mode.description) for mode in modes]
            found.append(_select(MODE, "Mode", MODE, self.mode, rows))
        if (current := self._port.models.current) is not None:
            models = {_id(model): model for model in (*self._listed, current)}
            rows = [_row(id, model.name or model.id, id) for id, model in models.items()]
            found.append(_select(MODEL, "Model", MODEL, _id(current), rows))
        levels = self._port.models.levels()
        if len(levels) > 1:
            rows = [_row(level, level) for level in levels]
            level = self._port.models.thinking_level
            found.append(_select(THINKING, "Thinking", THINKING, level, rows))
        return found

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
        known = {option["id"]: option for option in self.options()}
        if id not in known:
            raise RequestFailed(INVALID_PARAMS, f"Unknown option {id}")
        if value not in {row["value"] for row in known[id]["options"]}:
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
        """Return the chosen values: cheap to compare, after every tool call."""
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
