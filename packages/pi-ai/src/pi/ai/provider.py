"""Provider rows: id, endpoints, authentication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pi.base.records import Record

if TYPE_CHECKING:
    pass


Cloud: TypeAlias = Literal["anthropic", "aws", "google"]
"""A service whose credentials can be set up on the machine, without a key for pi."""


class Provider(Record):
    """One row of the provider table; adding an OpenAI-compatible provider is one such row."""

    id: str
    name: str
    base_url: str = ""
    """The base URL of its models, unless a model overrides it. ``{NAME}`` is replaced from the
    provider's variables, e.g. an account id."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold an API key; the first that is set wins."""
    token_variables: tuple[str, ...] = ()
    """Environment variables that may hold a bearer token; they take precedence over keys."""
    secrets: tuple[str, ...] = ()
    """Further keys and headers in value syntax, e.g. from an extension."""
    needed_variables: tuple[str, ...] = ()
    """Further variables that requests need, such as an account id."""
    ambient: Cloud | None = None
    """The cloud whose credential chain is used if there is neither key nor login."""
    login: object = None
    """Name of the login module below ``pi.ai.auth.logins``, or a ``Login``."""
    needs_key: bool = True
    """False for servers on this machine, which usually accept any key."""
    default_model: str = ""
    catalog: str = ""
    """The provider whose bundled models it serves, where it has none of its own."""
    lists_models: bool = False
    """Whether its models are fetched from the server."""
    is_fallback: bool = False
    """Whether its models are listed only if no other provider is available: they ship with pi."""
