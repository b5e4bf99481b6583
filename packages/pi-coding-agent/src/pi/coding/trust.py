"""Project trust: the decision for a run, ``trust.json``, and the files that need trust."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeAlias

import msgspec
from msgspec import field

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.bus import EventBus, Query, Rank
from pi.coding.other_agents import (
    EVERY_AGENT,
    SHARED,
    AgentUse,
    exists_below,
    gated_agent_files,
    project_directories,
)


class BadTrustFile(PiError):
    """The trust file is invalid. Guessing could trust the wrong directory."""


class TrustStore:
    """``trust.json``: trusted and distrusted directories; shared with the original pi."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def decisions(self) -> dict[str, bool]:
        """Return all stored decisions; raises ``BadTrustFile`` if the file is invalid."""
        data = read_if_exists(self._path)
        if data is None or not data.strip():
            return {}
        try:
            return msgspec.json.decode(data, type=dict[str, bool])
        except UNREADABLE as error:
            raise BadTrustFile(
                f"Cannot read the trust file {self._path}: {error}",
                hint="Repair it, or remove it to be asked again.",
            ) from error

    def decide(self, changes: Mapping[Path, bool | None]) -> None:
        """Store decisions by directory; ``None`` removes one. Raises ``BadTrustFile``."""
        import json  # for the original's indentation; msgspec reads the file

        private_directory(self._path.parent)
        with DirectoryLock(self._path, clock=self._clock):
            decided = self.decisions()
            for directory, trusted in changes.items():
                name = canonical(directory)
                if trusted is None:
                    decided.pop(name, None)
                else:
                    decided[name] = trusted
            text = json.dumps(decided, indent=2, ensure_ascii=False) + "\n"
            replace_file(self._path, text.encode("utf-8", "surrogatepass"))


def canonical(directory: Path) -> str:
    """Return the canonical path of a directory."""
    return os.path.realpath(directory)


def nearest(decisions: Mapping[str, bool], directory: Path) -> bool | None:
    """Return the decision for the directory or its nearest decided parent, or ``None``."""
    real_directory = Path(canonical(directory))
    for candidate in (real_directory, *real_directory.parents):
        if (trusted := decisions.get(str(candidate))) is not None:
            return trusted
    return None


# Files that need trust, found by name without opening them ----------------------------------------


