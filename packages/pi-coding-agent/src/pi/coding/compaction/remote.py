"""Compaction by a server: an endpoint that writes summaries, and OpenAI's own compaction.

A text summary is always stored as well: another provider, or the original pi, can continue with it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.summarise import SummaryRequest
from pi.ai.messages import AssistantMessage, Json, Message, Text, Thinking, Usage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import UNREADABLE, Record
from pi.coding.session.context import NATIVE

log = logging.getLogger(__name__)

NATIVE_PROVIDERS = frozenset({"openai", "openai-codex"})
NATIVE_APIS = frozenset({"openai-responses", "openai-codex-responses"})


class NativeCompaction(Record):
    """The provider's own compaction of the history, in a form that only it can read."""

    items: tuple[Json, ...]
    model: Model
    usage: Usage

    @property
    def preserved(self) -> Json:
        """The data to store: the projection of the log replays the items to the same model."""
        history = {
            "provider": self.model.provider,
            "api": self.model.api,
            "model": self.model.id,
            "replacementHistory": list(self.items),
        }
        return {NATIVE: history}


class RemoteCompaction:
    """The server of one compaction.

    ``post`` sends JSON to the endpoint and returns its answer; ``compact`` sends messages to the
    provider of ``model`` for compaction. Each is ``None`` if it is not enabled.
    """

    def __init__(
        self,
        model: Model,
        *,
        post: Callable[[Json], Awaitable[bytes]] | None = None,
        compact: Callable[[Sequence[Message]], Awaitable[AssistantMessage]] | None = None,
    ) -> None:
        self._model = model
        self._post = post
        self._compact = compact

    @property
    def endpoint(self) -> bool:
        """Whether an endpoint writes the summaries."""
        return self._post is not None

    async def ask(self, request: SummaryRequest) -> AssistantMessage:
        """Return the summary that the endpoint writes; raises ``CompactionFailed``."""
        assert self._post is not None
        prompt = "\n\n".join(map(_text, request.context.messages))
        body = {"systemPrompt": str(request.context.system_prompt), "prompt": prompt}
        try:
            answer = msgspec.json.decode(await self._post(body))
            summary = answer["summary"]
        except (PiError, KeyError, TypeError, *UNREADABLE) as error:
            why = error.message if isinstance(error, PiError) else "it returned no summary"
            raise CompactionFailed(
                "summary_failed", f"compaction.remoteEndpoint failed: {why}"
            ) from error
        if not isinstance(summary, str):
            raise CompactionFailed(
                "summary_failed", "compaction.remoteEndpoint failed: its summary is not a string"
            )
        return AssistantMessage(content=(Text(text=summary),))

    async def native(self, messages: Sequence[Message]) -> NativeCompaction | None:
        """Return the provider's own compaction of ``messages``; ``None`` if it has none or fails.

        A failure is not reported: the text summary is complete without it.
        """
        if self._compact is None:
            return None
        answer = await self._compact(messages)
        if answer.stop_reason != "stop":
            log.warning("the provider did not compact: %s", answer.error_message)
            return None
        items = [
            msgspec.json.decode(block.thinking_signature)
            for block in answer.content
            if isinstance(block, Thinking) and isinstance(block.thinking_signature, str)
        ]
        if not items:
            return None
        return NativeCompaction(items=tuple(items), model=self._model, usage=answer.usage)


def _text(message: Message) -> str:
    content = getattr(message, "content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
