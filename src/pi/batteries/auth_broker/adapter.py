"""Connects the broker to a session: settings, the source, ``pi doctor`` and ``/auth-broker``."""

from __future__ import annotations

from typing import Any

from pi.batteries.auth_broker.commands import WORDS, BrokerCommands
from pi.batteries.auth_broker.configuration import BrokerConfig, broker_config
from pi.extension import AuthUnavailable, ExtensionAPI, ExtensionError, PiError

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("auth.broker.url", str, "", "address of the auth broker; PI_AUTH_BROKER_URL comes first"),
    ("auth.broker.token", str, "", "token for it, or $NAME of a variable"),
)


async def extension(pi: ExtensionAPI) -> None:
    """Register the commands and, if a broker is configured, the source of credentials."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    try:
        environ = pi.context.environ
    except ExtensionError:
        return  # a packed copy without manifests loads it before the project; no trigger occurred
    folder = pi.data_directory()
    config: BrokerConfig | None = None
    problem: PiError | None = None
    try:
        # A project's file never counts: it could send the token elsewhere.
        config = broker_config(
            environ, lambda key: pi.settings.get(key, with_project=False), folder
        )
    except PiError as error:
        problem = error
        _refuse_all(pi, error)
    commands = BrokerCommands(pi, folder, config, problem)
    pi.register_command(
        "auth-broker",
        commands.run,
        description="logins of several machines in one place",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    pi.add_doctor_check("auth broker", commands.doctor)
    if config is not None:
        # Deferred import: the commands of the broker's own machine need no client.
        from pi.batteries.auth_broker.client import BrokerClient
        from pi.batteries.auth_broker.source import BrokerSource

        source = BrokerSource(pi, config, BrokerClient(pi.http, config))
        await source.open()
        if source.problem is not None and source.snapshot is None:
            pi.warn(source.problem.explain())
        commands.source = source


def _refuse_all(pi: ExtensionAPI, problem: PiError) -> None:
    """A configured broker that cannot be used is an error, never a reason for another key."""
    pi.warn(problem.explain())

    def find(name: str) -> None:
        if ":" not in name:  # credentials of MCP servers and other services are not the broker's
            raise AuthUnavailable(problem.message, hint=problem.hint)

    pi.auth.add_source(find, at="first")
