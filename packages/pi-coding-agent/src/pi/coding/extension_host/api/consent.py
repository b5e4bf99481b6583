"""``ctx.consent``: whether definitions of a project or of another agent may run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

from pi.base.records import replace
from pi.coding.consent import Consent, ConsentRequest
from pi.coding.extension_host.scope import SessionLink
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.port.ui import ExtensionUI
from pi.coding.trust import canonical


class ExtensionConsent:
    """Consent for one extension. All extensions and processes share one store and one dialog."""

    def __init__(
        self, link: SessionLink, ui: ExtensionUIProxy, consent: Consent, watchdog: Watchdog
    ) -> None:
        self._link = link
        self._ui = ui
        self._consent = consent
        self._watchdog = watchdog

    async def allowed(self, requests: Iterable[ConsentRequest]) -> list[ConsentRequest]:
        """The requests that may run; the user is asked about definitions without a decision.

        Without a user these are skipped, with one line on standard error. A request whose
        ``source`` is a file of the project belongs to the project, which must be trusted.
        """
        workspace = self._link.session.workspace
        project = canonical(workspace.cwd)
        # Set here, not by the caller: a project's definition must not pass as one of the user.
        marked = [_of_project(request, project) for request in requests]
        if not workspace.is_trusted:
            marked = [request for request in marked if not request.project]
        # Pauses the handler's time limit, also while it waits for the dialog of another handler.
        with self._watchdog.dialog():
            return await self._consent.allowed(marked, cast("ExtensionUI", self._ui))


def _of_project(request: ConsentRequest, project: str) -> ConsentRequest:
    """The request with its project set, if its file is in the project."""
    source = canonical(Path(project, request.source))
    return replace(request, project=project) if Path(source).is_relative_to(project) else request
