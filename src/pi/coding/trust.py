"""Whether a project is trusted in this run, and who said so."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Self, TypeAlias

import msgspec
from msgspec import field

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import DirectoryLock, private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.bus import Bus, Query

# ``trust.json``: the directories that the person has decided about, for good.


class BadTrustFile(PiError):
    """The file cannot be understood, and guessing would trust or distrust somebody wrongly."""


class TrustStore:
    """Canonical directories and whether they are trusted; shared with the original."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def decisions(self) -> dict[str, bool]:
        """Everything that was decided; ``BadTrustFile`` if the file is broken."""
        data = read_if_exists(self._path)
        if data is None or not data.strip():
            return {}
        try:
            return msgspec.json.decode(data, type=dict[str, bool])
        except UNREADABLE as problem:
            raise BadTrustFile(
                f"The trust file {self._path} cannot be read: {problem}",
                hint="Repair it, or remove it to be asked again.",
            ) from problem

    def decide(self, changes: Mapping[Path, bool | None]) -> None:
        """Remember decisions; ``None`` forgets one."""
        import json  # whose indentation is the original's; reading is msgspec's

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
    """The one name of a directory, however it was reached."""
    return os.path.realpath(directory)


def nearest(decisions: Mapping[str, bool], directory: Path) -> bool | None:
    """What was decided about the directory or, next to it, about one above; ``None`` if nothing."""
    here = Path(canonical(directory))
    for candidate in (here, *here.parents):
        if (trusted := decisions.get(str(candidate))) is not None:
            return trusted
    return None


# What of a project needs trust: found by name, without opening anything.


