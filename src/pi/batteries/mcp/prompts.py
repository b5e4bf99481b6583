"""Prompts of servers as commands: ``/<server>:<prompt> first "second word" name=value``."""

from __future__ import annotations

import asyncio
import re
import shlex

from pi.batteries.mcp import content
from pi.batteries.mcp.protocol import McpError, PromptInfo, completions_of
from pi.batteries.mcp.server import McpServer, ServerUser
from pi.extension import CommandContext, Registration, one_line, sanitise

COMPLETION_SECONDS = 2.0


class SessionPrompts:
    """Registers the prompts of all servers of a session as commands."""

    def __init__(self, session: ServerUser) -> None:
        self._session = session
        self._registered: dict[str, tuple[PromptInfo, Registration]] = {}
        self._known: dict[str, tuple[McpServer, PromptInfo]] = {}

    def update(self, servers: list[McpServer]) -> None:
        """Register what the servers offer now."""
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

        words = " ".join(
            f"<{each.name}>" if each.required else f"[{each.name}]" for each in prompt.arguments
        )
        about = one_line(prompt.description)[:100]

        async def complete(begin: str) -> list[str]:
            return await self.complete(name, begin)

        return self._session.pi.register_command(
            name,
            run,
            completions=complete,
            description=sanitise(" ".join(filter(None, (words, about, f"(MCP {server.name})")))),
        )

    async def complete(self, command: str, typed: str) -> list[str]:
        """Completions of the last word of the arguments, by a server that is running."""
        server, prompt = self._known[command]
        if server.info is None or server.state != "ready" or not server.info.offers("completions"):
            return []
        before, _, word = typed.rpartition(" ")
        name, equals, value = word.partition("=")
        names = [each.name for each in prompt.arguments]
        if not (equals and name in names):
            taken = prompt_arguments(prompt, before)
            free = [each for each in names if each not in taken]
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
            return []  # typing goes on without completions
        start = typed[: len(typed) - len(value)]
        return [start + shlex.quote(each) for each in completions_of(result)]

    async def _run(
        self, server: McpServer, prompt: PromptInfo, arguments: str, ctx: CommandContext
    ) -> None:
        values = prompt_arguments(prompt, arguments)
        for each in prompt.arguments:
            if each.required and each.name not in values:
                about = f"{each.name}: {each.description}" if each.description else each.name
                text = await ctx.ui.input(sanitise(about))
                if text is None:
                    ctx.ui.notify(f"/{command_name(server.name, prompt.name)} needs {each.name}.")
                    return
                values[each.name] = text
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
    return f"{_word(server)}:{_word(prompt)}"


def prompt_arguments(prompt: PromptInfo, text: str) -> dict[str, str]:
    """The arguments of a command: ``name=value`` by name, others by position."""
    try:
        words = shlex.split(text)
    except ValueError:  # an apostrophe in plain text
        words = text.split()
    names = [each.name for each in prompt.arguments]
    values: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            rest.append(word)
    free = [name for name in names if name not in values]
    if free and len(rest) > len(free):  # the last argument takes all further words
        rest = [*rest[: len(free) - 1], " ".join(rest[len(free) - 1 :])]
    return values | dict(zip(free, rest, strict=False))


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "x"
