"""Allow rules that the user has granted in dialogs: for this session, or for this project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from pi.batteries.permissions.rules import Rule, parse_rules
from pi.extension import ExtensionAPI, Record

Duration: TypeAlias = Literal["this session", "this project"]
DURATIONS: tuple[Duration, ...] = ("this session", "this project")


class Grant(Record):
    """One granted rule."""

    rule: str
    duration: Duration

    @property
    def label(self) -> str:
        """How it is listed."""
        return f"{self.rule} ({self.duration})"


class Grants:
    """The grants of one session and of its project, which are stored in the agent directory."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._of_session: list[str] = []

    @property
    def all(self) -> tuple[Grant, ...]:
        """All grants, those of this session first."""
        rules = {"this session": self._of_session, "this project": self._of_project}
        return tuple(
            Grant(rule=rule, duration=duration)
            for duration in DURATIONS
            for rule in rules[duration]
        )

    def rules(self) -> tuple[Rule, ...]:
        """The grants as rules."""
        return tuple(
            rule
            for grant in self.all
            for rule in parse_rules({"allow": [grant.rule]}, f"granted for {grant.duration}")[0]
        )

    async def add(self, rules: Sequence[str], duration: Duration) -> None:
        """Grant rules."""
        if duration == "this session":
            self._of_session = [*dict.fromkeys((*self._of_session, *rules))]
        else:
            await self._store([*dict.fromkeys((*self._of_project, *rules))])

    async def revoke(self, grant: Grant) -> None:
        """Remove one grant."""
        if grant.duration == "this session":
            self._of_session.remove(grant.rule)
        else:
            await self._store([rule for rule in self._of_project if rule != grant.rule])

    async def clear(self) -> None:
        """Remove all grants of this session and of this project."""
        self._of_session.clear()
        await self._store([])

    async def _store(self, rules: list[str]) -> None:
        store = self._pi.store("global")
        if rules:
            await store.set(self._project, rules)
        else:
            await store.delete(self._project)

    @property
    def _of_project(self) -> list[str]:
        stored = self._pi.store("global").get(self._project, [])
        return [rule for rule in stored if isinstance(rule, str)]

    @cached_property
    def _project(self) -> str:
        return str(self._pi.context.cwd.resolve())
