"""``pi extensions``: lists extensions, and switches them on and off in the user's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.terminal_text import sanitise
from pi.cli.arguments import Arguments, UsageError
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import print_error
from pi.coding.extension_host.discovery.finding import Candidate, ExtensionOptions
from pi.coding.extension_host.discovery.manifest import ActivationState
from pi.coding.extension_host.listing import extension_lines
from pi.coding.extension_host.loading.loader import describe
from pi.coding.extension_host.switches import (
    changes_to_switch,
    check_switchable,
    find_row,
    needs_no_switch,
    outcome,
    removed_value,
    row_of,
    sentence,
    switch_of,
)
from pi.coding.port.extensions import ExtensionRow
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.machine import Machine, settings_here
from pi.coding.settings.parsing import parse_value
from pi.coding.settings.settings import Settings

USAGE = "Use `pi extensions`, `pi extensions list|off NAME` or `pi extensions on NAME [VALUE]`."


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run ``pi extensions``."""
    catalog = _Catalog(Machine.from_environ(environ, report=print_error), Path.cwd())
    as_json = "json" in arguments.options
    if arguments.messages[:1] == ("on",) and len(arguments.messages) > 1:
        _offer_libraries(catalog, arguments.messages[1])
    match arguments.messages:
        case () | ("list", *_):
            rows = catalog.rows()
            if names := arguments.messages[1:]:
                rows = list({row.path: row for row in (find_row(rows, n) for n in names)}.values())
            _print(_json(rows) if as_json else "\n".join(extension_lines(rows)))
        case ("on", name, *value) if len(value) <= 1:
            _report(catalog, name, catalog.switch(name, on=True, value=value), as_json=as_json)
        case ("off", name):
            _report(catalog, name, catalog.switch(name, on=False), as_json=as_json)
        case (("on" | "off") as action,):
            raise UsageError(f"`pi extensions {action}` needs a name.", hint=USAGE)
        case _:
            raise UsageError(
                f"`pi extensions` does not take {arguments.messages[0]!r}.", hint=USAGE
            )
    return 0


def _offer_libraries(catalog: _Catalog, name: str) -> None:
    """Install the libraries that an extension needs, if the user agrees."""
    row = find_row(catalog.rows(), name)
    if row.state != "needs":
        return
    from pi.cli.libraries import offer_libraries  # lazy: imports the HTTP client

    if run_until_signal(offer_libraries(catalog.host, row.needs, row.name)):
        catalog.read_again()


class _Catalog:
    """The extensions that need no trust, and the settings that switch them."""

    def __init__(self, host: Machine, cwd: Path) -> None:
        self.host, self._cwd = host, cwd
        self.read_again()

    def read_again(self) -> None:
        """Read settings and extensions, also after libraries were installed."""
        host, cwd = self.host, self._cwd
        sources = ExtensionSources(host, ExtensionOptions())
        self._settings: Settings = settings_here(host, cwd)
        self._settings.recommend(sources.recommended)
        self._settings.on_warning(lambda text: print_error(f"Warning: {text}"))
        self._candidates: list[Candidate] = [*sources.own(cwd, self._settings)]

    def rows(self) -> list[ExtensionRow]:
        """Return every extension with its state in the next session of this folder."""
        state = ActivationState(
            cwd=self._cwd,
            home=self.host.home,
            agent_dir=self.host.agent_dir,
            environ=self.host.environ,
            settings=self._settings.raw,
        )
        rows = []
        for candidate in self._candidates:
            try:
                manifest = candidate.declared()
            except PiError:  # reported by the session that loads it
                continue
            rows.append(row_of(describe(candidate), manifest, self._settings, state))
        return rows

    def switch(self, name: str, *, on: bool, value: Sequence[str] = ()) -> str:
        """Store the setting of an extension; returns what is true now."""
        row = find_row(self.rows(), name)
        if on and row.state == "needs":
            raise PiError(sentence(row), hint=f"Install it: {row.install}")
        if on and needs_no_switch(row):
            return sentence(row)
        check_switchable(row)
        manifest = next(c.declared() for c in self._candidates if c.identifier == row.path)
        setting = switch_of(manifest)
        assert setting is not None, "a switchable extension has a setting"
        parsed_value = parse_value(setting, value[0]) if value else None
        changes = changes_to_switch(
            row, setting, self._settings.raw, on=on, keep=True, user_value=parsed_value
        )
        self._settings.set(changes)
        removed = removed_value(row, on=on)
        row = find_row(self.rows(), row.name)
        others = "the project's settings or a file"
        sentences = (
            outcome(row, on=on, decided_by=others),
            removed,
            "A session that is open follows with /reload.",
        )
        return " ".join(filter(None, sentences))


def _report(catalog: _Catalog, name: str, message: str, *, as_json: bool) -> None:
    if as_json:
        row = find_row(catalog.rows(), name)
        _print(_json({"message": message, "extension": row}))
    else:
        _print(message)


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _print(text: str) -> None:
    # The list goes to pipes as well, whose reader may stop early.
    try:
        sys.stdout.write(f"{sanitise(text)}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
