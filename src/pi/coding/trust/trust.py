"""Whether a project is trusted in this run, and who said so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pi.base.records import Record, field, replace
from pi.coding.bus import Bus, Question
from pi.coding.trust.gated import gated_in
from pi.coding.trust.store import TrustStore, canonical, nearest

Source: TypeAlias = Literal[
    "flag", "extension", "stored", "settings", "person", "nothing to trust", "nobody asked"
]
Wish: TypeAlias = Literal["ask", "always", "never"]


class TrustAnswer(Record):
    """An extension's opinion."""

    trusted: Literal["yes", "no", "undecided"]
    remember: bool = False


class ProjectTrust(Question):
    """Asked of the person's own extensions before anything of the project is read."""

    cwd: str
    answer: TrustAnswer = TrustAnswer(trusted="undecided")

    def answered(self, answer: TrustAnswer) -> Self:
        """The first decided answer counts."""
        return replace(self, answer=answer)

    @property
    def settled(self) -> bool:
        """Whether somebody has decided."""
        return self.answer.trusted != "undecided"


class Choice(Record):
    """What the person chose: about which directories, and whether for good."""

    trusted: bool
    directory: Path
    remember: bool = False


AskPerson: TypeAlias = Callable[[Path], Awaitable[Choice | None]]
"""Shows the question; ``None`` when the person gives no answer."""


class Trust(Record):
    """The decision for one run."""

    trusted: bool
    source: Source
    decisions: dict[str, bool] = field(default_factory=dict)
    """Canonical directories and what was decided about them, in this run or before."""
    by_default: bool = False
    """Whether directories that nothing was decided about are trusted."""

    def trusts(self, directory: Path) -> bool:
        """Whether files of ``directory`` may be read; a flag speaks for all directories."""
        if self.source == "flag":
            return self.trusted
        known = nearest(self.decisions, directory)
        return self.by_default if known is None else known


async def decide_trust(
    cwd: Path,
    store: TrustStore,
    *,
    home: Path,
    bus: Bus,
    flag: bool | None = None,
    default: Wish = "ask",
    ask: AskPerson | None = None,
) -> Trust:
    """Flag, extensions, what is stored, the person's default, the person: the first one counts."""
    if flag is not None:
        return Trust(trusted=flag, source="flag")
    decided = await _decide(cwd, store, home=home, bus=bus, default=default, ask=ask)
    return replace(decided, by_default=decided.trusted and default == "always")


async def _decide(
    cwd: Path, store: TrustStore, *, home: Path, bus: Bus, default: Wish, ask: AskPerson | None
) -> Trust:
    stored = store.decisions()
    answer = (await bus.ask(ProjectTrust(cwd=str(cwd)))).answer
    if answer.trusted != "undecided":
        trusted = answer.trusted == "yes"
        if answer.remember:
            store.decide({cwd: trusted})
        return _decided(cwd, "extension", stored, trusted=trusted)
    if (known := nearest(stored, cwd)) is not None:
        return Trust(trusted=known, source="stored", decisions=stored)
    if not gated_in(Path(canonical(cwd)), home=Path(canonical(home))):
        return _decided(cwd, "nothing to trust", stored, trusted=True)
    if default != "ask":
        return _decided(cwd, "settings", stored, trusted=default == "always")
    chosen = None if ask is None else await ask(cwd)
    return _chosen(cwd, chosen, store, stored)


def _chosen(cwd: Path, chosen: Choice | None, store: TrustStore, stored: dict[str, bool]) -> Trust:
    if chosen is None:
        return _decided(cwd, "nobody asked", stored, trusted=False)
    if chosen.remember:
        # Deciding about the folder above makes a decision about this one superfluous.
        changes: dict[Path, bool | None] = {cwd: None}
        store.decide(changes | {chosen.directory: chosen.trusted})
    return _decided(chosen.directory, "person", stored, trusted=chosen.trusted)


def _decided(directory: Path, by: Source, stored: dict[str, bool], *, trusted: bool) -> Trust:
    decisions = stored | {canonical(directory): trusted}
    return Trust(trusted=trusted, source=by, decisions=decisions)
