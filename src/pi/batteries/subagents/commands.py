"""``/agents`` and ``/open``: what the user does with agents and their results."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pi.batteries.subagents.history import Histories
from pi.batteries.subagents.nodes import SIGNS, AgentNode
from pi.batteries.subagents.work import AgentWork
from pi.extension import CommandContext, ExtensionAPI, PiError, Text, Theme, ToolFailed

if TYPE_CHECKING:
    from pi.batteries.subagents.views import AgentsScreen, TextScreen

REFRESH_SECONDS = 0.5
USAGE = "Use /agents, /agents show ID, /agents send ID TEXT or /agents cancel [ID]."
PAGE_LINES = 2000
MAX_LINES = 20_000
"""Lines of a reference that ``/open`` shows."""


class AgentCommands:
    """The commands of one session."""

    def __init__(self, pi: ExtensionAPI, work: AgentWork, histories: Histories) -> None:
        self._pi = pi
        self._work = work
        self._histories = histories
        self.is_showing = False
        """Whether a screen of these commands is open: Escape closes it then."""

    async def agents(self, arguments: str, ctx: CommandContext) -> None:
        """``/agents``: the screen, or one action."""
        action, _, rest = arguments.strip().partition(" ")
        match action:
            case "" if ctx.mode == "tui":
                await self._screen(ctx)
            case "" | "list":
                ctx.write(self.overview() + "\n")
            case "show":
                await self._read(f"history://{rest.strip()}", ctx)
            case "send":
                id, _, text = rest.strip().partition(" ")
                await self._send(id, text, ctx)
            case "cancel":
                id = rest.strip()
                nodes = [self._find(id)] if id else self._work.tree.active()
                count = await self._work.cancel(nodes)
                ctx.ui.notify("Cancelled." if count else "Nothing to cancel: it had ended.")
            case _:
                raise PiError(f"Unknown action {action}.", hint=USAGE)

    async def open(self, arguments: str, ctx: CommandContext) -> None:
        """``/open REFERENCE``: read what tools can read."""
        reference = arguments.strip()
        if not reference:
            raise PiError("Nothing to open.", hint="Use /open agent://ID, or another reference.")
        await self._read(reference, ctx)

    def overview(self) -> str:
        """The agents at work and the agents there are, as text."""
        rows = [_row(node) for node in self._work.tree.all()] or ["No agent has been started."]
        offered = self._work.catalog.usable().values()
        known = [f"{each.name} ({each.source}): {each.description}" for each in offered]
        return "\n".join(["Agents", *rows, "", "Definitions", *known])

    async def _send(self, id: str, text: str, ctx: CommandContext) -> None:
        if not text.strip():
            raise PiError("There is nothing to send.", hint=USAGE)
        node = self._find(id)
        try:
            woken = await self._work.send(node, text)
        except ToolFailed as error:
            raise PiError(error.message) from error
        ctx.ui.notify(f"{node.id} goes on." if woken else f"Sent to {node.id}.")

    def _find(self, id: str) -> AgentNode:
        node = self._work.tree.get(id)
        if node is None:
            known = [each.id for each in self._work.tree.all()]
            near = get_close_matches(id, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Agents: {', '.join(known) or 'none'}."
            raise PiError(f"Unknown agent {id}.", hint=hint)
        return node

    async def _read(self, reference: str, ctx: CommandContext) -> None:
        text = await self._text(reference)
        if ctx.mode != "tui":
            ctx.write(text.rstrip("\n") + "\n")
            return

        def make(tui: Any, theme: Theme, keys: Any, done: Any) -> TextScreen:
            from pi.batteries.subagents.views import TextScreen  # deferred: only drawn here

            return TextScreen(reference, _as_markdown(text), tui, theme, done)

        await self._show(make, ctx)

    async def _text(self, reference: str) -> str:
        """The whole text of a reference, read as the tool reads it: in pages, under all guards."""
        parts: list[str] = []
        offset = 1
        while offset < MAX_LINES:
            arguments = {"path": reference}
            if offset > 1:
                arguments |= {"offset": offset, "limit": PAGE_LINES}  # type: ignore[dict-item]
            result = await self._pi.call_tool("read", arguments)
            text = "".join(part.text for part in result.content if isinstance(part, Text))
            if result.is_error:
                raise PiError(text or f"{reference} cannot be read.")
            page, mark, notice = text.rpartition("\n\n[Showing lines ")
            if not mark or "Use offset=" not in notice:
                return "\n".join([*parts, text])
            parts.append(page)
            offset = int(notice.partition("Use offset=")[2].split()[0])
        return "\n".join(parts)

    async def _screen(self, ctx: CommandContext) -> None:
        def make(tui: Any, theme: Theme, keys: Any, done: Any) -> AgentsScreen:
            from pi.batteries.subagents.views import AgentsScreen  # deferred: only drawn here

            screen = AgentsScreen(self._work, self._histories, tui, theme, done, run=self._run)
            timer = self._pi.scope.every(REFRESH_SECONDS, tui.request_render)
            screen.on_close(timer.remove)
            return screen

        await self._show(make, ctx)

    async def _show(self, make: Any, ctx: CommandContext) -> None:
        self.is_showing = True
        try:
            await ctx.ui.custom(make)
        finally:
            self.is_showing = False

    def _run(self, work: Any) -> None:
        """Run what a key has started; a problem is shown."""

        async def guarded() -> None:
            try:
                await work
            except PiError as error:
                self._pi.context.ui.notify(error.explain(), "error")

        self._pi.scope.spawn(guarded(), name="agents screen")


def _as_markdown(text: str) -> str:
    """JSON in a code fence, so that its form stays; other texts as they are."""
    try:
        json.loads(text)
    except ValueError:
        return text
    return f"```json\n{text}\n```"


def _row(node: AgentNode) -> str:
    tokens, cost = node.total()
    facts = [node.state, f"{tokens} tokens", f"${cost:.4f}"]
    facts += [node.activity] if node.activity else []
    facts += [node.reason] if node.reason else []
    facts += [f"unmerged: {node.branch or node.path}"] if node.branch or node.path else []
    indent = "  " * (len([*_above(node)]) - 1)
    return f"{indent}{SIGNS[node.state]} {node.id} ({', '.join(facts)}): {node.title}"


def _above(node: AgentNode | None) -> list[AgentNode]:
    found = []
    while node is not None:
        found.append(node)
        node = node.parent
    return found
