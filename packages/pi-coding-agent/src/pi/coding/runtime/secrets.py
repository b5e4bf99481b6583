"""``KnownSecrets``: the one list of secrets for child processes, exports and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING

from pi.ai.auth.config_values import used_secrets
from pi.ai.auth.errors import StoreDamaged
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.coding.runtime.machine import Machine
from pi.coding.settings.files import SettingsFile

if TYPE_CHECKING:  # deferred: a start needs no secrets
    from pi.ai.auth.secrets import Secrets


class KnownSecrets:
    """Variables and values that must not reach a command, an export or a log.

    ``models.json`` and ``auth.json`` are read again for each call, because both change while a
    session runs. Old values remain secret: a replaced key may still be in the conversation.
    """

    def __init__(
        self,
        machine: Machine,
        storage: AuthStorage,
        *,
        environ: Callable[[], Mapping[str, str]] | None = None,
        rows: Callable[[], Iterable[Provider]] = tuple,
        clients: Callable[[], Mapping[str, Json]] = dict,
        variables: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._folder = machine.agent_dir
        self._storage = storage
        self._environ = environ or (lambda: machine.environ)
        self._rows = rows
        self._clients = clients
        self._variables = variables
        self._found: Secrets | None = None
        self._values: dict[str, None] = {}
        self._models: bytes | None = None
        self._logins: Json | None = None
        self._lock = RLock()  # log records come from any thread, even during a call
        self._unparsed_models: list[str] = []
        self._unparsed_logins: list[Json] = []
        self._damaged_logins: list[str] = []
        # Read now, because a key may be replaced before the first call. Parsed with the first call,
        # which is usually after the first model request.
        self._read_files()

    @classmethod
    def of(cls, machine: Machine) -> KnownSecrets:
        """Return the secrets that are known without a session."""
        # deferred: a session has the manifests of its extensions already
        from pi.coding.extension_host.discovery.entry_points import installed

        settings = SettingsFile(machine.agent_dir / "settings.json", clock=machine.clock)
        manifests = [
            entry_point.manifest
            for entry_point in installed(machine.agent_dir)
            if entry_point.manifest
        ]
        names = frozenset(name for manifest in manifests for name in manifest.secrets)
        return cls(
            machine,
            AuthStorage(machine.agent_dir / "auth.json"),
            clients=lambda: _clients_in(settings),
            variables=lambda: names,
        )

    def names(self) -> frozenset[str]:
        """Return the names of variables that hold a secret."""
        with self._lock:
            return self._collect().names

    def names_and_values(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the names of variables that hold a secret, and the secret values."""
        with self._lock:
            collected = self._collect()
            values = (*collected.values(self._environ()), *used_secrets())
            self._values |= dict.fromkeys(values)
            return collected.names, tuple(self._values)

    def values(self) -> tuple[str, ...]:
        """Return the secret values; no command is run for them.

        The output of a ``!command`` key is included once this process has run the command.
        """
        return self.names_and_values()[1]

    def _collect(self) -> Secrets:
        from pi.ai.auth import secrets

        self._read_files()
        collected = secrets.collected(
            rows=self._rows(),
            clients=self._clients(),
            models=self._unparsed_models,
            logins=self._unparsed_logins,
            damaged=self._damaged_logins,
        )
        for unparsed in (self._unparsed_models, self._unparsed_logins, self._damaged_logins):
            unparsed.clear()
        earlier = self._found or secrets.of_tables()
        self._found = secrets.Secrets(
            names=earlier.names | collected.names | self._variables(),
            texts=earlier.texts | collected.texts,
        )
        return self._found

    def _read_files(self) -> None:
        # Errors are ignored: keys of an unreadable file have not been used and cannot leak.
        with suppress(PiError):
            content = read_if_exists(self._folder / "models.json")
            if content is not None and content != self._models:
                self._models = content
                self._unparsed_models.append(content.decode("utf-8", "replace"))
        with suppress(PiError):
            try:
                entries = self._storage.entries()
                if entries != self._logins:
                    self._logins = entries
                    self._unparsed_logins.append(entries)
            except StoreDamaged:
                content = read_if_exists(self._folder / "auth.json") or b""
                self._damaged_logins.append(content.decode("utf-8", "replace"))


def _clients_in(settings: SettingsFile) -> Mapping[str, Json]:
    """Return the setting ``oauthClients``, even if other settings are invalid."""
    clients = settings.read_or_skip().get("oauthClients")
    return clients if isinstance(clients, dict) else {}
