"""Consent: whether a definition in a file of a project or of another agent may be executed.

Trust decides whether files of a project are read. Consent decides whether a definition in them is
executed: a hook, an MCP or language server, a ``!command`` value, a kernel. Consent is bound to a
hash of the definition, so a changed definition needs a new decision.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE, Record
from pi.base.terminal_text import escape_controls, one_line
from pi.coding.port.ui import ExtensionUI, Option

ALLOW = Option(label="Allow", description="until the definition changes")
ALLOW_ONCE = Option(label="Allow for this session")
DENY = Option(label="Deny", description="until the definition changes")
_EXECUTED = frozenset({"command", "args", "url", "code"})
"""Fields that are shown first: a long definition must not push them out of sight."""
_MAX_SHOWN_LINES = 40
_DIALOG_LINES, _DIALOG_CHARACTERS = 5, 240
"""The size that fits into the dialog of a terminal with 24 rows; the rest is cut off."""
_LONG = "The definition is long. Read the whole of it above before you allow it."


class BadConsentFile(PiError):
    """The consent file is invalid. Guessing could run a definition that the user has denied."""


class ConsentRequest(Record):
    """A definition that would be executed."""

    kind: str
    """The kind of definition, as shown to the user: ``hook``, ``MCP server``."""
    name: str
    source: str
    """The file that defines it."""
    definition: dict[str, Any]
    """Everything that decides what is executed: command, arguments, environment, address."""
    project: str = ""
    """Canonical directory of the project; empty for a file of the user."""
    verb: str = "Run"
    """What happens with consent, as the question says it: ``Run the MCP server s?``"""

    @property
    def digest(self) -> str:
        """The hash under which a decision is stored; independent of the order of keys."""
        content = [self.project, self.kind, self.name, self.definition]
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    def describe(self) -> str:
        """Return the question with the definition; a long definition is truncated."""
        lines = self._lines()
        if len(lines) > _MAX_SHOWN_LINES:
            rest = len(lines) - _MAX_SHOWN_LINES
            lines[_MAX_SHOWN_LINES:] = [f"… {rest} more lines in {self.source}"]
        return "\n".join(map(one_line, lines))

    def whole(self) -> str:
        """Return the question with the whole definition if a dialog would cut it off, else "".

        A command could hide its end behind a long beginning.
        """
        lines = [*map(one_line, self._lines())]
        text = "\n".join(lines)
        fits = len(lines) <= _DIALOG_LINES and len(text) <= _DIALOG_CHARACTERS
        return "" if fits else text

    def _lines(self) -> list[str]:
        lines = [f"{self.verb} the {self.kind} {self.name}?", f"Defined in {self.source}", ""]
        names = sorted(self.definition, key=lambda name: (name not in _EXECUTED, name))
        return lines + [f"{name}: {_value(self.definition[name])}" for name in names]


def _value(value: Any) -> str:
    return escape_controls(msgspec.json.encode(value).decode())


class Decision(Record):
    """A stored answer. Only ``allowed`` is used; the other fields explain the file to users."""

    allowed: bool
    kind: str
    name: str
    source: str
    project: str = ""


class _Stored(Record):
    version: int = 1
    decisions: dict[str, Decision] = msgspec.field(default_factory=dict)


class ConsentStore:
    """``consent.json`` in the agent directory, shared by all processes of the user."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def decisions(self) -> dict[str, Decision]:
        """Return the stored decisions by digest; raises ``BadConsentFile``."""
        data = read_if_exists(self._path)
        if data is None or not data.strip():
            return {}
        try:
            return msgspec.json.decode(data, type=_Stored).decisions
        except UNREADABLE as error:
            raise BadConsentFile(
                f"Cannot read the consent file {self._path}: {error}",
                hint="Repair it, or remove it to be asked again.",
            ) from error

    def decide(self, request: ConsentRequest, *, allowed: bool | None) -> None:
        """Store a decision; ``None`` removes it. Raises ``BadConsentFile``."""
        private_directory(self._path.parent)
        with DirectoryLock(self._path, clock=self._clock):
            decisions = self.decisions()
            if allowed is None:
                decisions.pop(request.digest, None)
            else:
                decisions[request.digest] = Decision(
                    allowed=allowed,
                    kind=request.kind,
                    name=request.name,
                    source=request.source,
                    project=request.project,
                )
            data = msgspec.json.encode(_Stored(decisions=decisions))
            replace_file(self._path, msgspec.json.format(data, indent=2) + b"\n")


