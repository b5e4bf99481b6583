"""What a context tells of runs, and how it shapes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi.agent.open_answer import MessageToken
from pi.agent.policy import Interrupt, Request
from pi.agent.tool import FilePreview
from pi.ai.messages import ToolCall
from pi.base.tasks import awaited
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.scope import Scope


class RunContext:
    """The runs of a session, for one extension."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def is_idle(self) -> bool:
        """Whether no run is under way."""
        return self._link.session.runs.idle

    def has_pending_messages(self) -> bool:
        """Whether messages wait to be delivered."""
        return bool(self._link.session.talk.pending)

    @property
    def run_scope(self) -> Scope:
        """Tasks, timers and what is to be closed with the run; ``ExtensionError`` without one."""
        return self._link.run_scope

    def next_request(self) -> Request:
        """What the model would be asked now, before handlers change it; nothing is sent."""
        return self._link.session.runs.next_request()

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The file as a call would leave it, also while its arguments are still coming."""
        return self._link.session.tools.preview(call)

    @property
    def message_token(self) -> MessageToken | None:
        """Stands for the answer that is being streamed; ``None`` between answers."""
        return self._link.session.runs.message_token

    def interrupt(self, message: MessageToken, cut: Interrupt) -> bool:
        """Cut an answer as if a policy had raised ``cut``; False if it is over, or cut already."""
        cut.by = cut.by or self._link.name
        return self._link.session.runs.interrupt(message, cut)

    def abort(self) -> None:
        """Ask the run to end; never raises in the caller."""
        self._link.session.runs.abort()

    def shutdown(self) -> None:
        """Ask the program to end, when the agent rests."""
        self._link.session.control.shutdown()

    def get_system_prompt(self) -> str:
        """The system prompt, as it would be now."""
        return self._link.session.facts.system_prompt()

    def compact(
        self,
        custom_instructions: str = "",
        *,
        on_complete: Callable[[Any], Any] | None = None,
        on_error: Callable[[Exception], Any] | None = None,
    ) -> None:
        """Make the conversation shorter as soon as the agent rests."""
        session = self._link.session

        async def act() -> None:
            try:
                result = await session.runs.compact(custom_instructions)
            except Exception as problem:
                if on_error is not None:
                    await awaited(on_error(problem))
            else:
                if on_complete is not None:
                    await awaited(on_complete(result))

        session.control.when_idle(act)
