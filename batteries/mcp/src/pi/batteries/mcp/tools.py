"""Registers tools and prompts of servers in a session.

A tool is declared, found with ``tool_search`` or hidden, as its definition says; without a word
of it, tools are declared unless all of them take too much of the context window. Prompts are
commands: ``/<server>:<prompt> first "second word" name=value``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Set
from fnmatch import fnmatchcase
from typing import Any

from pi.batteries.mcp import content
from pi.batteries.mcp.definitions import Exposure
from pi.batteries.mcp.formats import server_word
from pi.batteries.mcp.interaction import required_pages
from pi.batteries.mcp.protocol import MAX_RESULT_DEPTH, McpError, PromptInfo, RpcError, ToolInfo
from pi.batteries.mcp.schema_patterns import PatternMatcher, without_patterns
from pi.batteries.mcp.server import McpServer, ServerUser
from pi.batteries.mcp.server_messages import completions_of, is_deeper
from pi.extension import (
    AgentTool,
    CommandContext,
    Json,
    PiError,
    Registration,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    neutralise,
    one_line,
    replace,
)
from pi.extension.guards import mcp_key

MAX_NAME = 64
PREFIX = "mcp__"


def tool_name(server: str, tool: str) -> str:
    """``mcp__<server>__<tool>``, shortened with a hash if it is too long for providers."""
    name = f"{PREFIX}{server_word(server)}__{_word(tool)}"
    return name if len(name) <= MAX_NAME else _hash(name, server, tool)


def unique_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of all tools, as pairs of server and tool, in the order of their server.

    Names of one server that count as equal get a numbered suffix, so that a rule about one tool
    never means another. Servers with equal names are not started.
    """
    names: dict[tuple[str, str], str] = {}
    used: set[str] = set()
    for pair in dict.fromkeys(tools):
        plain = name = tool_name(*pair)
        number = 1
        while mcp_key(name) in used:
            number += 1
            name = f"{plain[: MAX_NAME - len(str(number)) - 1]}_{number}"
        used.add(mcp_key(name))
        names[pair] = name
    return names


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text).strip("_") or "x"