PROJECT_FOLDER = ".pi"
GATED = (
    "settings.json",
    "extensions",
    "tools",
    "skills",
    "prompts",
    "rules",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
"""Names below ``.pi``."""
OTHER_AGENTS = (".claude", ".codex", ".agents", ".gemini", ".cursor", ".windsurf")
"""Folders of other agents, below which ``rules`` are instructions as well."""
OTHERS_FOLDERS = (
    ".claude/skills",
    ".claude/commands",
    ".codex/skills",
    ".codex/prompts",
    ".gemini/skills",
)
"""What else other agents keep in a project, and extensions may use here."""
CLINE_RULES = ".clinerules"
"""Those of another one: a folder or a file, of which the nearest here or above counts."""
CONTEXT_FILES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""Instructions for the agent; in every directory the first one that is there counts."""


def gated_in(cwd: Path, *, home: Path) -> tuple[Path, ...]:
    """What is there that only a trusted project may bring along."""
    folder = cwd / PROJECT_FOLDER
    own = [folder / name for name in GATED]
    if cwd != home:  # where these are the person's own
        own.append(cwd / ".env")
        own += (cwd / agent / "rules" for agent in OTHER_AGENTS)
        own += (cwd / name for name in OTHERS_FOLDERS)
    own += (each / CLINE_RULES for each in (cwd, *cwd.parents) if each != home)
    found = [path for path in own if os.path.lexists(path)]
    found += (path for path in agent_skills(cwd, home=home) if os.path.lexists(path))
    found += (path for directory in (cwd, *cwd.parents) for path in context_file(directory))
    return tuple(found)


def agent_skills(cwd: Path, *, home: Path) -> Iterator[Path]:
    """``.agents/skills`` here and above; the person's own is no project's."""
    for directory in (cwd, *cwd.parents):
        if directory != home:
            yield directory / ".agents" / "skills"


def context_file(directory: Path) -> Iterator[Path]:
    """The file of instructions that counts in a directory, if there is one."""
    for name in CONTEXT_FILES:
        path = directory / name
        if path.exists() and not path.is_dir():  # a pipe is refused by whoever reads it
            yield path
            return


TrustSource: TypeAlias = Literal[
    "flag", "extension", "stored", "settings", "person", "nothing to trust", "nobody asked"
]
Wish: TypeAlias = Literal["ask", "always", "never"]


class TrustAnswer(Record):
    """An extension's opinion."""

    trusted: Literal["yes", "no", "undecided"]
    remember: bool = False


class ProjectTrust(Query):
    """Asked of the person's own extensions before anything of the project is read."""

    cwd: str
    answer: TrustAnswer = TrustAnswer(trusted="undecided")

    def with_answer(self, answer: TrustAnswer) -> Self:
        """The first decided answer counts."""
        return replace(self, answer=answer)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has decided."""
        return self.answer.trusted != "undecided"


class TrustChoice(Record):
    """What the person chose: about which directories, and whether for good."""

    trusted: bool
    directory: Path
    remember: bool = False


AskTrust: TypeAlias = Callable[[Path], Awaitable[TrustChoice | None]]
"""Shows the question; ``None`` when the person gives no answer."""


class Trust(Record):
    """What was decided about one project. It holds until the project is read again."""

    trusted: bool
    """Whether anything of the project may be read. Where there is nothing to trust, nobody was
    asked, and a file that appears later must not be read unasked: so it is False there, too."""
    source: TrustSource
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

    def within(self, directory: Path) -> Trust:
        """The same decisions, for another directory as the project."""
        return replace(self, trusted=self.trusts(directory))

    def allows_as_much_as(self, other: Trust, cwd: Path) -> bool:
        """Whether both allow the same for the project in ``cwd`` and the directories above."""
        if self.trusted != other.trusted:
            return False
        return all(self.trusts(each) == other.trusts(each) for each in (cwd, *cwd.parents))


def needs_trust(cwd: Path, *, home: Path) -> bool:
    """Whether the project has anything now that only a trusted one may bring along."""
    return bool(gated_in(Path(canonical(cwd)), home=Path(canonical(home))))


async def decide_trust(
    cwd: Path,
    store: TrustStore,
    *,
    home: Path,
    bus: Bus,
    flag: bool | None = None,
    default: Wish = "ask",
    ask: AskTrust | None = None,
    answers: dict[str, bool] | None = None,
) -> Trust:
    """Flag, extensions, what is stored, the user's default, the user: the first one counts.

    To be called again before every reading of the project. ``answers`` are those that the user
    gave for this run only, by canonical directory; a new one is added to them.
    """
    if flag is not None:
        return Trust(trusted=flag, source="flag")
    answers = {} if answers is None else answers
    decided = await _decide(cwd, store, answers, home=home, bus=bus, default=default, ask=ask)
    return replace(decided, by_default=decided.trusted and default == "always")


async def _decide(
    cwd: Path,
    store: TrustStore,
    answers: dict[str, bool],
    *,
    home: Path,
    bus: Bus,
    default: Wish,
    ask: AskTrust | None,
) -> Trust:
    stored = store.decisions()
    # Nobody is asked about what is stored, so a stored decision is newer than an answer.
    for directory in [each for each in answers if nearest(stored, Path(each)) is not None]:
        del answers[directory]
    known = stored | answers
    answer = (await bus.query(ProjectTrust(cwd=str(cwd)))).answer
    if answer.trusted != "undecided":
        trusted = answer.trusted == "yes"
        if answer.remember:
            store.decide({cwd: trusted})
        return _decided(cwd, "extension", known, trusted=trusted)
    if (before := nearest(known, cwd)) is not None:
        by: TrustSource = "person" if nearest(stored, cwd) is None else "stored"
        return Trust(trusted=before, source=by, decisions=known)
    if default == "always":
        return _decided(cwd, "settings", known, trusted=True)
    if not needs_trust(cwd, home=home):
        return Trust(trusted=False, source="nothing to trust", decisions=known)
    if default == "never":
        return _decided(cwd, "settings", known, trusted=False)
    return _chosen(cwd, None if ask is None else await ask(cwd), store, answers, known)


def _chosen(
    cwd: Path,
    chosen: TrustChoice | None,
    store: TrustStore,
    answers: dict[str, bool],
    known: dict[str, bool],
) -> Trust:
    if chosen is None:
        return _decided(cwd, "nobody asked", known, trusted=False)
    if chosen.remember:
        # Deciding about the folder above makes a decision about this one superfluous.
        changes: dict[Path, bool | None] = {cwd: None}
        store.decide(changes | {chosen.directory: chosen.trusted})
    else:
        answers[canonical(chosen.directory)] = chosen.trusted
    return _decided(chosen.directory, "person", known, trusted=chosen.trusted)


def _decided(directory: Path, by: TrustSource, known: dict[str, bool], *, trusted: bool) -> Trust:
    decisions = known | {canonical(directory): trusted}
    return Trust(trusted=trusted, source=by, decisions=decisions)
