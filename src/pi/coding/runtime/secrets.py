"""The person's keys and tokens, so that they can be taken out of what is given away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pi.ai.auth.credentials import ApiKeyCredential, Credential, OAuthCredential
from pi.ai.auth.storage import AuthStorage
from pi.ai.auth.values import expand
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.runtime.host import Host
from pi.coding.runtime.own_models import own_models
from pi.coding.shell.environment import credential_variables

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")


async def known_secrets(host: Host, storage: AuthStorage) -> tuple[str, ...]:
    """What the environment, the credential store and ``models.json`` keep; runs no command.

    Of keys that a command prints, those are known that it has printed already.
    """
    variables = credential_variables()
    found = [value for name, value in host.environ.items() if name in variables]
    found += storage.commands.printed
    quiet = replace(host, report=lambda text: None)  # a session tells once what is wrong with it
    written = [provider.api_key or "" for provider in own_models(quiet).providers]
    for credential in await _stored(storage):
        match credential:
            case OAuthCredential(access=access, refresh=refresh):
                found += (access, refresh)
            case ApiKeyCredential():
                written += _written(credential)
    for text in written:
        if not text.startswith("!") and (value := await expand(text, environ=host.environ)):
            found.append(value)
    return tuple(value for value in found if value)


def _written(credential: ApiKeyCredential) -> Iterator[str]:
    """What of an entry is secret, in value syntax."""
    yield credential.key or ""
    yield from (value for name, value in credential.env.items() if _SECRET_NAME.search(name))


async def _stored(storage: AuthStorage) -> list[Credential]:
    try:
        return list((await storage.list()).values())
    except PiError:  # what cannot be read was not used for anything that is given away
        return []