def _hash(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"


MAX_DESCRIPTION = 4000
"""Maximum characters of a description; some servers send whole manuals."""
SHARE = 10
"""Maximum share of the context window for definitions, in %; above it they are deferred."""
DEFAULT_WINDOW = 128_000

TOOL_SEARCH = "tool_search"
"""The tool of pi that makes deferred tools callable."""
Pair = tuple[str, str]
EXPOSURES: Mapping[Exposure, str] = {"direct": "active", "deferred": "deferred", "hidden": "hidden"}
"""What the exposures of definitions are called for tools of extensions."""


class SessionTools:
    """Registers the tools of all servers of a session, and replaces them when they change."""

    def __init__(self, session: ServerUser) -> None:
        self._session = session
        self._pi = session.pi
        self._patterns = PatternMatcher(session.pi, session.pi.log.warning)
        self._registered: dict[str, tuple[Any, Registration]] = {}
        """By name: the values from which the tool was created, and its registration."""
        self.names: dict[Pair, str] = {}
        self.deferred: tuple[McpServer, ...] = ()
        """Servers with tools that the model has to search for."""

    def update(self, servers: Iterable[McpServer]) -> None:
        """Register the current tools of the servers; unchanged ones stay registered."""
        offered = {
            (server.name, tool.name): (server, tool)
            for server in servers
            for tool in _allowed_tools(server)
        }
        self.names = unique_names(offered)
        usual = self._usual_exposure(offered.values())
        offered_now: dict[str, Any] = {}
        deferred: dict[str, McpServer] = {}
        for pair, name in self.names.items():
            server, tool = offered[pair]
            exposure = exposure_of(server, tool) or usual
            offered_now[name] = (server, tool, name, EXPOSURES[exposure])
            if exposure == "deferred":
                deferred[server.name] = server
        self.deferred = tuple(deferred.values())
        for name in [*self._registered]:
            if offered_now.get(name) != self._registered[name][0]:
                self._registered.pop(name)[1].remove()
        for name, offer in offered_now.items():
            if name not in self._registered:
                self._register(name, offer)

    def unreachable(self, active: Set[str]) -> bool:
        """Whether deferred tools exist, and the model has neither them nor ``tool_search``."""
        names = [name for name, (offer, _) in self._registered.items() if offer[3] == "deferred"]
        return bool(names) and TOOL_SEARCH not in active and active.isdisjoint(names)

    def _register(self, name: str, offer: Any) -> None:
        server, tool, _, exposure = offer
        try:
            agent_tool = self._make(server, tool, name)
            registration = self._pi.add_tool(agent_tool, exposure=exposure)
        except PiError as error:  # the schema is invalid
            server.log(f"The tool {tool.name} was left out: {error.message}")
            return
        self._registered[name] = (offer, registration)

    def _make(self, server: McpServer, tool: ToolInfo, name: str) -> AgentTool:
        schema = {"properties": {}, **tool.input_schema, "type": "object"}

        async def run(arguments: Json, ctx: ToolContext) -> ToolResult:
            return await self._call(server, tool, arguments, ctx)

        def made(parameters: Json) -> AgentTool:
            return make_tool(
                name=name,
                label=f"{server.name}: {one_line(tool.title or tool.name)}",
                description=describe_tool(server, tool),
                params=parameters,
                run=run,
                # Hints of the server such as readOnlyHint are not trusted.
                approval="exec",
            )

        # Declared with its patterns, but validated without: ``_call`` matches them.
        return replace(made(schema), validate=made(without_patterns(schema)).validate)

    async def _call(
        self, server: McpServer, tool: ToolInfo, arguments: Json, ctx: ToolContext
    ) -> ToolResult:
        def progressed(done: float, total: float | None, message: str) -> None:
            share = f"{done:g}" if total is None else f"{done:g} of {total:g}"
            ctx.update(ToolResult.of(" ".join(filter(None, (share, neutralise(message))))))

        if problems := await self._patterns.problems(tool.input_schema, arguments):
            raise ToolFailed(f"The arguments are invalid: {'; '.join(problems)}.")
        try:
            result = await server.call(tool, arguments, self._session, progressed)
        except RpcError as error:
            if (again := await self._after_pages(error, server, tool, arguments)) is None:
                raise ToolFailed(error.explain()) from error
            result = again
        except McpError as error:
            raise ToolFailed(error.explain()) from error
        if is_deeper(result, MAX_RESULT_DEPTH):
            raise ToolFailed(f"MCP server {server.name} answered with values nested too deeply.")
        return self._tool_result(server, tool, result)

    async def _after_pages(
        self, error: RpcError, server: McpServer, tool: ToolInfo, arguments: Json
    ) -> Json | None:
        """The result after the user opened the pages that a server of 2025-11-25 requires.

        ``None`` if there are none, or the user declines.
        """
        pages = required_pages(error)
        if not pages:
            return None
        for page in pages:
            answer = await self._session.interaction.answer(server.name, "elicitation/create", page)
            if answer.get("action") != "accept":
                return None
        await self._pi.context.ui.confirm(f"MCP server {server.name}", "Is the page completed?")
        try:
            return await server.call(tool, arguments, self._session, None)
        except McpError as failed:
            raise ToolFailed(failed.explain()) from failed

    def _tool_result(self, server: McpServer, tool: ToolInfo, result: Json) -> ToolResult:
        context = self._pi.context
        default = self._pi.settings.get("mcp.maxOutputTokens")
        characters = output_tokens(context.environ, default) * content.CHARACTERS_PER_TOKEN
        limited, is_error = content.call_result(result, content.Limits(characters=characters))
        stored = ""
        if limited.whole is not None:
            stored = f"artifact://{context.artifacts.save('mcp', limited.whole)}"
        details = {"server": server.name, "tool": tool.name}
        return content.tool_result(limited, is_error=is_error, stored_as=stored, details=details)

    def _usual_exposure(self, offered: Iterable[tuple[McpServer, ToolInfo]]) -> Exposure:
        """The exposure of tools whose definition names none."""
        tools = [tool for server, tool in offered if exposure_of(server, tool) is None]
        share = search_share(self._pi.context.environ)
        if share is None or not tools:
            return "direct"
        model = self._pi.context.model
        window = model.context_window if model is not None else DEFAULT_WINDOW
        return "deferred" if sum(map(tokens, tools)) > window * share / 100 else "direct"


def exposure_of(server: McpServer, tool: ToolInfo) -> Exposure | None:
    """The exposure that a definition gives to a tool: by its name, then the first pattern."""
    definition = server.configured.definition
    by_name = definition.tool_exposure
    if tool.name in by_name:
        return by_name[tool.name]
    matching = (by_name[pattern] for pattern in by_name if fnmatchcase(tool.name, pattern))
    return next(matching, definition.exposure)


def describe_tool(server: McpServer, tool: ToolInfo) -> str:
    """The description for the model, with the name of the server."""
    text = neutralise(tool.description).strip() or tool.title or tool.name
    if len(text) > MAX_DESCRIPTION:
        text = f"{text[:MAX_DESCRIPTION]}…"
    return f"{text}\n(tool of the MCP server {server.name})"


def output_tokens(environ: Mapping[str, str], default: int) -> int:
    """Maximum tokens of one result for the model."""
    text = environ.get("MAX_MCP_OUTPUT_TOKENS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else default


def search_share(environ: Mapping[str, str]) -> float | None:
    """Share of the window above which models search, in %; ``None`` if they never do."""
    text = environ.get("ENABLE_TOOL_SEARCH", "auto").strip().lower()
    if text in ("false", "0", "no", "off"):
        return None
    if text in ("true", "1", "yes", "on"):
        return 0
    number = text.removeprefix("auto").removeprefix(":")
    return float(number) if re.fullmatch(r"\d+(\.\d+)?", number) else SHARE


def tokens(tool: ToolInfo) -> int:
    """The estimated number of tokens of a definition."""
    size = len(tool.name) + len(tool.description[:MAX_DESCRIPTION])
    return (size + len(json.dumps(tool.input_schema))) // content.CHARACTERS_PER_TOKEN + 20


def _allowed_tools(server: McpServer) -> Iterable[ToolInfo]:
    """The tools that the definition does not exclude."""
    definition = server.configured.definition
    for tool in server.offer.current.tools:
        only = definition.only_tools
        if (only is None or tool.name in only) and tool.name not in definition.without_tools:
            yield tool


COMPLETION_SECONDS = 2.0


class SessionPrompts:
    """Registers the prompts of all servers of a session as commands."""

    def __init__(self, session: ServerUser) -> None:
        self._session = session
        self._registered: dict[str, tuple[PromptInfo, Registration]] = {}
        self._known: dict[str, tuple[McpServer, PromptInfo]] = {}

    def update(self, servers: list[McpServer]) -> None:
        """Register the current prompts of the servers; unchanged ones stay registered."""
        offered_now: dict[str, tuple[McpServer, PromptInfo]] = {}
        for server in servers:
            for prompt in server.offer.current.prompts:
                offered_now.setdefault(command_name(server.name, prompt.name), (server, prompt))
        for name in [*self._registered]:
            if name not in offered_now or offered_now[name][1] != self._registered[name][0]:
                self._registered.pop(name)[1].remove()
        self._known = offered_now
        for name, (server, prompt) in offered_now.items():
            if name not in self._registered:
                self._registered[name] = (prompt, self._register(name, server, prompt))

    def _register(self, name: str, server: McpServer, prompt: PromptInfo) -> Registration:
        async def run(arguments: str, ctx: CommandContext) -> None:
            await self._run(server, prompt, arguments, ctx)

        usage = " ".join(
            f"<{argument.name}>" if argument.required else f"[{argument.name}]"
            for argument in prompt.arguments
        )
        summary = one_line(prompt.description)[:100]

        async def complete(begin: str) -> list[str]:
            return await self.complete(name, begin)

        return self._session.pi.register_command(
            name,
            run,
            completions=complete,
            description=neutralise(
                " ".join(filter(None, (usage, summary, f"(MCP {server.name})")))
            ),
        )

    async def complete(self, command: str, typed: str) -> list[str]:
        """Completions of the last word of the arguments; empty if the server is not running."""
        server, prompt = self._known[command]
        if server.info is None or server.state != "ready" or not server.info.offers("completions"):
            return []
        before, _, word = typed.rpartition(" ")
        name, equals, value = word.partition("=")
        names = [argument.name for argument in prompt.arguments]
        if not (equals and name in names):
            filled = prompt_arguments(prompt, before)
            free = [name for name in names if name not in filled]
            if not free:
                return []
            name, value = free[0], word
        params = {
            "ref": {"type": "ref/prompt", "name": prompt.name},
            "argument": {"name": name, "value": value},
        }
        try:
            async with asyncio.timeout(COMPLETION_SECONDS):
                result = await server.ask("completion/complete", params, self._session)
        except (McpError, TimeoutError):
            return []  # no completions is better than an error while typing
        start = typed[: len(typed) - len(value)]
        return [start + shlex.quote(completion) for completion in completions_of(result)]

    async def _run(
        self, server: McpServer, prompt: PromptInfo, arguments: str, ctx: CommandContext
    ) -> None:
        values = prompt_arguments(prompt, arguments)
        for argument in prompt.arguments:
            if argument.required and argument.name not in values:
                label = (
                    f"{argument.name}: {argument.description}"
                    if argument.description
                    else argument.name
                )
                text = await ctx.ui.input(neutralise(label))
                if text is None:
                    ctx.ui.notify(
                        f"/{command_name(server.name, prompt.name)} needs {argument.name}."
                    )
                    return
                values[argument.name] = text
        try:
            params = {"name": prompt.name, "arguments": values}
            result = await server.ask("prompts/get", params, self._session)
        except McpError as error:
            ctx.ui.notify(error.explain(), "error")
            return
        blocks = content.prompt_blocks(result)
        if not blocks:
            ctx.ui.notify(f"The prompt {prompt.name} of {server.name} is empty.", "warning")
            return
        await ctx.send_user_message(blocks)


def command_name(server: str, prompt: str) -> str:
    """The name of the command of a prompt."""
    return f"{_command_word(server)}:{_command_word(prompt)}"


def prompt_arguments(prompt: PromptInfo, text: str) -> dict[str, str]:
    """The arguments of a command: ``name=value`` by name, others by position."""
    try:
        tokens = shlex.split(text)
    except ValueError:  # an apostrophe in plain text
        tokens = text.split()
    names = [argument.name for argument in prompt.arguments]
    values: dict[str, str] = {}
    rest: list[str] = []
    for word in tokens:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            rest.append(word)
    free = [name for name in names if name not in values]
    if free and len(rest) > len(free):  # the last argument takes all further words
        rest = [*rest[: len(free) - 1], " ".join(rest[len(free) - 1 :])]
    return values | dict(zip(free, rest, strict=False))


def _command_word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "x"
