"""Registers ``pi auth-gateway``."""

from __future__ import annotations

from pi.batteries.auth_gateway.commands import WORDS, GatewayCommands
from pi.extension import ExtensionAPI


def extension(pi: ExtensionAPI) -> None:
    """Register the command; nothing else happens until it is used."""
    pi.register_command(
        "auth-gateway",
        GatewayCommands(pi).run,
        description="models of pi for other programs",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
