"""Shell commands of the user, and commands in command files whose output is part of the prompt.

Commands in files of a project or of another agent need consent: see ``pi.coding.consent``. Without
consent the text is not changed, and the model can run the commands with its own tools.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.base.errors import PiError
from pi.coding.port.ui import ExtensionUI
from pi.coding.resources.prompts import (
    PromptTemplate,
    Syntax,
    fill_command,
    find_template,
    has_place,
)
from pi.coding.runtime.live import LiveSession
from pi.coding.session.entries import BashExecution
from pi.coding.trust import canonical

if TYPE_CHECKING:
    from pi.agent.env import OnOutput
    from pi.coding.consent import Consent
    from pi.coding.extension_host.events.answers import RunCommand
    from pi.coding.extension_host.events.queries import UserBashEvent
    from pi.coding.shell.local import BashResult


class UserShell:
    """Runs commands at once. Results of commands during a run are logged after the run."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._waiting: list[BashExecution] = []

    async def run(
        self,
        command: str,
        *,
        exclude_from_context: bool = False,
        on_text: OnOutput = lambda text: None,
        shows_style: bool = False,
    ) -> BashResult:
        """Run a command to its end; ``on_text`` is called with its output as it arrives.

        ``shows_style`` keeps colours in these texts, for a screen; the result has no colours.
        """
        from pi.coding.extension_host.events.queries import (  # deferred: rarely used
            UserBashEvent,
            UserCommandEndEvent,
            UserCommandStartEvent,
        )

        core = self._core
        core.require_local("run commands")
        question = UserBashEvent(
            command=command,
            exclude_from_context=exclude_from_context,
            cwd=str(core.workspace.cwd),
        )
        event = await core.bus.query(question)
        if event.refused:
            raise PiError(event.refused)
        await core.bus.emit(UserCommandStartEvent(prefix="!", text=command))
        try:
            result = event.result
            if event.operations is not None:
                result = await _run_by_extension(event.operations, question, on_text)
            if result is None:
                result = await core.workspace.local.commands.run(
                    command, on_text=on_text, shows_style=shows_style
                )
        finally:
            await core.bus.emit(UserCommandEndEvent(prefix="!", text=command))
        self._keep(command, result, excluded=exclude_from_context)
        return result

    def stop(self) -> None:
        """Kill all running commands."""
        if self._core.workspace.local.running_commands:
            self._core.workspace.local.commands.stop()

    def flush(self) -> None:
        """Write pending results to the log."""
        waiting, self._waiting = self._waiting, []
        for run in waiting:
            self._core.conversation.append(run)

    def settled(self, event: object) -> None:
        """Handle ``AgentSettled``: write pending results to the log."""
        self.flush()

    def _keep(self, command: str, result: BashResult, *, excluded: bool) -> None:
        run = BashExecution(
            command=command,
            output=result.output,
            exit_code=result.exit_code,
            cancelled=result.cancelled,
            truncated=result.truncated,
            full_output_path=result.full_output_path,
            exclude_from_context=True if excluded else UNSET,
            timestamp=self._core.machine.clock.now_ms(),
        )
        self._waiting.append(run)
        if not self._core.agent.is_running:
            self.flush()


async def _run_by_extension(
    run: RunCommand, question: UserBashEvent, on_text: OnOutput
) -> BashResult | None:
    """Run a command with the function of an extension. Raises ``PiError`` if that fails."""
    try:
        return await run(question.command, question.cwd, on_text)
    except Exception as error:
        raise PiError(str(error) or type(error).__name__) from error


TIMEOUT_SECONDS = 120.0
KIND = "shell commands of"
_BACKTICKS = r"!`([^`\n]+)`"
_INLINE: dict[Syntax, str] = {
    "claude": _BACKTICKS,
    "numbered": _BACKTICKS,
    "gemini": r"!\{([^{}]+)\}",
}


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
        """Return the prompt for ``/name arguments`` with the output of its commands.

        ``None`` if it has no commands, or if they are not allowed.
        """
        match = find_template(text, self._core.workspace.resources.prompts)
        if match is None or match[0].syntax not in _INLINE:
            return None
        template, arguments = match
        commands = inline_commands(template)
        if not commands or not await self._is_allowed(template, commands):
            return None
        outputs = [
            await self._output(_fill_arguments(command, arguments, template))
            for command in commands
        ]
        return assembled(template, arguments, outputs)

    async def _is_allowed(self, template: PromptTemplate, commands: list[str]) -> bool:
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
                result = await self._core.workspace.local.commands.run(command)
        except TimeoutError:
            return f"({command}: timed out after {TIMEOUT_SECONDS:.0f} seconds)"
        output = result.output.rstrip("\n")
        return output if result.exit_code == 0 else f"{output}\n(exit code {result.exit_code})"


def inline_commands(template: PromptTemplate) -> list[str]:
    """Return the shell commands in a template, without arguments filled in."""
    return [command.strip() for command in re.findall(_INLINE[template.syntax], template.content)]


def assembled(template: PromptTemplate, arguments: str, outputs: list[str]) -> str:
    """Return the text with ``outputs`` in place of the commands, and with the arguments.

    Output is not expanded again, so it is inserted last.
    """
    numbers = iter(range(len(outputs)))
    marked = re.sub(
        _INLINE[template.syntax], lambda match: f"\0{next(numbers)}\0", template.content
    )
    if has_place(template.content, template.syntax) and not has_place(marked, template.syntax):
        text = marked  # the arguments are used in the commands only
    else:
        text = fill_command(marked, arguments, template.syntax)
    return re.sub("\0(\\d+)\0", lambda match: outputs[int(match[1])], text)


def _fill_arguments(command: str, arguments: str, template: PromptTemplate) -> str:
    """Return a command with its arguments filled in, quoted for the shell."""
    if not has_place(command, template.syntax):
        return command
    import shlex  # deferred: few commands run programs

    return fill_command(command, arguments, template.syntax, quote=shlex.quote)