PROJECT_FOLDER = ".pi"
GATED = (
    "settings.json",
    "config.yml",
    "extensions",
    "tools",
    "skills",
    "prompts",
    "commands",
    "instructions",
    "themes",
    "AGENTS.md",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
"""Names below ``.pi`` that need trust."""
INHERITED = ("skills", "prompts", "commands", "AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md")
"""Names below ``.pi`` that also count in the directories above, up to the repository."""
CONTEXT_FILES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""Instruction files; the first existing one of each directory counts."""


def gated_in(
    cwd: Path, *, home: Path, gates: Iterable[str] = (), use: AgentUse = EVERY_AGENT
) -> tuple[Path, ...]:
    """Return the existing files and folders that only a trusted project may use.

    ``gates`` are the names that enabled extensions add, ``use`` the agents that are used.
    """
    existing_folders: dict[str, bool] = {}
    own = [(cwd, f"{PROJECT_FOLDER}/{name}") for name in GATED]
    for directory in project_directories(cwd, home)[1:]:
        own += ((directory, f"{PROJECT_FOLDER}/{name}") for name in INHERITED)
    if cwd != home:  # in the home directory these files belong to the user
        own.append((cwd, ".env"))
        own += ((cwd, name) for name in gates)
    gated = [
        directory / name
        for directory, name in own
        if exists_below(directory, name, existing_folders)
    ]
    gated += gated_agent_files(cwd, home, use)
    if use.in_project(SHARED):
        own = [
            (directory, ".agents/skills") for directory in (cwd, *cwd.parents) if directory != home
        ]
        gated += (
            directory / name
            for directory, name in own
            if exists_below(directory, name, existing_folders)
        )
    gated += context_files((cwd, *cwd.parents)).values()
    return tuple(dict.fromkeys(gated))


def context_files(directories: Iterable[Path]) -> dict[Path, Path]:
    """Return the instruction file of each directory that has one."""
    files = {}
    for directory in directories:
        for name in CONTEXT_FILES:
            path = os.path.join(directory, name)  # noqa: PTH118 - five times as fast as a ``Path``
            if os.path.exists(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112
                files[directory] = directory / name  # a pipe is rejected when it is read
                break
    return files


TrustSource: TypeAlias = Literal[
    "flag", "extension", "stored", "settings", "person", "nothing to trust", "not asked"
]
TrustDefault: TypeAlias = Literal["ask", "always", "never"]


class TrustAnswer(Record):
    """Answer of an extension."""

    trusted: Literal["yes", "no", "undecided"]
    remember: bool = False


DECIDING: tuple[Rank, ...] = ("core", "bundled", "user", "explicit")
"""Ranks of extensions that may answer. A project must not decide about itself or others."""


class ProjectTrustEvent(Query):
    """Whether a project is trusted; emitted before any of its files is read."""

    answer: ClassVar[type[Record]] = TrustAnswer
    cwd: str
    decision: TrustAnswer = TrustAnswer(trusted="undecided")

    def with_answer(self, answer: TrustAnswer) -> Self:
        """The first decision wins."""
        return replace(self, decision=answer)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has decided."""
        return self.decision.trusted != "undecided"


class TrustChoice(Record):
    """The user's choice for a directory, and whether to store it."""

    trusted: bool
    directory: Path
    remember: bool = False


AskTrust: TypeAlias = Callable[[Path, Sequence[Path]], Awaitable[TrustChoice | None]]
"""Asks the user about a directory and its files that need trust; ``None`` without an answer."""


class Trust(Record):
    """The trust decision for one project, valid until the project is read again."""

    trusted: bool
    """Whether anything of the project may be read. Also False if there was nothing to trust: the
    user was not asked, and a file that appears later must not be read without asking.
    """
    source: TrustSource
    decisions: dict[str, bool] = field(default_factory=dict)
    """Canonical directories with their decisions, of this run or earlier."""
    by_default: bool = False
    """Whether undecided directories are trusted."""

    def trusts(self, directory: Path) -> bool:
        """Whether files of ``directory`` may be read; a flag applies to all directories."""
        if self.source == "flag":
            return self.trusted
        decision = nearest(self.decisions, directory)
        return self.by_default if decision is None else decision

    def within(self, directory: Path) -> Trust:
        """Return the same decisions for another project directory."""
        return replace(self, trusted=self.trusts(directory))

    def allows_as_much_as(self, other: Trust, cwd: Path) -> bool:
        """Whether both allow the same for the project in ``cwd`` and its parents."""
        if self.trusted != other.trusted:
            return False
        return all(
            self.trusts(directory) == other.trusts(directory) for directory in (cwd, *cwd.parents)
        )


def needing_trust(
    cwd: Path, *, home: Path, gates: Iterable[str] = (), use: AgentUse = EVERY_AGENT
) -> tuple[Path, ...]:
    """Return everything in the project that needs trust, by canonical path."""
    return gated_in(Path(canonical(cwd)), home=Path(canonical(home)), gates=gates, use=use)


async def decide_trust(
    cwd: Path,
    store: TrustStore,
    *,
    home: Path,
    bus: EventBus,
    flag: bool | None = None,
    default: TrustDefault = "ask",
    ask: AskTrust | None = None,
    answers: dict[str, bool] | None = None,
    gates: Iterable[str] = (),
    use: AgentUse = EVERY_AGENT,
) -> Trust:
    """Return the first decision of: flag, extensions, stored decision, setting, user.

    Call it each time before the project is read. ``answers`` are the user's decisions for this run
    only, by canonical directory; a new one is added. ``gates`` are names of files that enabled
    extensions read, ``use`` the other agents whose files are used.
    """
    if flag is not None:
        return Trust(trusted=flag, source="flag")
    answers = {} if answers is None else answers
    decided = await _decide(
        cwd, store, answers, home=home, bus=bus, default=default, ask=ask, gates=gates, use=use
    )
    return replace(decided, by_default=decided.trusted and default == "always")


async def _decide(
    cwd: Path,
    store: TrustStore,
    answers: dict[str, bool],
    *,
    home: Path,
    bus: EventBus,
    default: TrustDefault,
    ask: AskTrust | None,
    gates: Iterable[str],
    use: AgentUse,
) -> Trust:
    stored = store.decisions()
    # The user is not asked about stored decisions, so a stored decision is newer than an answer.
    for directory in [path for path in answers if nearest(stored, Path(path)) is not None]:
        del answers[directory]
    decisions = stored | answers
    answer = (await bus.query(ProjectTrustEvent(cwd=str(cwd)), ranks=DECIDING)).decision
    if answer.trusted != "undecided":
        trusted = answer.trusted == "yes"
        if answer.remember:
            store.decide({cwd: trusted})
        return _make_decision(cwd, "extension", decisions, trusted=trusted)
    if (before := nearest(decisions, cwd)) is not None:
        by: TrustSource = "person" if nearest(stored, cwd) is None else "stored"
        return Trust(trusted=before, source=by, decisions=decisions)
    if default == "always":
        return _make_decision(cwd, "settings", decisions, trusted=True)
    gated = needing_trust(cwd, home=home, gates=gates, use=use)
    if not gated:
        return Trust(trusted=False, source="nothing to trust", decisions=decisions)
    if default == "never":
        return _make_decision(cwd, "settings", decisions, trusted=False)
    return _apply_choice(
        cwd, None if ask is None else await ask(cwd, gated), store, answers, decisions
    )


def _apply_choice(
    cwd: Path,
    chosen: TrustChoice | None,
    store: TrustStore,
    answers: dict[str, bool],
    decisions: dict[str, bool],
) -> Trust:
    if chosen is None:
        return _make_decision(cwd, "not asked", decisions, trusted=False)
    if chosen.remember:
        # A decision about the parent folder makes the one about this folder redundant.
        changes: dict[Path, bool | None] = {cwd: None}
        store.decide(changes | {chosen.directory: chosen.trusted})
    else:
        answers[canonical(chosen.directory)] = chosen.trusted
    return _make_decision(chosen.directory, "person", decisions, trusted=chosen.trusted)


def _make_decision(
    directory: Path, by: TrustSource, previous: dict[str, bool], *, trusted: bool
) -> Trust:
    decisions = previous | {canonical(directory): trusted}
    return Trust(trusted=trusted, source=by, decisions=decisions)
