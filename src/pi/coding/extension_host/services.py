"""What the program does for extensions: settings, the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pi.coding.extension_host.link import Link
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.scope import Scope
from pi.coding.settings.layers import value_at

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.http.request import HttpRequest
    from pi.ai.http.response import HttpResponse, ResponseStream

T = TypeVar("T")


class ExtensionSettings:
    """Settings that an extension has, below a name of its own in ``settings.json``."""

    def __init__(self, link: Link, scope: Scope) -> None:
        self._link = link
        self._scope = scope
        self._declared: dict[str, tuple[Any, Any, str]] = {}

    def declare(self, key: str, kind: type[T], default: T, help: str = "") -> None:
        """Say that there is a setting ``key``, dotted as in the file."""
        self._declared[key] = (kind, default, help)

    def get(self, key: str) -> Any:
        """Its value; the default if it is not there, or of another kind than declared."""
        kind, default, _ = self._declared.get(key, (Any, None, ""))
        raw = value_at(self._link.session.place.settings.raw, key.split("."))
        if raw is None:
            return default
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            return default

    def on_change(self, listener: Callable[[], None]) -> Registration:
        """Have ``listener`` called after every change of any setting."""
        settings = self._link.session.place.settings
        return self._scope.keep(Registration(settings.on_change(listener)))

    @property
    def declared(self) -> Mapping[str, tuple[Any, Any, str]]:
        """What was declared: kind, default and help by key."""
        return self._declared


class ExtensionHttp:
    """The network, through the program's own client: proxy, certificates, timeouts."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def request(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> HttpResponse:
        """A whole answer; ``HttpError`` if there is none."""
        wanted = _request(url, method, headers, body)
        return await self._link.session.place.http().request(wanted)

    def stream(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """``async with`` an answer as it arrives; iterating over it gives its bytes."""
        wanted = _request(url, method, headers, body)
        return self._link.session.place.http().stream(wanted)


def _request(url: str, method: str, headers: Mapping[str, str] | None, body: bytes) -> HttpRequest:
    # Here, not above: no HTTP client before the first request.
    from pi.ai.http.request import HttpRequest

    return HttpRequest(method=method, url=url, headers=tuple((headers or {}).items()), body=body)
