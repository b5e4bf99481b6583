"""Shell commands inside of command files: their output takes their place in the prompt.

Files of a project or of another agent need consent to these commands: see ``pi.coding.consent``.
Without it the text stays as it is, and the model can run the commands with its own tools.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from pi.coding.port.ui import ExtensionUI
from pi.coding.resources.prompts import (
    PromptTemplate,
    Syntax,
    fill_command,
    find_template,
    has_place,
)
from pi.coding.runtime.live import LiveSession
from pi.coding.trust import canonical

if TYPE_CHECKING:  # lazy: few commands run anything
    from pi.coding.consent import Consent

TIMEOUT_SECONDS = 120.0
KIND = "shell commands of"
_INLINE: dict[Syntax, str] = {"claude": r"!`([^`\n]+)`", "gemini": r"!\{([^{}]+)\}"}


class CommandOutput:
    """Expands command files that contain shell commands."""

    def __init__(self, core: LiveSession, ui: Callable[[], ExtensionUI | None]) -> None:
        self._core = core
        self._ui = ui

    @cached_property
    def _consent(self) -> Consent:
        from pi.coding.consent import Consent, ConsentStore

        machine = self._core.machine
        store = ConsentStore(machine.agent_dir / "consent.json", clock=machine.clock)
        return Consent(store, warn=machine.report)

    async def expanded(self, text: str) -> str | None:
        """Return the prompt for ``/name arguments``; ``None`` if nothing in it has to run."""
        found = find_template(text, self._core.workspace.resources.prompts)
        if found is None or found[0].syntax not in _INLINE:
            return None
        template, arguments = found
        commands = inline_commands(template)
        if not commands or not await self._allowed(template, commands):
            return None
        outputs = [await self._output(_filled(each, arguments, template)) for each in commands]
        return assembled(template, arguments, outputs)

    async def _allowed(self, template: PromptTemplate, commands: list[str]) -> bool:
        source = template.source
        if source.scope == "user" and source.source == "auto":
            return True  # a file of the user, written for pi
        ui = self._ui()
        if ui is None:
            return False
        from pi.coding.consent import ConsentRequest

        is_project = source.scope == "project"
        request = ConsentRequest(
            kind=KIND,
            name=f"/{template.name}",
            source=source.path,
            definition={"command": commands},
            project=canonical(self._core.workspace.cwd) if is_project else "",
        )
        return bool(await self._consent.allowed([request], ui))

    async def _output(self, command: str) -> str:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                result = await self._core.workspace.commands.run(command)
        except TimeoutError:
            return f"({command}: timed out after {TIMEOUT_SECONDS:.0f} seconds)"
        output = result.output.rstrip("\n")
        return output if result.exit_code == 0 else f"{output}\n(exit code {result.exit_code})"


def inline_commands(template: PromptTemplate) -> list[str]:
    """Return the shell commands in the text, as they are written."""
    return [found.strip() for found in re.findall(_INLINE[template.syntax], template.content)]


def assembled(template: PromptTemplate, arguments: str, outputs: list[str]) -> str:
    """Return the text with ``outputs`` in place of the commands, and with the arguments.

    Output is not expanded again, so it is inserted last.
    """
    numbers = iter(range(len(outputs)))
    marked = re.sub(
        _INLINE[template.syntax], lambda found: f"\0{next(numbers)}\0", template.content
    )
    if has_place(template.content, template.syntax) and not has_place(marked, template.syntax):
        text = marked  # the arguments are used in the commands only
    else:
        text = fill_command(marked, arguments, template.syntax)
    return re.sub("\0(\\d+)\0", lambda found: outputs[int(found[1])], text)


def _filled(command: str, arguments: str, template: PromptTemplate) -> str:
    """Return a command with its arguments, quoted so that they stay arguments."""
    if not has_place(command, template.syntax):
        return command
    import shlex  # deferred: few commands run programs

    return fill_command(command, arguments, template.syntax, quote=shlex.quote)
