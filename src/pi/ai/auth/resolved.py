"""A credential that was found, and what to tell the person about it."""

from __future__ import annotations

from collections.abc import Mapping

from pi.ai.providers.provider import Provider
from pi.ai.request import Access
from pi.base.records import Record

MODELS_JSON = "models.json"


class Resolved(Record):
    """What a request takes along, and where that comes from."""

    access: Access
    source: str
    """``--api-key``, the path of the store, ``models.json``, a variable or a cloud."""
    subscription: bool = False
    """Whether a plan pays, not the single request."""
    unused: tuple[str, ...] = ()
    """Sources of other credentials that are there and stay unused."""

    def who_pays(self) -> str:
        """A sentence for the person."""
        if self.access.kind == "none":
            return "No key is needed."
        if self.subscription:
            payer = "the subscription you are logged in to"
        elif self.access.kind == "ambient":
            payer = f"your {self.source}"
        else:
            payer = f"the key from {self.source}"
        others = f" Not used: {', '.join(self.unused)}." if self.unused else ""
        return f"Requests are paid through {payer}.{others}"


class MissingCredentials(Record):
    """Why requests to a provider have no credentials."""

    problem: str = ""
    """What is wrong with those that were configured; empty when there are none at all."""
    advice: str = ""

    def explain(self) -> str:
        """Both as one text."""
        return f"{self.problem} {self.advice}".strip()


def unused_sources(
    provider: Provider, environ: Mapping[str, str], configured_key: str | None
) -> tuple[str, ...]:
    """Where further credentials are, which a login makes superfluous."""
    names = (*provider.token_variables, *provider.key_variables)
    found = tuple(name for name in names if environ.get(name))
    return (MODELS_JSON, *found) if configured_key else found
