"""Commands that the person runs beside the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.agent.events import AgentSettled
from pi.base.errors import PiError
from pi.coding.extension_host.events.session import UserBash
from pi.coding.runtime.live import LiveSession
from pi.coding.session.entries import BashExecution
from pi.coding.shell.local import BashResult

if TYPE_CHECKING:
    from pi.agent.env import OnOutput


class UserShell:
    """Runs them at once; while the agent works, what came of them enters the log after its run."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._waiting: list[BashExecution] = []

    async def run(
        self,
        command: str,
        *,
        exclude_from_context: bool = False,
        on_text: OnOutput = lambda text: None,
    ) -> BashResult:
        """Run a command to its end; ``on_text`` is told what it writes as it comes."""
        core = self._core
        core.must_run_here("no command can be run in it")
        question = UserBash(
            command=command,
            exclude_from_context=exclude_from_context,
            cwd=str(core.workspace.cwd),
            on_text=on_text,
        )
        asked = await core.bus.query(question)
        if asked.refused:
            raise PiError(asked.refused)
        result = asked.result or await core.workspace.commands.run(command, on_text=on_text)
        self._keep(command, result, excluded=exclude_from_context)
        return result

    def stop(self) -> None:
        """End every command that runs."""
        self._core.workspace.commands.stop()

    def flush(self) -> None:
        """Put into the log what waited for the end of a run."""
        waiting, self._waiting = self._waiting, []
        for run in waiting:
            self._core.conversation.append(run)

    def settled(self, event: object) -> None:
        """Hear that the agent has come to rest."""
        if isinstance(event, AgentSettled):
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
            timestamp=self._core.host.clock.now_ms(),
        )
        self._waiting.append(run)
        if not self._core.agent.is_running:
            self.flush()
