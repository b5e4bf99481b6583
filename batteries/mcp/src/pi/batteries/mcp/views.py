"""The screen of ``/mcp``: servers with their state, tools, last error and log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sized
from typing import Any, Protocol

from pi.batteries.mcp.definitions import Configured
from pi.batteries.mcp.session import SessionMcp
from pi.extension import CommandContext, PiError, Theme, one_line
from pi.tui.input.keys import matches_key
from pi.tui.widgets.frame import FRAME_ROWS, framed_rows

COLOURS = {
    "ready": "success",
    "starting": "accent",
    "failed": "error",
    "login": "warning",
    "idle": "muted",
}
HINT = (
    "↑↓ select · Tab tools or log · r reconnect · t test · e switch on or off · a log in · "
    "R read the configuration again · Escape close"
)
MIN_ROWS = 4
REFRESH_SECONDS = 0.5


class Actions(Protocol):
    """The actions of the keys; implemented by ``McpCommands``."""

    def state(self, configured: Configured) -> str:
        """The state of a definition in words."""

    def enable(self, name: str, *, enabled: bool) -> None:
        """Switch a server on or off."""

    async def test(self, name: str) -> str:
        """Reconnect to a server and describe it."""

    async def reauth(self, name: str) -> None:
        """Log in at a server."""

    async def reconnect(self, name: str) -> None:
        """Reconnect to a server."""


async def show_servers(commands: Actions, session: SessionMcp, ctx: CommandContext) -> None:
    """Show the screen until the user closes it."""

    def make(tui: Any, theme: Theme, keys: Any, done: Callable[[Any], None]) -> ServersScreen:
        screen = ServersScreen(commands, session, tui, theme, done)
        timer = session.pi.scope.every(REFRESH_SECONDS, tui.request_render)
        screen.on_close(timer.remove)
        return screen

    await ctx.ui.custom(make)


def _format_count(entries: Sized, noun: str) -> str:
    return f"{len(entries)} {noun if len(entries) == 1 else f'{noun}s'}"


class ServersScreen:
    """The list of servers, and the details of the selected one."""

    def __init__(
        self,
        commands: Actions,
        session: SessionMcp,
        tui: Any,
        theme: Theme,
        done: Callable[[Any], None],
    ) -> None:
        self._commands = commands
        self._session = session
        self._tui = tui
        self._theme = theme
        self._done = done
        self._selected = 0
        self._shows_log = False
        self._note = ""
        self._on_close: Callable[[], None] = lambda: None

    def on_close(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the screen is closed."""
        self._on_close = listener

    def invalidate(self) -> None:
        """Nothing is cached."""

    def render(self, width: int) -> list[str]:
        """All servers, and the details of the selected one."""
        servers, theme = self._session.configured, self._theme
        rows: list[str] = []
        if not servers:
            rows += ["No servers are configured.", "/mcp add <name> <command or address> adds one."]
        self._selected = max(0, min(self._selected, len(servers) - 1))
        for index, configured in enumerate(servers):
            mark = theme.fg("accent", "→ ") if index == self._selected else "  "
            rows.append(f"{mark}{one_line(configured.name):<20} {self._state(configured)}")
        if servers:
            rows += ["", *(f"  {row}" for row in self._details(servers[self._selected], len(rows)))]
        if self._note:
            rows += ["", theme.fg("warning", self._note)]
        height = self._tui.terminal.size.rows
        return framed_rows(theme, "MCP servers", rows, HINT, width=width, height=height)

    def _state(self, configured: Configured) -> str:
        server = self._session.server(configured.name)
        used = server is not None and server.configured == configured
        colour = COLOURS[server.state] if server is not None and used else "dim"
        # The error itself is shown below the list, where it fits.
        failed = server is not None and used and server.state == "failed"
        text = self._theme.fg(
            colour, "failed" if failed else one_line(self._commands.state(configured))
        )
        if server is not None and used and server.offer.is_known:
            text += self._theme.fg("dim", f" · {_format_count(server.offer.current.tools, 'tool')}")
        return text

    def _details(self, configured: Configured, above: int) -> list[str]:
        theme, server = self._theme, self._session.server(configured.name)
        target = configured.definition.url or " ".join(configured.definition.command)
        rows = [one_line(target), theme.fg("dim", f"from {configured.source}")]
        if server is None or server.configured != configured:
            return rows
        if server.info is not None:
            label = f"{server.info.name} {server.info.server_version}".strip()
            rows.append(theme.fg("dim", one_line(f"{label} · protocol {server.info.version}")))
        if server.error is not None:
            rows.append(theme.fg("error", one_line(server.error.explain())))
        row_limit = max(MIN_ROWS, self._tui.terminal.size.rows - above - len(rows) - FRAME_ROWS - 2)
        if self._shows_log:
            lines = [one_line(line) for line in server.lines][-row_limit:]
            return [*rows, "", theme.fg("muted", "Log"), *(lines or ["empty"])]
        tools = [
            f"{one_line(tool.name)}  {theme.fg('dim', one_line(tool.description)[:200])}"
            for tool in server.offer.current.tools
        ]
        more = (
            [theme.fg("dim", f"… {len(tools) - row_limit} more")] if len(tools) > row_limit else []
        )
        lists = server.offer.current
        prompts = _format_count(lists.prompts, "prompt")
        resources = _format_count(lists.resources, "resource")
        title = theme.fg("muted", f"Tools · {prompts} · {resources}")
        return [*rows, "", title, *(tools[:row_limit] or ["none known"]), *more]

    def handle_input(self, data: str) -> None:
        """Select, act or close."""
        if any(matches_key(data, key) for key in ("escape", "ctrl+c", "q")):
            self._on_close()
            self._done(None)
        elif matches_key(data, "up"):
            self._selected -= 1
        elif matches_key(data, "down"):
            self._selected += 1
        elif matches_key(data, "tab"):
            self._shows_log = not self._shows_log
        elif data == "R":
            self._run(self._session.load(), "Reading the configuration …")
        elif self._session.configured:
            self._act(data, self._session.configured[self._selected])

    def _act(self, data: str, configured: Configured) -> None:
        commands, name = self._commands, configured.name
        if data == "r":
            self._run(commands.reconnect(name), f"Connecting to {name} …")
        elif data == "t":
            self._run(commands.test(name), f"Testing {name} …")
        elif data == "a":
            self._on_close()
            self._done(None)  # the dialogs of the login need the screen
            self._run(commands.reauth(name), f"Logging in at {name} …")
        elif data == "e":
            self._run(self._toggle(configured), "")

    async def _toggle(self, configured: Configured) -> str:
        self._commands.enable(configured.name, enabled=not configured.definition.enabled)
        server = self._session.server(configured.name)
        await self._session.load()
        if server is not None and self._session.server(configured.name) is None:
            await server.disconnect()
        return f"{configured.name} is {'off' if configured.definition.enabled else 'on'}."

    def _run(self, work: Awaitable[Any], note: str) -> None:
        """Run ``work`` in the background; its result or error is shown below the details."""
        self._note = note

        async def act() -> None:
            try:
                result = await work
                self._note = result if isinstance(result, str) else ""
            except PiError as error:
                self._note = error.explain()
            self._tui.request_render()

        self._session.pi.scope.spawn(act(), name="screen")
