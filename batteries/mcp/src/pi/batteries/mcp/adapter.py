"""The servers in a session: events, settings, and the subcommands of ``/mcp`` and ``pi mcp``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pi.batteries.mcp import formats
from pi.batteries.mcp.arguments import (
    LOCAL,
    USAGE,
    parse_added,
    with_timeout,
    without_flags,
)
from pi.batteries.mcp.definitions import Configured
from pi.batteries.mcp.protocol import McpError
from pi.batteries.mcp.resources import listing
from pi.batteries.mcp.server import McpServer
from pi.batteries.mcp.session import SessionMcp
from pi.coding.extension_host.contributions.commands import split_words
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    InputEvent,
    Json,
    ModelSelectEvent,
    PiError,
    SessionShutdownEvent,
    SessionStartEvent,
    one_line,
)

OFF = "No server is used while mcp.enabled is false; `pi extensions on mcp` switches it on."
SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("mcp.enabled", bool | None, None, "use MCP servers, also without an mcp.json of pi"),
    ("mcp.servers", dict[str, Any], {}, "MCP servers by name, as in mcp.json"),
    ("mcp.enableProjectConfig", bool, True, "offer MCP servers of project files"),
    ("mcp.notifications", bool, False, "inform the model about changes of resources it has read"),
    ("mcp.notificationDebounceMs", int, 500, "milliseconds that changes of lists are collected"),
    ("mcp.maxOutputTokens", int, 25_000, "tokens of a result that reach the model"),
    ("mcp.clientMetadataUrl", str, "", "address of an OAuth client metadata document"),
)
WORDS = (
    "list",
    "add",
    "remove",
    "enable",
    "disable",
    "test",
    "login",
    "logout",
    "reauth",
    "unauth",
    "reconnect",
    "reload",
    "resources",
    "prompts",
    "notifications",
    "log",
)
LOGIN_SECONDS = 300.0


def extension(pi: ExtensionAPI) -> SessionMcp:
    """Register the servers, their tools and ``/mcp``. Returns the servers of the session."""
    pi.settings.declare_all(SETTINGS)
    session = SessionMcp(pi)
    commands = McpCommands(session)

    def session_start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        # Print and JSON mode open with the first input; ``pi mcp list`` has none, starts nothing.
        if ctx.mode in ("tui", "rpc"):
            session.open()

    async def input(event: InputEvent, ctx: ExtensionContext) -> None:
        # Not in before_agent_start: the tools of a run are chosen before that event.
        await session.wait()

    async def session_shutdown(event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        await session.shut_down()

    def model_select(event: ModelSelectEvent, ctx: ExtensionContext) -> None:
        session.model_changed()

    pi.on("session_start", session_start)
    pi.on("input", input)
    pi.on("session_shutdown", session_shutdown)
    pi.on("model_select", model_select)
    pi.register_command(
        "mcp",
        commands.run,
        description="MCP servers: list, add, remove, enable, disable, test, reconnect, resources",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    return session


class McpCommands:
    """The subcommands of ``/mcp`` and ``pi mcp``."""

    def __init__(self, session: SessionMcp) -> None:
        self._session = session
        self._pi = session.pi

    async def run(self, arguments: str, ctx: CommandContext) -> None:
        """``/mcp …``."""
        try:
            tokens = split_words(arguments, usage=USAGE)
        except PiError as error:
            self._fail(ctx, error.explain())
            return
        await self._wait_until_open(ctx)
        word, rest = (tokens[0], tokens[1:]) if tokens else ("", [])
        try:
            await self._act(word, rest, ctx)
        except PiError as error:
            self._fail(ctx, error.explain())

    async def _act(self, word: str, rest: list[str], ctx: CommandContext) -> None:
        match word, rest:
            case "", []:
                await self._screen(ctx)
            case "list", []:
                self._write(ctx, self.listing())
            case _ if word in self._with_options:
                await self._with_options[word](rest, ctx)
            case "reload", []:
                await self._apply(ctx, "Read the configuration again.")
            case (("resources" | "prompts"), names):
                work = self._resources if word == "resources" else self._prompts
                self._write(ctx, await work(names))
            case "notifications", [("on" | "off") as state]:
                self._pi.settings.set("mcp.notifications", state == "on")
                self._write(ctx, f"Notifications about changed resources are {state}.")
            case _, [name] if word in self._named:
                await self._named[word](name, ctx)
            case _:
                self._fail(ctx, USAGE)

    @property
    def _with_options(self) -> dict[str, Callable[[list[str], CommandContext], Awaitable[None]]]:
        """The subcommands with options."""
        return {
            "list": self._list_json,
            "add": self._add,
            "remove": self._remove,
            "login": self._log_in,
            "logout": self._log_out,
        }

    @property
    def _named(self) -> dict[str, Callable[[str, CommandContext], Awaitable[None]]]:
        """The subcommands for one server."""
        return {
            "enable": partial(self._switch, enabled=True),
            "disable": partial(self._switch, enabled=False),
            "test": self._test,
            "reconnect": self._reconnect,
            "reauth": self._reauth,
            "unauth": self._unauth,
            "log": self._log,
        }

    async def _remove(self, tokens: list[str], ctx: CommandContext) -> None:
        names, is_local = without_flags(tokens, *LOCAL)
        name = one_name(names)
        self._change(name, None, is_local=is_local)
        await self._apply(ctx, f"Removed MCP server {name}.")

    async def _log_in(self, tokens: list[str], ctx: CommandContext) -> None:
        names, seconds = with_timeout(without_flags(tokens, *LOCAL)[0], LOGIN_SECONDS)
        name = one_name(names)
        try:
            async with asyncio.timeout(seconds):
                await self.reauth(name)
        except TimeoutError as error:
            raise McpError(f"The login at {name} took longer than {seconds:g} seconds.") from error
        self._write(ctx, f"Logged in at MCP server {name}.")

    async def _log_out(self, tokens: list[str], ctx: CommandContext) -> None:
        await self._unauth(one_name(without_flags(tokens, *LOCAL)[0]), ctx)

    async def _list_json(self, tokens: list[str], ctx: CommandContext) -> None:
        """Connect to all servers and describe them; fails if one is invalid or not connected."""
        if tokens != ["--json"]:
            raise McpError(USAGE)
        used = [configured for configured in self._session.configured if not configured.shadowed_by]
        rows = await asyncio.gather(*map(self._described, used))
        self._write(ctx, json.dumps({"servers": rows}, indent=2, ensure_ascii=False))
        failed = [row["name"] for row in rows if row["status"] not in ("connected", "disabled")]
        if failed:
            raise McpError(f"Not connected: {', '.join(failed)}.")

    async def _described(self, configured: Configured) -> Json:
        definition = configured.definition
        row: Json = {
            "name": configured.name,
            "source": configured.source,
            "transport": definition.transport,
            "target": definition.url or " ".join(definition.command),
            "status": "connected",
        }
        server = self._server_of(configured)
        if definition.problem:
            return row | {"status": "invalid", "error": definition.problem}
        if not definition.enabled or self._session.is_off:
            return row | {"status": "disabled"}
        if server is None:
            return row | {"status": "not connected", "error": self.state(configured)}
        try:
            tools = (await server.complete_lists()).tools
        except McpError as error:
            return row | {"status": "not connected", "error": error.message}
        return row | {"tools": [tool.name for tool in tools]}

    async def _switch(self, name: str, ctx: CommandContext, *, enabled: bool) -> None:
        self.enable(name, enabled=enabled)
        await self._apply(ctx, f"MCP server {name} is {'enabled' if enabled else 'disabled'}.")

    async def _test(self, name: str, ctx: CommandContext) -> None:
        self._write(ctx, await self.test(name))

    async def _reconnect(self, name: str, ctx: CommandContext) -> None:
        server = self._server(name)
        await server.reconnect()
        self._write(
            ctx, f"MCP server {name} is connected: {len(server.offer.current.tools)} tools."
        )

    async def _reauth(self, name: str, ctx: CommandContext) -> None:
        await self.reauth(name)
        self._write(ctx, f"Logged in at MCP server {name}.")

    async def _unauth(self, name: str, ctx: CommandContext) -> None:
        was_removed = await self._session.logins.forget(self._server(name))
        self._write(
            ctx, f"The login at {name} {'was removed' if was_removed else 'did not exist'}."
        )

    async def _log(self, name: str, ctx: CommandContext) -> None:
        self._write(ctx, "\n".join(self._server(name).lines) or f"The log of {name} is empty.")

    # Actions of the screen and the subcommands ----------------------------------------------------

    def listing(self) -> str:
        """All servers with their state, one per line."""
        rows = [self.row(configured) for configured in self._session.configured]
        if not rows:
            return "No MCP servers are configured. /mcp add <name> <command or address> adds one."
        return "\n".join(rows)

    def row(self, configured: Configured) -> str:
        """One server in one line."""
        state = self.state(configured)
        server = self._server_of(configured)
        is_known = server is not None and server.offer.is_known
        tools = f", {len(server.offer.current.tools)} tools" if server and is_known else ""
        target = configured.definition.url or " ".join(configured.definition.command)
        return one_line(f"{configured.name}: {state}{tools} · {target} · {configured.source}")

    def state(self, configured: Configured) -> str:
        """The state of a definition in words."""
        if configured.shadowed_by:
            return f"shadowed by {configured.shadowed_by}"
        if configured.definition.problem:
            return f"left out: {configured.definition.problem}"
        if not configured.definition.enabled or self._session.is_off:
            return (
                "disabled" if not configured.definition.enabled else "off, as mcp.enabled is false"
            )
        if configured.name in self._session.denied:
            return "not allowed"
        server = self._server_of(configured)
        if server is None:
            return "loading"
        labels = {"idle": "starts at its first call", "login": "needs a login: /mcp reauth"}
        state = labels.get(server.state, server.state)
        if server.state == "failed" and server.error is not None:
            state = f"failed: {server.error.message}"
        return state

    def enable(self, name: str, *, enabled: bool) -> None:
        """Switch a server on or off in the user's file, also servers of other files."""
        file, raw = self._own_file()
        servers = raw.get("mcpServers")
        off = [other for other in raw.get("disabledServers") or [] if other != name]
        if not enabled:
            off.append(name)
        if isinstance(servers, dict) and isinstance(servers.get(name), dict):
            servers[name].pop("disabled", None)
            servers[name].pop("enabled", None)
        elif not any(configured.name == name for configured in self._session.configured):
            raise self._unknown(name)
        raw["disabledServers"] = off
        self._save(file, raw)

    async def test(self, name: str) -> str:
        """Reconnect to a server and describe it. Raises ``McpError``."""
        server = self._server(name)
        await server.reconnect()
        info, lists = server.info, await server.complete_lists()
        assert info is not None
        label = f"{info.name} {info.server_version}".strip() or "an unnamed server"
        tools = ", ".join(tool.name for tool in lists.tools[:20])
        more = len(lists.tools) - 20
        return one_line(
            f"MCP server {name} works: {label}, protocol {info.version},"
            f" {len(lists.tools)} tools: {tools}" + (f" and {more} more" if more > 0 else "")
        )

    async def reauth(self, name: str) -> None:
        """Log in at a server, and connect again."""
        server = self._server(name)
        await self._session.logins.forget(server)
        await self._session.logins.login(server)
        await server.reconnect()

    async def reconnect(self, name: str) -> None:
        """Start a server again."""
        await self._server(name).reconnect()

    # Subcommands ----------------------------------------------------------------------------------

    async def _screen(self, ctx: CommandContext) -> None:
        self._session.failures.seen()
        if ctx.mode != "tui":
            self._write(ctx, self.listing())
            return
        from pi.batteries.mcp.views import show_servers  # deferred: draws

        await show_servers(self, self._session, ctx)

    async def _add(self, tokens: list[str], ctx: CommandContext) -> None:
        if len(tokens) < 2:
            raise McpError(USAGE)
        flags, remaining = [], [*tokens]
        while remaining and remaining[0] in LOCAL:  # also before the name
            flags.append(remaining.pop(0))
        name, *arguments = remaining or [""]
        added = parse_added([*flags, *arguments])
        parsed = formats.from_settings({name: added.definition}).servers
        if not parsed or name.startswith("-"):
            raise McpError("The name of the server is missing.", hint=USAGE)
        if parsed[0].problem:
            raise McpError(f"MCP server {name} cannot be added: {parsed[0].problem}.")
        path = self._change(name, added.definition, is_local=added.is_local)
        await self._apply(ctx, f"Added MCP server {name} to {path}.")

    async def _apply(self, ctx: CommandContext, text: str) -> None:
        before = {server.name: server for server in self._session.servers}
        await self._session.load(start=self._session.opening is not None)
        now = {server.name for server in self._session.servers}
        for name, server in before.items():
            if name not in now:
                await server.disconnect()
        self._write(ctx, f"{text}\n{OFF}" if self._session.is_off else text)

    async def _resources(self, names: Sequence[str]) -> str:
        texts = []
        for server in self._chosen(names):
            await server.complete_lists()
            texts.append(listing(server))
        return "\n".join(texts) or "No MCP servers are running."

    async def _prompts(self, names: Sequence[str]) -> str:
        from pi.batteries.mcp.tools import command_name

        lines = [
            one_line(f"/{command_name(server.name, prompt.name)} {prompt.description}")
            for server in self._chosen(names)
            for prompt in (await server.complete_lists()).prompts
        ]
        return "\n".join(lines) or "No MCP server has prompts."

    def _chosen(self, names: Sequence[str]) -> list[McpServer]:
        return [self._server(name) for name in names] if names else self._session.servers

    # Files and servers ----------------------------------------------------------------------------

    def _server(self, name: str) -> McpServer:
        server = self._session.server(name)
        if server is None:
            raise self._unknown(name)
        return server

    def _server_of(self, configured: Configured) -> McpServer | None:
        server = self._session.server(configured.name)
        return server if server is not None and server.configured == configured else None

    def _unknown(self, name: str) -> McpError:
        matches = [configured for configured in self._session.configured if configured.name == name]
        if matches:
            return McpError(f"MCP server {name} does not run: {self.state(matches[0])}.")
        names = (
            ", ".join(dict.fromkeys(configured.name for configured in self._session.configured))
            or "none"
        )
        return McpError(f"Unknown MCP server {name!r}.", hint=f"Configured: {names}.")

    def _own_path(self) -> Path:
        locations = self._session.configuration.where
        if locations is None:
            raise McpError("The configuration was not read yet.", hint="Retry.")
        return locations.agent_dir / "mcp.json"

    def _project_path(self) -> Path:
        return Path(self._pi.context.cwd) / ".pi" / "mcp.json"

    def _own_file(self, *, is_local: bool = False) -> tuple[Path, Json]:
        path = self._project_path() if is_local else self._own_path()
        if not path.exists():
            return path, {}
        return path, formats.parse_file(path.read_text("utf-8"), path)

    def _change(self, name: str, definition: Json | None, *, is_local: bool) -> Path:
        """Set or remove a server in the user's file, or in that of the project; returns it."""
        path, raw = self._own_file(is_local=is_local)
        servers = raw.setdefault("mcpServers", {})
        if definition is None and name not in servers:
            raise McpError(
                f"MCP server {name} is not in {path}.",
                hint=f"/mcp disable {name} switches off a server of another file.",
            )
        if definition is None:
            del servers[name]
        else:
            servers[name] = definition
        self._save(path, raw)
        return path

    def _save(self, path: Path, raw: Json) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        # Only readable by the user: values may be secrets.
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps(raw, indent=2, ensure_ascii=False) + "\n", "utf-8")
        temporary.replace(path)

    async def _wait_until_open(self, ctx: CommandContext) -> None:
        """Wait until the configuration is read: a command may run before ``open`` has ended."""
        if self._session.opening is None and ctx.mode in ("tui", "rpc"):
            self._session.open()  # this command has loaded the extension, after the session began
        opening = self._session.opening
        if opening is None:
            await self._session.load(start=False)  # ``pi mcp`` without a session
        elif not opening.done():
            await asyncio.shield(opening)

    def _fail(self, ctx: CommandContext, text: str) -> None:
        if ctx.mode in ("print", "json"):
            raise McpError(text)  # for standard error and the exit code
        ctx.ui.notify(text, "error")

    def _write(self, ctx: CommandContext, text: str) -> None:
        ctx.write(f"{text}\n" if ctx.mode == "print" else text)


def one_name(names: Sequence[str]) -> str:
    """Return the only word. Raises ``McpError`` for none or several."""
    if len(names) != 1:
        raise McpError(USAGE)
    return names[0]
