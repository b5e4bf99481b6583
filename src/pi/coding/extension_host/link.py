"""``SessionLink``: the connection of an extension to its session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.extension_host.scope import Scope


class SessionLink:
    """Returns the session, or raises if it does not exist yet or has ended."""

    def __init__(
        self, scope: Scope, session: Callable[[], HostedSession | None], cwd: Path
    ) -> None:
        self._scope = scope
        self._session = session
        self._cwd = cwd

    @property
    def name(self) -> str:
        """The name of the extension."""
        return self._scope.name

    @property
    def run_scope(self) -> Scope:
        """A scope that is closed with the current run."""
        return self.session.runs.scope(self._scope)

    @property
    def cwd(self) -> Path:
        """The directory of the session, or where pi was started while there is none."""
        if self._session() is None and not self._scope.closed:
            return self._cwd
        return self.session.place.cwd

    @property
    def session(self) -> HostedSession:
        """The session. Raises ``StaleSession`` once it was replaced."""
        self.require_open()
        session = self._session()
        if session is None:
            raise ExtensionError(
                "The session does not exist yet: extensions are still loading.",
                hint="Do this in a session_start handler, or later.",
            )
        return session

    def require_open(self) -> None:
        """Raise ``StaleSession`` if the session has ended; for calls that need no session."""
        if self._scope.closed:
            raise StaleSession
