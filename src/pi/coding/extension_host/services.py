"""What the program does for extensions: settings, credentials, models, the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.auth.values import expand
from pi.ai.messages import AssistantMessage, Context, Message, UserMessage, blocks
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.scope import Scope
from pi.coding.settings.layers import value_at

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.http.response import HttpResponse

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
        raw = value_at(self._link.session.settings.raw, key.split("."))
        if raw is None:
            return default
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            return default

    def on_change(self, listener: Callable[[], None]) -> Registration:
        """Have ``listener`` called after every change of any setting."""
        active = self._scope.keep(Registration(lambda: None))
        self._link.session.settings.on_change(lambda: listener() if active.active else None)
        return active

    @property
    def declared(self) -> Mapping[str, tuple[Any, Any, str]]:
        """What was declared: kind, default and help by key."""
        return self._declared


class ExtensionAuth:
    """Keys of services that are no model providers: from the store, then the environment."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def get(self, name: str, env: Sequence[str] = ()) -> str | None:
        """The key stored under ``name``, or the first of these variables that is set."""
        session = self._link.session
        stored = await session.credentials.get(name)
        if isinstance(stored, ApiKeyCredential) and stored.key:
            return await expand(stored.key, environ=session.environ, cwd=session.cwd)
        return next((session.environ[one] for one in env if session.environ.get(one)), None)

    async def set(self, name: str, key: str) -> None:
        """Store a key."""
        await self._link.session.credentials.set(name, ApiKeyCredential(key=key))


class ExtensionModels:
    """Models, asked beside the conversation. Every wrap of the session stands around it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def resolve(self, name: str) -> Model | None:
        """The model that a person means by ``name``."""
        choice = self._link.session.registry.resolve(name)
        return None if choice is None else choice.model

    def available(self) -> tuple[Model, ...]:
        """Every model that could be asked."""
        return self._link.session.registry.get_available()

    def ask(
        self,
        messages: str | Sequence[Message],
        *,
        model: Model | str | None = None,
        system: str = "",
        options: StreamOptions | None = None,
    ) -> EventStream:
        """Ask, and iterate over the answer; the session's own model if no other is named."""
        session = self._link.session
        asked = self.resolve(model) if isinstance(model, str) else model or session.model
        if asked is None:
            raise ExtensionError(f"There is no model to ask: {model or 'none is chosen'}.")
        said: Sequence[Message] = (
            (UserMessage(content=blocks(messages), timestamp=session.clock.now_ms()),)
            if isinstance(messages, str)
            else messages
        )
        context = Context(messages=tuple(said))
        if system:
            context = Context(system_prompt=system, messages=tuple(said))
        return session.ask(asked, context, options or StreamOptions())

    async def complete(self, messages: str | Sequence[Message], **how: Any) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.ask(messages, **how).result()


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
        # Here, not above: no HTTP client before the first request.
        from pi.ai.http.request import HttpRequest

        wanted = HttpRequest(
            method=method, url=url, headers=tuple((headers or {}).items()), body=body
        )
        return await self._link.session.http().request(wanted)
