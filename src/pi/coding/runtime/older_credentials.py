"""Credentials where older versions kept them: taken over into the store, once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pi.ai.auth.credentials import ApiKeyCredential, Credential, decode
from pi.ai.auth.storage import AuthStorage
from pi.ai.auth.values import escape
from pi.base.errors import PiError
from pi.base.files import FileProblem, read_if_exists
from pi.coding.runtime.host import Host
from pi.coding.settings.settings import Settings

LOGINS = "oauth.json"
KEYS = "apiKeys"
"""A setting."""


async def take_over(host: Host, settings: Settings, storage: AuthStorage) -> None:
    """Move old logins and keys into ``storage``; what it holds already is newer and stays.

    What cannot be moved is reported and left where it is.
    """
    logins, keys = host.agent_dir / LOGINS, settings.layer("user", (KEYS,))
    if keys is None and not logins.is_file():
        return
    try:
        found = _keys(keys) | _logins(logins)
        known = await storage.list()
        for provider, credential in found.items():
            if provider not in known:
                await storage.set(provider, credential)
        _put_away(logins, settings)
    except PiError as problem:
        host.report(f"Warning: older credentials were not taken over: {problem.message}")
    else:
        host.report(f"Credentials for {', '.join(sorted(found))} are now in {storage.where}.")


def _keys(raw: object) -> dict[str, Credential]:
    keys = raw if isinstance(raw, dict) else {}
    return {
        provider: ApiKeyCredential(key=escape(key))
        for provider, key in keys.items()
        if isinstance(key, str) and key
    }


def _logins(path: Path) -> dict[str, Credential]:
    try:
        raw = msgspec.json.decode(read_if_exists(path) or b"{}", type=dict[str, dict[str, object]])
        return {provider: decode({**login, "type": "oauth"}) for provider, login in raw.items()}
    except ValueError as problem:  # also of msgspec, and of text that is not UTF-8
        raise FileProblem(f"{path} cannot be read: {problem}") from problem


def _put_away(logins: Path, settings: Settings) -> None:
    """Leave nothing that would be taken over again."""
    if logins.is_file():
        try:
            logins.replace(logins.with_name(f"{LOGINS}.migrated"))
        except OSError as problem:
            raise FileProblem(f"Cannot rename {logins}: {problem.strerror}") from problem
    if settings.layer("user", (KEYS,)) is not None:
        settings.set({KEYS: None})
