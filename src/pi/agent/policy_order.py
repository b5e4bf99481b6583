"""Who is asked first: policies in ranks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Literal, TypeAlias

from pi.agent.agent import Agent
from pi.agent.policy import Policy

Rank: TypeAlias = Literal["first", "normal", "last"]


class PolicyOrder:
    """The policies of an agent, by rank and then by registration."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._ranks: dict[Rank, list[Policy]] = {"first": [], "normal": [], "last": []}

    def add(self, policy: Policy, *, at: Rank = "normal") -> Callable[[], None]:
        """Have ``policy`` asked behind the others of its rank; gives what ends that."""
        rank = self._ranks[at]
        rank.append(policy)
        self._arrange()

        def remove() -> None:
            rank.remove(policy)
            self._arrange()

        return remove

    def _arrange(self) -> None:
        self._agent.policies = tuple(chain.from_iterable(self._ranks.values()))
