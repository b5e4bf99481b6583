"""Sessions with the extended bash tool, and a script in place of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.shell_session.adapter import extension
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

TIMEOUT_SECONDS = 60.0


class Bash:
    """Calls the tool of a session directly, as the loop would after validation."""

    def __init__(self, hosted: ExtensionFixture) -> None:
        self.hosted = hosted
        self.cwd = hosted.session.workspace.cwd

    async def run(self, *commands: str | dict[str, Any]) -> list[ToolResultMessage]:
        """The results of these calls of the model, one after the other."""
        before = len(self._results())
        for command in commands:
            arguments = {"command": command} if isinstance(command, str) else command
            self.hosted.fixture.provider.add(calls("bash", **arguments))
        self.hosted.fixture.provider.add(says("done"))
        await self.hosted.session.prompt("go")
        return self._results()[before:]

    async def texts(self, *commands: str | dict[str, Any]) -> list[str]:
        """The texts of the results."""
        return [text(result) for result in await self.run(*commands)]

    def _results(self) -> list[ToolResultMessage]:
        messages = self.hosted.session.messages
        return [message for message in messages if isinstance(message, ToolResultMessage)]


def text(message: ToolResultMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, Text))


@asynccontextmanager
async def shell(
    tmp_path: Path, *others: Any, settings: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Bash]:
    """A session with the battery; ``settings`` are those below ``bash``."""
    chosen = {"bash": {"extended": True, **(settings or {})}, **options.pop("more", {})}
    async with extension_session(
        tmp_path, extension, *others, settings=chosen, **options
    ) as hosted:
        yield Bash(hosted)
