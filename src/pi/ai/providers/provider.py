"""A provider: who serves models, where, and what opens the door."""

from __future__ import annotations

from typing import Literal

from pi.base.records import Record


class Provider(Record):
    """One row of the provider table; adding an OpenAI-compatible provider is one such row."""

    id: str
    name: str
    base_url: str = ""
    """Where its models are served, unless a model says otherwise. ``{NAME}`` is filled in from
    the provider's variables, e.g. an account id."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold an API key; the first that is set wins."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold a bearer token; they are looked at before keys."""
    secrets: tuple[str, ...] = ()
    """Further keys and headers in value syntax, such as those that an extension has given."""
    needed_variables: tuple[str, ...] = ()
    """Further variables without which requests cannot be made, such as an account id."""
    ambient: Literal["aws", "google"] | None = None
    """The cloud whose own credential chain is asked when there is neither key nor login."""
    login: object = None
    """Name of the module below ``pi.ai.auth.logins`` that signs in a person, or a ``Login``."""
    needs_key: bool = True
    """False for servers on this machine, which usually take any key."""
    default_model: str = ""
    catalog: str = ""
    """The provider whose bundled models it serves, where it has none of its own."""
    lists_models: bool = False
    """Whether it alone knows its models, so that it is asked for them."""
    is_fallback: bool = False
    """Whether its models are listed only where nothing else can answer: they come with pi."""
