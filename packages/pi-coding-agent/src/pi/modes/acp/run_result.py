"""How the run of a prompt ended: its stop reason, its usage, and the error for the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pi.agent.policy import Boundary, Next, Policy
from pi.ai.errors import AnswerRefused, ProviderError, RateLimited
from pi.ai.messages import AssistantMessage, Json, RequestFailure
from pi.modes.acp.connection import INTERNAL_ERROR, RequestFailed

if TYPE_CHECKING:
    from pi.coding.session.statistics import TokenTotals


class RunFailures(Policy):
    """Remembers the typed error of the last answer: events have its message only."""

    def __init__(self) -> None:
        self.last: ProviderError | None = None

    async def at_boundary(self, at: Boundary) -> Next:
        """Remember the error of a turn."""
        if at.kind == "turn":
            self.last = at.error
        return at.next


def stop_reason(
    answer: AssistantMessage | None, error: ProviderError | None, decision: Next | None
) -> str:
    """Return why a run ended that the client has not cancelled. Raises ``RequestFailed``."""
    if decision is not None and decision.action == "stop" and decision.exit_code is not None:
        return "max_turn_requests"  # a budget is spent, or a loop was cut
    if answer is not None and answer.stop_reason == "aborted":
        return "cancelled"  # by an extension
    if answer is None or answer.stop_reason not in ("error", "length"):
        return "end_turn"
    if answer.stop_reason == "length":
        return "max_tokens"
    if isinstance(error, AnswerRefused):
        return "refusal"
    message, hint = explain(answer, error)
    data: Json = {"details": message}
    if isinstance(answer.failure, RequestFailure):
        data["failure"] = msgspec.to_builtins(answer.failure)
    if isinstance(error, RateLimited):
        # Evaluation harnesses repeat such a rollout instead of counting a failure of the model.
        data["kind"] = "model_transport"
    raise RequestFailed(INTERNAL_ERROR, message, hint=hint, data=data)


def explain(answer: AssistantMessage, error: ProviderError | None) -> tuple[str, str]:
    """Return why an answer failed in one sentence, and what to do."""
    if isinstance(failure := answer.failure, RequestFailure):
        return failure.text, failure.next
    from pi.ai.failures.sentence import describe_message  # deferred: most answers do not fail

    text, hint = describe_message(answer.error_message or "The request failed.")
    return text, hint if error is None else error.hint or hint


def total_usage(tokens: TokenTotals) -> Json:
    """Return the usage of a session for the answer to a prompt."""
    return {
        # With the tokens of the cache: clients call them all input.
        "inputTokens": tokens.input + tokens.cache_read + tokens.cache_write,
        "outputTokens": tokens.output,
        "cachedReadTokens": tokens.cache_read,
        "cachedWriteTokens": tokens.cache_write,
        "totalTokens": tokens.total,
    }
