"""Modules of other distributions of pi, which may not be installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from pi.base.errors import PiError


class NotInstalled(PiError, ImportError):
    """A distribution of pi that has a module is not installed; the hint names the command."""


def import_optional(module: str, distribution: str) -> ModuleType:
    """Import a module of another distribution; raises ``NotInstalled`` without it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but something that it imports does not
        from pi.base.installation import install_command  # deferred: it takes milliseconds

        raise NotInstalled(
            f"{module} is in the package {distribution}, which is not installed.",
            hint=f"Install it: {install_command([distribution])}",
        ) from error
