"""``pi auth``: checks, prints, stores and removes credentials."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Mapping

from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.cli.arguments import Arguments, UsageError
from pi.cli.credentials import Check, Credentials, MissingTarget
from pi.cli.standard_streams import print_error, print_json
from pi.cli.subcommand_rows import find_command

EXIT_CODES = {"ready": 0, "not_ready": 1, "invalid": 2}
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class WrongCredentialKind(PiError):
    """The credentials cannot be printed in this form."""


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run ``pi auth`` and return the exit code."""
    action, *rest = arguments.messages or ("",)
    do = ACTIONS.get(action)
    if do is None or len(rest) > 1:
        raise _not_understood(action if do is None else " ".join(arguments.messages))
    return asyncio.run(_with_credentials(do, arguments, rest[0] if rest else None, environ))


async def _with_credentials(
    do: Action, arguments: Arguments, named: str | None, environ: Mapping[str, str]
) -> int:
    credentials = Credentials.of(environ, report=print_error)
    await credentials.import_older()
    try:
        return await do(arguments, named, credentials)
    finally:
        await credentials.models.close()


# One function for each action ---------------------------------------------------------------------


async def _check(arguments: Arguments, named: str | None, credentials: Credentials) -> int:
    try:
        provider = credentials.target(arguments.text("provider") or named, arguments.text("model"))
    except MissingTarget as error:
        print_error(f"Error: {error.message}\n{error.hint}")
        return EXIT_CODES["invalid"]
    check, why = await credentials.check(
        provider,
        refresh="no_refresh" not in arguments.options,
        show_source="credentials" in arguments.options,
    )
    if "json" in arguments.options:
        print_json(check)
    else:
        sys.stdout.write(f"{check.status}\n")
        if note := _note(check, why):
            print_error(note)
    return EXIT_CODES[check.status]


async def _print_api_key(arguments: Arguments, named: str | None, credentials: Credentials) -> int:
    return await _print_secret(arguments, named, credentials, kind="api_key")


async def _print_bearer_token(
    arguments: Arguments, named: str | None, credentials: Credentials
) -> int:
    return await _print_secret(arguments, named, credentials, kind="oauth")


async def _print_secret(
    arguments: Arguments, named: str | None, credentials: Credentials, *, kind: str
) -> int:
    provider = credentials.target(arguments.text("provider") or named, arguments.text("model"))
    expiry = seconds(arguments.text("min_expiry") or "0s")
    access = (await credentials.resolved(provider, min_expiry=expiry)).access
    if access.kind != kind or not access.api_key:
        expected, other = (
            ("an API key", "print-bearer-token")
            if kind == "api_key"
            else ("a bearer token", "print-api-key")
        )
        raise WrongCredentialKind(
            f"The credentials of {provider} are not {expected}.",
            hint=f"Try `pi auth {other}`." if access.api_key else "",
        )
    sys.stdout.write(f"{access.api_key}\n")
    return 0


async def _login(arguments: Arguments, named: str | None, credentials: Credentials) -> int:
    from pi.cli.terminal_login import login  # deferred: only the interactive login needs it

    provider_name = arguments.text("provider") or named
    await login(
        provider_name, credentials, with_key=bool({"key", "api_key"} & {*arguments.options})
    )
    return 0


async def _logout(arguments: Arguments, named: str | None, credentials: Credentials) -> int:
    provider = arguments.text("provider") or named
    if provider is None:
        raise UsageError(
            "No provider given.",
            hint="Run `pi logout <provider>`; `pi doctor` lists the stored ones.",
        )
    if await credentials.storage.remove(provider):
        sys.stdout.write(f"Removed {provider} from {credentials.storage.where}\n")
    else:
        sys.stdout.write(f"No stored credentials for {provider} in {credentials.storage.where}\n")
    return 0


Action = Callable[[Arguments, str | None, Credentials], Awaitable[int]]

ACTIONS: dict[str, Action] = {
    "check": _check,
    "print-api-key": _print_api_key,
    "print-bearer-token": _print_bearer_token,
    "login": _login,
    "logout": _logout,
}


# --------------------------------------------------------------------------------------------------


def seconds(text: str) -> float:
    """Parse a duration such as ``30s`` or ``5m``. Raises ``UsageError`` if it is invalid."""
    match = re.fullmatch(r"(\d+)(ms|s|m|h)", text)
    if match is None:
        raise UsageError(
            f'Invalid --min-expiry "{text}".', hint="Use a number with ms, s, m or h, e.g. 5m."
        )
    return int(match[1]) * UNITS[match[2]]


def _note(check: Check, why: str) -> str:
    """Return a note for the user besides the status."""
    source = check.credentials.source if check.credentials else ""
    return why or (f"from {source}" if source else "")


def _not_understood(action: str) -> UsageError:
    command = find_command("auth")
    assert command is not None
    hint = "; ".join(f"pi {form.usage}" for form in command.forms)
    if action and (like := nearest(action, command.actions)):
        hint = f"Did you mean `pi auth {like}`?"
    return UsageError(f"Unknown command: auth {action}".rstrip(), hint=hint)
