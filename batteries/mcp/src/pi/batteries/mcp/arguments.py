"""Arguments of ``/mcp`` and ``pi mcp``: definitions of servers from options. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.batteries.mcp.definitions import EXPOSURES
from pi.batteries.mcp.protocol import McpError
from pi.extension import Json, Record

USAGE = """\
Usage: /mcp list [--json]
/mcp add <name> [options] [--] <command> [arguments …]
/mcp add <name> [options] <https://address>, or --url <address>
Options of add: --env NAME=value …, --cwd <folder>; --header Name=value …,
  --bearer-token-env-var <name>, --transport http|sse, --oauth-client-id <id>,
  --oauth-client-secret <secret>, --oauth-callback-port <port>, --oauth-client-name <name>,
  --oauth-client-registration auto|cimd|dcr; --exposure direct|deferred|hidden|codemode,
  --description <text>; -l: the file of the project
/mcp remove <name> [-l]
/mcp login <name> [--timeout <seconds>], /mcp logout <name>
/mcp enable|disable|test|reauth|unauth|reconnect|resources|prompts|log <name>
/mcp reload, /mcp notifications on|off"""

_OAUTH = {
    "--oauth-client-id": "clientId",
    "--oauth-client-secret": "clientSecret",
    "--oauth-callback-port": "callbackPort",
    "--oauth-client-name": "clientName",
    "--oauth-client-registration": "clientRegistration",
}
_FIELDS = {
    "--cwd": "cwd",
    "--url": "url",
    "--transport": "type",
    "--exposure": "exposure",
    "--description": "description",
}
_PAIRS = {"--env": "env", "--header": "headers"}
_BEARER = "--bearer-token-env-var"
_OPTIONS = frozenset({*_OAUTH, *_FIELDS, *_PAIRS, _BEARER})
LOCAL = ("-l", "--local")
"""The options of ``/mcp`` for the file of the project."""
_ADDRESS = ("http://", "https://")


class Added(Record):
    """The server of ``/mcp add``."""

    definition: Json
    is_local: bool
    """Whether it belongs in the file of the project."""


def parse_added(tokens: Sequence[str]) -> Added:
    """Parse what follows the name: options, then a command with arguments or an address.

    Raises ``McpError``.
    """
    definition: Json = {}
    targets: list[str] = []
    is_local = False
    rest = [*tokens]
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if word == "--" or (targets and not targets[0].startswith(_ADDRESS)):
            targets += [*([] if word == "--" else [word]), *rest]
            break
        if word in LOCAL:
            is_local = True
        elif option in _OPTIONS:
            if not equals and not rest:
                raise McpError(f"{option} requires a value.", hint=USAGE)
            _set_option(definition, option, value if equals else rest.pop(0))
        elif word.startswith("--"):
            raise McpError(f"Unknown option of mcp add: {word}.", hint=USAGE)
        else:
            targets.append(word)
    return Added(definition=_with_target(definition, targets), is_local=is_local)


def _with_target(definition: Json, targets: list[str]) -> Json:
    """Return the definition with its command, or its address."""
    if targets and targets[0].startswith(_ADDRESS):
        definition["url"] = targets.pop(0)
    if targets and "url" in definition:
        raise McpError("A server has a command or an address, not both.", hint=USAGE)
    if targets:
        return {"command": targets[0], "args": targets[1:], **definition}
    if "url" not in definition:
        raise McpError("A command or an address is missing.", hint=USAGE)
    return definition


def _set_option(definition: Json, option: str, value: str) -> None:
    if option in _PAIRS:
        name, equals, text = value.partition("=")
        if not equals and ":" in value:
            name, _, text = value.partition(":")
        table: dict[str, Any] = definition.setdefault(_PAIRS[option], {})
        table[name.strip()] = text.strip()
    elif option == _BEARER:
        definition.setdefault("headers", {})["Authorization"] = f"Bearer ${{{value}}}"
    elif option in _OAUTH:
        is_port = option == "--oauth-callback-port"
        if is_port and not value.isdecimal():
            raise McpError(f"{option} is no number: {value}.")
        definition.setdefault("oauth", {})[_OAUTH[option]] = int(value) if is_port else value
    else:
        if option == "--exposure" and value not in EXPOSURES:
            raise McpError(f"Unknown exposure {value}.", hint=f"Known: {', '.join(EXPOSURES)}.")
        definition[_FIELDS[option]] = value


def without_flags(tokens: Sequence[str], *flags: str) -> tuple[list[str], bool]:
    """Return the words without these flags, and whether one of them was there."""
    rest = [word for word in tokens if word not in flags]
    return rest, len(rest) < len(tokens)


def with_timeout(tokens: Sequence[str], default: float) -> tuple[list[str], float]:
    """Return the words without ``--timeout`` and its value in seconds."""
    rest = [*tokens]
    if "--timeout" not in rest:
        return rest, default
    index = rest.index("--timeout")
    value = rest[index + 1] if index + 1 < len(rest) else ""
    if not value.isdecimal() or int(value) < 1:
        raise McpError("--timeout is no number of seconds.", hint=USAGE)
    del rest[index : index + 2]
    return rest, float(value)
