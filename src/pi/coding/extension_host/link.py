"""The connection of an extension to its session: there from the start to the end of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.extension_host.scope import Scope


class SessionLink:
    """Gives the session, or says why there is none."""

    def __init__(
        self, scope: Scope, session: Callable[[], HostedSession | None], cwd: Path
    ) -> None:
        self._scope = scope
        self._session = session
        self._cwd = cwd

    @property
    def name(self) -> str:
        """Whose connection it is."""
        return self._scope.name

    @property
    def run_scope(self) -> Scope:
        """What is started in it ends with the run that is under way."""
        return self.session.runs.scope(self._scope)

    @property
    def cwd(self) -> Path:
        """The directory of the session, or where pi was started as long as there is none."""
        if self._session() is None and not self._scope.closed:
            return self._cwd
        return self.session.place.cwd

    @property
    def session(self) -> HostedSession:
        """The session; ``StaleSession`` once another one has taken its place."""
        if self._scope.closed:
            raise StaleSession
        session = self._session()
        if session is None:
            raise ExtensionError(
                "There is no session yet: extensions are being loaded.",
                hint="Do this at session_start, or later.",
            )
        return session
