"""The system prompt, put together from named sections."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pi.agent.agent import Agent
from pi.agent.policy import Boundary, Next, Policy

log = logging.getLogger(__name__)

Section: TypeAlias = Callable[[], str | None]
"""Gives its text, or ``None`` to be left out.

The same state gives the same bytes: what a clock or a counter says does not belong into a prompt,
because every change of it throws the provider's cache away.
"""


class SystemPrompt:
    """Sections in the order in which they were first set.

    A section that fails keeps the text that it had: a prompt that changes because of a bug would
    cost more than one that is a little old.
    """

    def __init__(self, sections: Mapping[str, Section | str] | None = None) -> None:
        self._sections: dict[str, Section | str] = dict(sections or {})
        self._last: dict[str, str | None] = {}

    def set(self, name: str, section: Section | str) -> None:
        """Add a section at the end, or replace the one of that name where it stands."""
        self._sections[name] = section

    def remove(self, name: str) -> None:
        """Leave a section out from now on; nothing happens when it is not there."""
        self._sections.pop(name, None)
        self._last.pop(name, None)

    def sections(self) -> dict[str, str]:
        """The text of every section that has one now, by name."""
        self._last = {name: self._text(name, each) for name, each in self._sections.items()}
        return {name: text for name, text in self._last.items() if text}

    def render(self) -> str:
        """The whole prompt: sections parted by blank lines."""
        return "\n\n".join(self.sections().values())

    def _text(self, name: str, section: Section | str) -> str | None:
        if isinstance(section, str):
            return section
        try:
            return section()
        except Exception:
            log.exception("the section %s of the system prompt failed", name)
            return self._last.get(name)


class Instructing(Policy):
    """Gives an agent its prompt when a run starts, and only then: between turns it is stable."""

    def __init__(self, agent: Agent, prompt: SystemPrompt) -> None:
        self._agent = agent
        self._prompt = prompt

    async def at_boundary(self, at: Boundary) -> Next:
        """Put the prompt together before anything else happens."""
        if at.kind == "prompt":
            self._agent.system_prompt = self._prompt.render()
        return at.next
