"""The footer of the last start, shown while the session opens.

The model of a session is known only after 200 modules are loaded, but it is nearly always that of
the last start. The footer is stored with everything that the choice of the model depends on, and
shown in the first frame if nothing of that has changed. The open session replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_regular, replace_file
from pi.base.records import UNREADABLE, Record, replace
from pi.modes.interactive.status.footer import FooterFacts

FILE = "last-footers.json"
MAX_STORED = 20
"""Footers to remember; the oldest is dropped."""

_USER_FILES = ("settings.json", "models.json", "auth.json", "trust.json")
_PROJECT_FILES = (".pi/settings.json", ".pi/extensions", ".env")
"""Files that decide about the model. Only their times are read: the project may not be trusted."""
_VARIABLES = ("KEY", "TOKEN", "CREDENTIAL", "AWS_", "PI_")
"""Parts of the names of variables that configure providers."""


class LastFooter(Record):
    """A footer, and what it depends on."""

    key: tuple[str, ...]
    facts: FooterFacts


class LastFooters:
    """The footers of the last starts. Disk errors are ignored: it is a cache.

    ``options`` are the command-line options that select the model; ``None`` if the command line
    opens a stored session, which has its own model. Folders without files that decide about the
    model share a footer, so that a new folder has one, too.
    """

    def __init__(
        self,
        agent_dir: Path,
        cwd: Path,
        environ: Mapping[str, str],
        options: Sequence[str] | None,
    ) -> None:
        self._file = agent_dir / FILE
        self._agent_dir = agent_dir
        self._cwd = cwd
        self._environ = environ
        self._options = options

    def find(self, folder: str) -> FooterFacts | None:
        """Return the facts of the last start, if the next one will have the same model.

        ``folder`` is shown as the current one.
        """
        if self._options is None:
            return None
        key = self._key(self._options)
        matches = (last.facts for last in self._read() if last.key == key)
        return next((replace(facts, cwd=folder) for facts in matches), None)

    def store(self, facts: FooterFacts) -> None:
        """Store the model of a new session; the facts of its conversation are left out."""
        if self._options is None or not facts.model:
            return
        model = FooterFacts(
            context_percent=0.0,
            context_window=facts.context_window,
            is_automatic=facts.is_automatic,
            provider=facts.provider,
            model=facts.model,
            level=facts.level,
        )
        last = LastFooter(key=self._key(self._options), facts=model)
        stored = self._read()
        if last in stored:
            return
        entries = [last, *(entry for entry in stored if entry.key != last.key)][:MAX_STORED]
        with suppress(OSError, PiError):
            replace_file(self._file, msgspec.json.encode(entries))

    def _read(self) -> list[LastFooter]:
        try:
            return msgspec.json.decode(read_regular(self._file), type=list[LastFooter])
        except (OSError, *UNREADABLE):
            return []

    def _key(self, options: Sequence[str]) -> tuple[str, ...]:
        names = (name for name in self._environ if any(part in name for part in _VARIABLES))
        files = [self._agent_dir / name for name in _USER_FILES]
        files += [self._cwd / name for name in _PROJECT_FILES]
        return (*options, *sorted(names), *map(_time, files))


def _time(path: Path) -> str:
    try:
        return f"{path} {path.stat().st_mtime_ns}"
    except OSError:
        return ""