_reported: set[str] = set()
"""Messages that were reported. All sessions of a process use the same file."""


def warn_of_file(error: PiError, warn: Callable[[str], None]) -> None:
    """Report a consent file that cannot be used; once, because hooks read it with every event."""
    if error.message not in _reported:
        _reported.add(error.message)
        hint = error.hint or "Repair it, or remove it to be asked again."
        what = "Hooks, servers and commands that need consent do not run until then."
        warn(one_line(f"{error.message.rstrip('.')}. {hint} {what}"))


class Consent:
    """The decisions of one session. Asks the user about definitions that are not decided."""

    def __init__(
        self,
        store: ConsentStore,
        *,
        warn: Callable[[str], None],
        user: Callable[[], ExtensionUI] | None = None,
    ) -> None:
        self._store = store
        self._warn = warn
        self._user = user
        """Returns the user interface for nested sessions, which have none of their own."""
        self._session: dict[str, bool] = {}
        """Answers for this session only. False after a dismissed dialog or without a user."""
        self._lock = asyncio.Lock()
        """One dialog at a time, so that a second request for a definition sees the first answer."""

    async def allowed(
        self, requests: Iterable[ConsentRequest], ui: ExtensionUI
    ) -> list[ConsentRequest]:
        """Return the requests that may run. Without a user, undecided ones are skipped.

        Skipped requests are reported once per session, one line for each file. If the stored
        decisions cannot be read, nothing may run, and that is reported once.
        """
        if not ui.has_ui and self._user is not None:
            ui = self._user()
        async with self._lock:
            try:
                stored = self._store.decisions()
            except PiError as error:
                warn_of_file(error, self._warn)
                return []
            allowed: list[ConsentRequest] = []
            skipped: dict[str, list[ConsentRequest]] = {}
            for request in requests:
                try:
                    digest = request.digest
                except (TypeError, ValueError, RecursionError) as error:
                    # Lone surrogates or deep nesting in the file; the others are still decided.
                    self._warn(one_line(f"Skipped {request.kind} {request.name}: {error}."))
                    continue
                if digest in stored:
                    answer = stored[digest].allowed
                elif digest in self._session:
                    answer = self._session[digest]
                elif ui.has_ui:
                    answer = await self._ask(request, ui)
                else:
                    self._session[digest] = answer = False
                    skipped.setdefault(request.source, []).append(request)
                if answer:
                    allowed.append(request)
        for source, missing in skipped.items():
            names = ", ".join(f"{request.kind} {request.name}" for request in missing)
            self._warn(
                one_line(f"Skipped {names} of {source}: not allowed yet. Start pi to decide.")
            )
        return allowed

    def forget_session(self) -> None:
        """Forget the answers that were given for one session."""
        self._session.clear()

    async def _ask(self, request: ConsentRequest, ui: ExtensionUI) -> bool:
        question = request.describe()
        if full_text := request.whole():
            ui.write(full_text)
            head, source, *rest = question.split("\n")
            question = "\n".join((head, source, _LONG, *rest))
        answer = await ui.select(question, [ALLOW, ALLOW_ONCE, DENY])
        if answer in (ALLOW.label, DENY.label):
            try:
                self._store.decide(request, allowed=answer == ALLOW.label)
            except PiError as error:  # not stored, so the answer holds for this session only
                self._session[request.digest] = answer == ALLOW.label
                warn_of_file(error, self._warn)
            return answer == ALLOW.label
        self._session[request.digest] = answer == ALLOW_ONCE.label
        return answer == ALLOW_ONCE.label
