"""Hooks around every provider request (of the loop or a compaction), and policies by rank."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Literal, TypeAlias

from pi.agent.agent import Agent
from pi.agent.policy import Policy
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import OnPayload, OnResponse, StreamOptions
from pi.base.records import replace

log = logging.getLogger(__name__)


Remove: TypeAlias = Callable[[], None]
"""Removes the registration."""


class ProviderHooks:
    """Payload and response hooks in the order of registration. A hook that fails is skipped."""

    def __init__(self) -> None:
        self._payload: list[OnPayload] = []
        self._response: list[OnResponse] = []

    def before_request(self, hook: OnPayload) -> Remove:
        """Call ``hook`` with each payload before it is sent; its return value replaces it."""
        self._payload.append(hook)
        return lambda: self._payload.remove(hook)

    def after_response(self, hook: OnResponse) -> Remove:
        """Call ``hook`` with status and headers of each response before its body is read."""
        self._response.append(hook)
        return lambda: self._response.remove(hook)

    def applied(self, options: StreamOptions) -> StreamOptions:
        """Return ``options`` with these hooks appended to its own."""
        first_payload, first_response = options.on_payload, options.on_response

        async def on_payload(payload: Json, model: Model) -> Json:
            for hook in (first_payload, *self._payload):
                if hook is not None:
                    payload = await _changed(hook, payload, model)
            return payload

        async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
            for hook in (first_response, *self._response):
                if hook is not None:
                    await _observe(hook, status, headers, model)

        return replace(options, on_payload=on_payload, on_response=on_response)


async def _changed(hook: OnPayload, payload: Json, model: Model) -> Json:
    try:
        replacement = await hook(payload, model)
    except Exception:
        log.exception("a hook failed before a request")
        return payload
    return payload if replacement is None else replacement


async def _observe(hook: OnResponse, status: int, headers: Mapping[str, str], model: Model) -> None:
    try:
        await hook(status, headers, model)
    except Exception:
        log.exception("a hook failed after a response")


Rank: TypeAlias = Literal["first", "normal", "last"]


class RankedPolicies:
    """The policies of an agent, by rank and then by registration."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._ranks: dict[Rank, list[Policy]] = {"first": [], "normal": [], "last": []}

    def add(self, policy: Policy, *, at: Rank = "normal") -> Callable[[], None]:
        """Add ``policy`` after the others of its rank; returns a function that removes it."""
        rank = self._ranks[at]
        rank.append(policy)
        self._arrange()

        def remove() -> None:
            rank.remove(policy)
            self._arrange()

        return remove

    def _arrange(self) -> None:
        self._agent.policies = tuple(chain.from_iterable(self._ranks.values()))
