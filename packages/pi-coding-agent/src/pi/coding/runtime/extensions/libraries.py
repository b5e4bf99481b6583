"""Offers the libraries that a command lacks: names and sizes, the user's Yes, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pi.base.errors import PiError
from pi.base.libraries import missing_requirements, requirements_for_module
from pi.base.tasks import maybe_await
from pi.coding.extension_host.discovery.manifest import Manifest
from pi.coding.port.ui import ExtensionUI

STATUS = "libraries"


class LibraryOffer:
    """Runs a command of an extension again after the installation of what it could not import."""

    def __init__(
        self, ui: ExtensionUI | None, environ: Mapping[str, str], *, offline: bool
    ) -> None:
        self._ui = ui
        self._environ = environ
        self._offline = offline

    async def run(self, work: Callable[[], Any], manifest: Manifest | None) -> None:
        """Run ``work``; its error is raised if the user wants no installation."""
        offered: tuple[str, ...] = ()
        while True:
            try:
                await maybe_await(work())
            except PiError as error:
                missing = _missing_requirements(error, manifest)
                if self._ui is None or not missing or missing == offered:
                    raise
                offered = missing
                if not await self._install(self._ui, missing, manifest):
                    raise
            else:
                return

    async def _install(
        self, ui: ExtensionUI, missing: tuple[str, ...], manifest: Manifest | None
    ) -> bool:
        """Ask, and install; False if the user says no. Raises ``LibrariesNotInstalled``."""
        # Lazy: imports the HTTP client, and most commands lack nothing.
        from pi.coding.packages.libraries import install_planned, plan_libraries

        purpose = (manifest.name if manifest is not None else "") or "the command"
        try:
            ui.set_status(STATUS, f"Looking up the libraries of {purpose}…")
            plan = await plan_libraries(
                missing, self._environ, purpose=purpose, offline=self._offline
            )
            ui.set_status(STATUS, None)
            if not await ui.confirm(plan.title, plan.text):
                return False
            await install_planned(plan, self._environ, lambda text: ui.set_status(STATUS, text))
        finally:
            ui.set_status(STATUS, None)
        return True


def _missing_requirements(error: PiError, manifest: Manifest | None) -> tuple[str, ...]:
    """Return the requirements of pi whose absence an error is about."""
    cause = error.__cause__
    if not isinstance(cause, ModuleNotFoundError) or cause.name is None:
        return ()
    module = requirements_for_module(cause.name)
    extras = missing_requirements(*manifest.extras) if manifest is not None else ()
    return tuple(dict.fromkeys([*extras, *module])) if module else ()
