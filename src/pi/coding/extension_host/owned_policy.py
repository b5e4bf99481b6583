"""Policies of extensions: one that fails is reported under its extension's name, and has no say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from pi.agent.policy import Boundary, Interrupt, Next, Partial, Policy, Request
from pi.agent.tool import ToolResult
from pi.ai.events import Delta
from pi.ai.messages import AssistantMessage, ToolCall
from pi.coding.extension_host.failures import PASSED_ON, HandlerEscaped, contained
from pi.coding.extension_host.hooks import DECISIONS, Failed
from pi.coding.extension_host.order import Owner

T = TypeVar("T")


def owned(policy: Policy, owner: Owner, failed: Failed) -> Policy:
    """``policy``, with failures told to ``failed``; it watches tokens only if ``policy`` does."""
    watches = type(policy).on_delta is not Policy.on_delta
    return (OwnedWatcher if watches else OwnedPolicy)(policy, owner, failed)


class OwnedPolicy(Policy):
    """Asks a policy that somebody is responsible for."""

    def __init__(self, policy: Policy, owner: Owner, failed: Failed) -> None:
        self._policy = policy
        self._owner = owner
        self._failed = failed

    async def before_request(self, request: Request) -> Request:
        """The request as it is, if the policy fails."""
        return await self._ask(
            "before_request", partial(self._policy.before_request, request), request
        )

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """The answer as it is, if the policy fails."""
        return await self._ask("after_answer", partial(self._policy.after_answer, answer), answer)

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """A guard that failed guards all the same: the call does not run."""
        return await contained(partial(self._policy.before_tool, call))

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result as it is, if the policy fails."""
        return await self._ask("after_tool", partial(self._policy.after_tool, call, result), result)

    async def at_boundary(self, at: Boundary) -> Next:
        """No opinion, if the policy fails."""
        return await self._ask("at_boundary", partial(self._policy.at_boundary, at), at.next)

    async def _ask(self, hook: str, ask: Callable[[], Awaitable[T]], otherwise: T) -> T:
        try:
            return await contained(ask)
        except DECISIONS:
            raise
        except Exception as problem:
            self._failed(self._owner, hook, problem)
            return otherwise


class OwnedWatcher(OwnedPolicy):
    """One that watches tokens as well."""

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """A watcher that fails sees nothing more of the answer."""
        try:
            self._policy.on_delta(delta, answer)
        except Interrupt as cut:
            cut.by = cut.by or type(self._policy).__name__
            raise
        except (*DECISIONS, *PASSED_ON):
            raise
        except Exception as problem:
            self._failed(self._owner, "on_delta", problem)
            raise
        except BaseException as problem:
            self._failed(self._owner, "on_delta", problem)
            raise HandlerEscaped(problem) from problem
