"""Shell commands of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.base.errors import PiError
from pi.coding.runtime.live import LiveSession
from pi.coding.session.entries import BashExecution
from pi.coding.shell.local import BashResult

if TYPE_CHECKING:
    from pi.agent.env import OnOutput
    from pi.coding.extension_host.events.answers import RunCommand
    from pi.coding.extension_host.events.queries import UserBashEvent


class UserShell:
    """Runs commands at once. During a run their results are written to the log after it."""

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

        ``shows_style`` keeps the colours in that, for a screen; the result has none.
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
        asked = await core.bus.query(question)
        if asked.refused:
            raise PiError(asked.refused)
        await core.bus.emit(UserCommandStartEvent(prefix="!", text=command))
        try:
            result = asked.result
            if asked.operations is not None:
                result = await _run_by_extension(asked.operations, question, on_text)
            if result is None:
                result = await core.workspace.commands.run(
                    command, on_text=on_text, shows_style=shows_style
                )
        finally:
            await core.bus.emit(UserCommandEndEvent(prefix="!", text=command))
        self._keep(command, result, excluded=exclude_from_context)
        return result

    def stop(self) -> None:
        """Kill all running commands."""
        self._core.workspace.commands.stop()

    def flush(self) -> None:
        """Write pending results to the log."""
        waiting, self._waiting = self._waiting, []
        for run in waiting:
            self._core.conversation.append(run)

    def settled(self, event: object) -> None:
        """Flush when the agent has settled."""
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
