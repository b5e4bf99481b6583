"""``pi relay serve``: runs the relay of shared sessions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.base.installation import install_hint
from pi.base.libraries import use_library_folder
from pi.cli.arguments import Arguments, UsageError
from pi.cli.process import print_error

if TYPE_CHECKING:
    from pi.relay.limits import Limits


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    if arguments.messages != ("serve",):
        raise UsageError(
            "`pi relay` needs the word serve", hint="Run `pi relay serve`, or `pi relay --help`."
        )
    use_library_folder(environ)
    from pi.relay.bind import parse_bind  # lazy, like all of the relay: the rest of pi needs none

    try:
        from pi.relay.server import RelayOptions, serve
    except ModuleNotFoundError as error:
        raise PiError(
            f"The relay needs {error.name}, which is not installed.",
            hint=install_hint("relay"),
        ) from error
    store = arguments.text("store") or environ.get("RELAY_STORE", "")
    options = RelayOptions(
        bind=parse_bind(arguments.text("bind") or environ.get("RELAY_BIND", "")),
        limits=_limits(arguments),
        store=Path(expand_home(store)) if store else None,
        cluster=arguments.text("cluster") or environ.get("RELAY_CLUSTER", ""),
        trust_proxy="trust_proxy" in arguments.options,
    )
    try:
        asyncio.run(serve(options, report=print_error, ready=_announce))
    except ModuleNotFoundError as error:
        raise PiError(
            f"--cluster needs {error.name}, which is not installed.",
            hint=install_hint("cluster"),
        ) from error
    return 0


def _announce(address: str) -> None:
    sys.stdout.write(f"The relay listens on {address}\n")
    sys.stdout.flush()


def _limits(arguments: Arguments) -> Limits:
    from pi.relay.limits import Limits

    limits: dict[str, int] = {}
    for option, field in (
        ("max_rooms", "rooms"),
        ("max_guests", "guests_per_room"),
        ("max_connections", "connections_per_address"),
    ):
        if (text := arguments.text(option)) is not None:
            if not text.isdecimal() or int(text) < 1:
                raise UsageError(f"--{option.replace('_', '-')} needs a positive number")
            limits[field] = int(text)
    if "connections_per_address" in limits:
        limits["joins_per_minute"] = max(240, limits["connections_per_address"])
        limits["rooms_per_address"] = max(64, limits["connections_per_address"])
    return Limits(**limits)
