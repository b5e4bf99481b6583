"""The tool calls of one session, as the client sees them.

Evaluation harnesses record what they see: every text in ``content`` is appended to the observation
of a call, and a call that is announced again is a second call. So a call is one ``tool_call``, its
arguments are sent once they are complete, and its output once, with the last update. What the
protocol has no field for is in ``_meta``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UnsetType

from pi.agent.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pi.ai.events import ToolCallEnd, ToolCallStart
from pi.ai.messages import Json, ToolCall
from pi.base.errors import PiError
from pi.modes.acp import updates

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort
    from pi.modes.acp.dialogs import OpenCalls


class ToolCalls:
    """Translates the events of tool calls; ``send`` sends an update to the client."""

    def __init__(
        self, port: SessionPort, calls: OpenCalls, send: Callable[[Json], Awaitable[None] | None]
    ) -> None:
        self._port = port
        self._open = calls
        self._send = send
        self._announced: set[str] = set()
        """Ids of the calls that were sent to the client and have not ended."""
        self._terminals: dict[str, str] = {}
        """Terminals of the client by call."""
        self._parents: dict[str, str] = {}
        """The calls that have made the running nested calls, by the ids of these."""
        self._before: dict[str, tuple[Path, str | None]] = {}
        """Files that running calls may change, with their text before; ``None`` if new."""

    def described(self, call: ToolCall) -> Json:
        """Return a call with its arguments, without the kind of the update."""
        return updates.described_call(call, self._tier(call), self._port.workspace.cwd)

    def announce(self, event: ToolCallStart) -> Awaitable[None] | None:
        """Show a call whose arguments are not known yet."""
        call = ToolCall(id=event.id, name=event.tool_name, arguments={})
        self._announced.add(call.id)
        return self._send(updates.announced_call(call, self._tier(call)))

    def complete(self, event: ToolCallEnd) -> Awaitable[None] | None:
        """Add the arguments of a call."""
        return self._show(event.tool_call, "pending")

    async def begin(self, event: ToolExecutionStart) -> None:
        """A call starts to run."""
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=event.args)
        self._open.start(call)
        if call.id in self._announced:
            self._update(call.id, status="in_progress")
        else:
            self._show(call, "in_progress")
        path = call.arguments.get("path")
        if isinstance(path, str) and "://" not in path and self._tier(call) == "write":
            file_path = self._port.workspace.files.resolve(path)
            self._before[call.id] = (file_path, await self._text(file_path))

    def show_terminal(self, call_id: str, terminal_id: str) -> None:
        """Show a terminal of the client as the output of a running call."""
        shown_id = call_id
        while (parent := self._parents.get(shown_id)) is not None:
            shown_id = parent  # the client knows no nested calls: an update would make it one
        if shown_id == call_id:
            self._terminals[call_id] = terminal_id
        self._update(shown_id, content=[updates.terminal(terminal_id)])

    def show_output(self, event: ToolExecutionUpdate) -> Awaitable[None] | None:
        """Send the output so far, outside of ``content``."""
        if event.tool_call_id in self._terminals:
            return None
        result = event.partial_result
        partial: Json = {"output": updates.tool_content(result.content)}
        if not isinstance(result.details, UnsetType):
            partial["details"] = result.details
        return self._update(event.tool_call_id, _meta=updates.pi_meta(partial=partial))

    def show_nested(
        self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd
    ) -> Awaitable[None] | None:
        """Send an event of a call that a tool made: the model never made it, so it is no call."""
        if isinstance(event, ToolExecutionStart):
            self._parents[event.tool_call_id] = str(event.parent_tool_call_id)
        elif isinstance(event, ToolExecutionEnd):
            self._parents.pop(event.tool_call_id, None)
        return self._update(str(event.parent_tool_call_id), _meta=updates.pi_meta(nested=event))

    async def end(self, event: ToolExecutionEnd) -> None:
        """Send the result of a call."""
        id, result = event.tool_call_id, event.result
        self._open.end(id)
        self._announced.discard(id)
        details = None if isinstance(result.details, UnsetType) else result.details
        update = updates.ended_call(id, result.content, details, failed=event.is_error)
        shown = []
        if (terminal := self._terminals.pop(id, None)) is not None:
            shown.append(updates.terminal(terminal))
        changed = self._before.pop(id, None)
        if changed is not None and not event.is_error:
            path, before = changed
            if (after := await self._text(path)) is not None and after != before:
                shown.append(updates.file_change(path, before, after))
                location: Json = {"path": str(path)}
                line = details.get("firstChangedLine") if isinstance(details, dict) else None
                update["locations"] = [location | ({"line": line} if isinstance(line, int) else {})]
        if shown:
            update["content"] = [*shown, *update.get("content", ())]
        self._send(update)
        if event.tool_name == "todo" and (entries := updates.plan_entries(details)) is not None:
            self._send({"sessionUpdate": "plan", "entries": entries})

    def _show(self, call: ToolCall, status: str) -> Awaitable[None] | None:
        kind = "tool_call_update" if call.id in self._announced else "tool_call"
        self._announced.add(call.id)
        return self._send({"sessionUpdate": kind, **self.described(call), "status": status})

    def _update(self, id: str, **fields: Any) -> Awaitable[None] | None:
        return self._send({"sessionUpdate": "tool_call_update", "toolCallId": id, **fields})

    def _tier(self, call: ToolCall) -> str:
        try:
            return str(self._port.tools.approval(call).tier)
        except PiError:  # a tool that does not exist
            return ""

    async def _text(self, path: Path) -> str | None:
        """Return the text of a file; ``None`` if it is missing, not text, or too large to show."""
        try:
            data = await self._port.workspace.files.read_file(str(path), most=updates.MAX_DIFF)
            return data.decode()
        except (PiError, UnicodeDecodeError):
            return None
