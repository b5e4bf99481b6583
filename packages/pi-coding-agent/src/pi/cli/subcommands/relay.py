"""``pi relay serve``: runs the relay of shared sessions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.base.files import expand_home
from pi.base.installation import install_hint
from pi.base.libraries import missing_requirements, use_library_folder
from pi.cli.arguments import Arguments, UsageError
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import print_error
from pi.coding.runtime.machine import Machine

if TYPE_CHECKING:
    from pi.relay.limits import Limits


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    if arguments.messages != ("serve",):
        raise UsageError(
            "`pi relay` needs the word serve", hint="Run `pi relay serve`, or `pi relay --help`."
        )
    use_library_folder(environ)
    cluster = arguments.text("cluster") or environ.get("RELAY_CLUSTER", "")
    _require_libraries(environ, cluster=bool(cluster))
    from pi.relay.bind import parse_bind  # lazy, like all of the relay: the rest of pi needs none
    from pi.relay.server import RelayOptions, serve

    store = arguments.text("store") or environ.get("RELAY_STORE", "")
    options = RelayOptions(
        bind=parse_bind(arguments.text("bind") or environ.get("RELAY_BIND", "")),
        limits=_limits(arguments),
        store=Path(expand_home(store)) if store else None,
        cluster=cluster,
        trust_proxy="trust_proxy" in arguments.options,
    )
    asyncio.run(serve(options, report=print_error, ready=_announce))
    return 0


def _require_libraries(environ: Mapping[str, str], *, cluster: bool) -> None:
    """Offer the libraries that the relay lacks. Raises ``PiError`` without them."""
    try:
        _import_relay(cluster=cluster)
    except ModuleNotFoundError as error:
        from pi.cli.libraries import offer_libraries

        missing = missing_requirements(*("relay", "cluster")[: 1 + cluster])
        machine = Machine.from_environ(environ, report=print_error)
        if not missing or not run_until_signal(offer_libraries(machine, missing, "the relay")):
            hint = install_hint("cluster" if cluster else "relay")
            raise PiError(f"The relay needs {error.name}, which is missing.", hint=hint) from error
        _import_relay(cluster=cluster)


def _import_relay(*, cluster: bool) -> None:
    import_module("pi.relay.server")
    if cluster:
        import_module("pi.relay.cluster")


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
