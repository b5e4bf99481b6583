"""Connects secrets to a session: settings, files, every model call, redaction, ``/secrets``."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from pi.batteries.secrets.answers import RestoreRules, Restoring
from pi.batteries.secrets.requests import NOT_RESTORED, Masking
from pi.batteries.secrets.sources import (
    Entry,
    SecretsFile,
    from_environment,
    merged,
    parse_file,
)
from pi.batteries.secrets.vault import Vault
from pi.extension import (
    BadResource,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    ModelRequest,
    PiError,
    ProviderError,
    SessionStartEvent,
    StreamEvent,
    Where,
    replace,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("secrets.enabled", bool, False, "keep secrets from providers"),
    ("secrets.shapes", bool, True, "also hide what looks like a key"),
    ("secrets.restoreInto", tuple[str, ...], (), "tools that get values although they leave pi"),
)
CORRECT = "Correct the file and use /reload, or switch secrets.enabled off."
KIND = "secrets"
FILE = "secrets.yml"
SHORTEST_CREDENTIAL = 6
"""Minimal length of pi's own credentials to be hidden; the same limit as for exports."""


def extension(pi: ExtensionAPI) -> None:
    """Register the model wrap, the redactor and ``/secrets``; files are read at session start."""
    pi.settings.declare_all(SETTINGS)
    session = SessionSecrets(pi)
    pi.context.resources.add_kind(KIND, _parsed, lambda file: file.path)
    pi.context.resources.add_source(KIND, _find)
    pi.on("session_start", session.start, at="first")
    # Last: closest to the provider, so that additions of other extensions are masked, too.
    pi.wrap_model(session.wrap, at="last")
    pi.add_redactor(session.redact)
    pi.register_command("secrets", session.command, description="show which secrets are hidden")


class _BrokenFile(SecretsFile):
    """A file that cannot be parsed. Requests are refused, as its secrets are unknown."""

    problem: str


def _parsed(text: str, path: Path) -> SecretsFile:
    try:
        return parse_file(text, path)
    except BadResource as error:
        return _BrokenFile(path=str(path), problem=error.message)


def _find(locations: Where) -> Iterator[Path]:
    yield locations.agent_dir / FILE
    yield locations.cwd / ".pi" / FILE


class SessionSecrets:
    """The secrets of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._vault: Vault | None = None
        self._masking: Masking | None = None
        self._user: tuple[Entry, ...] = ()
        self._project: tuple[Entry, ...] = ()
        self._problem = ""
        self._seen: tuple[object, ...] = ()
        """The environment and the credentials for which the vault was updated."""

    @property
    def _is_on(self) -> bool:
        return self._pi.settings.get("secrets.enabled") is True

    async def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the files and the key of the placeholders, if secrets are hidden."""
        if self._is_on:
            await self._load(ctx)

    async def _load(self, ctx: ExtensionContext) -> Vault:
        store = self._pi.store("global")
        if not store.get("key"):
            await store.set("key", secrets.token_hex(32))
        key = bytes.fromhex(store.get("key"))
        shapes = self._pi.settings.get("secrets.shapes")
        self._vault = Vault(key, shapes=shapes, re2=_load_re2())
        self._masking = Masking(self._vault)
        self._read_files(ctx)
        self._update(self._vault)
        if self._problem:
            self._pi.warn(self._problem)
        return self._vault

    def _read_files(self, ctx: ExtensionContext) -> None:
        files = ctx.resources.load(KIND)
        broken = [file.value for file in files if isinstance(file.value, _BrokenFile)]
        self._problem = " ".join(f"Cannot use {file.path}: {file.problem}" for file in broken)

        def of(scope: str) -> tuple[Entry, ...]:
            return tuple(
                replace(entry, source=f"{scope} {FILE}, entry {number}")
                for file in files
                if file.scope == scope
                for number, entry in enumerate(file.value.entries, 1)
            )

        self._user, self._project = of("user"), of("project")

    def _update(self, vault: Vault) -> None:
        """Update the vault if credentials or variables have changed, e.g. by a login."""
        environ, credentials = self._pi.context.environ, self._pi.auth.secrets()
        seen = (frozenset(environ.items()), credentials)
        if seen == self._seen:
            return
        self._seen = seen
        own = (
            Entry(content=value, source="credentials of pi")
            for value in credentials
            if len(value) >= SHORTEST_CREDENTIAL
        )
        entries = (*own, *from_environment(environ))
        vault.update(merged(entries, self._user, self._project))

    # Model calls ----------------------------------------------------------------------------------

    async def wrap(
        self, request: ModelRequest, ask: Callable[[ModelRequest], AsyncIterator[StreamEvent]]
    ) -> AsyncIterator[StreamEvent]:
        """Mask the request, and restore the tool calls of the answer.

        Raises ``ProviderError`` if secrets cannot be hidden.
        """
        if not self._is_on:
            async for event in ask(request):
                yield event
            return
        vault, masking = self._require()
        self._update(vault)
        rules = RestoreRules(into=self._pi.settings.get("secrets.restoreInto"))
        answer = ask(masking.request(request))
        async for event in Restoring(vault, rules).events(answer):
            yield event

    def _require(self) -> tuple[Vault, Masking]:
        if self._vault is None or self._masking is None or self._problem:
            reason = self._problem or "The key of the placeholders could not be read."
            raise ProviderError(
                f"The request was not sent, because secrets cannot be hidden. {reason}",
                hint=CORRECT,
            )
        return self._vault, self._masking

    def redact(self, text: str, sink: str) -> str:
        """Return ``text`` without secrets, for the log, an export, a share or a guest.

        Raises ``PiError`` if a ``secrets.yml`` cannot be used, except for the log: its lines are
        needed to find the reason.
        """
        if self._problem and sink != "log":
            raise PiError(f"Secrets cannot be hidden. {self._problem}", hint=CORRECT)
        return text if self._vault is None else self._vault.redact(text)

    # ``/secrets`` ---------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show which secrets are hidden, without their values."""
        if arguments:
            raise PiError(
                "/secrets takes no arguments.", hint="secrets.enabled in /settings switches it."
            )
        vault = self._vault or await self._load(ctx)
        self._update(vault)
        ctx.write("\n".join(self._report(vault)) + "\n")

    def _report(self, vault: Vault) -> Iterator[str]:
        if not self._is_on:
            yield "Secrets are sent as they are: set secrets.enabled to hide them."
        if self._problem:
            yield f"{self._problem} Requests are refused."
        yield f"Hidden from providers: {len(vault.entries)} secrets"
        counted = Counter(
            (entry.source, "pattern" if entry.is_pattern else "value", entry.mode)
            for entry in vault.entries
        )
        for (source, kind, mode), count in sorted(counted.items()):
            many = f" ({count} values)" if count > 1 else ""
            yield f"  {source}: {kind}, {mode}{many}"
        shapes = self._pi.settings.get("secrets.shapes")
        yield f"Texts that look like a key: {'hidden' if shapes else 'sent'}"
        into = ", ".join(self._pi.settings.get("secrets.restoreInto")) or "none"
        yield f"Restored in tool calls, but not in {', '.join(NOT_RESTORED)} and addresses"
        yield f"  except (secrets.restoreInto): {into}"
        yield f"Placeholders sent so far: {vault.issued_count}"
        if not self._pi.context.is_project_trusted():
            yield f"The project is not trusted: its .pi/{FILE} is not read. See /trust."


def _load_re2() -> Any:
    """RE2, which searches for all values at once; ``None`` without it: ``re`` is slower."""
    try:
        import re2  # deferred: 3 ms, and the extra may be missing
    except ImportError:
        return None
    return re2
