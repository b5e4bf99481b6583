"""Models, as one extension names and asks them beside the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pi.agent.policy import Request
from pi.ai.messages import AssistantMessage, Context, Message, UserMessage, blocks
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.records import replace
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.order import At
from pi.coding.extension_host.registration import Registration
from pi.coding.models.registry import Resolver

Asked: TypeAlias = str | Sequence[Message] | Request
"""A question: its words, its messages, or all of it, as ``ctx.next_request()`` gives it."""


class ExtensionModels:
    """Every wrap of the session stands around what is asked here."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._link = instance.link

    def resolve(self, name: str) -> Model | None:
        """The model that a person means by ``name``."""
        choice = self._link.session.models.registry.resolve(name)
        return None if choice is None else choice.model

    def add_resolver(self, resolver: Resolver, *, at: At = "normal") -> Registration:
        """Have ``resolver(name)`` say what names mean: a model, another name, or ``None``.

        The first that knows a name counts, also for ``--model``; then come the usual patterns.
        """
        return self._instance.add_row(self._instance.shelves.registries.resolvers, resolver, at)

    def available(self) -> tuple[Model, ...]:
        """Every model that could be asked."""
        return self._link.session.models.registry.get_available()

    def ask(
        self,
        question: Asked,
        *,
        model: Model | str | None = None,
        system: str = "",
        options: StreamOptions | None = None,
    ) -> EventStream:
        """Ask, and iterate over the answer; the session's own model if no other is named."""
        request = question if isinstance(question, Request) else None
        options = options or StreamOptions()
        if request is not None:
            options = replace(options, reasoning=request.thinking, tool_choice=request.tool_choice)
        context = Context(messages=self._messages(question))
        if system:
            context = replace(context, system_prompt=system)
        asked = self._asked(model, request)
        return self._link.session.models.ask(asked, context, options)

    async def complete(self, question: Asked, **how: Any) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.ask(question, **how).result()

    def _messages(self, question: Asked) -> tuple[Message, ...]:
        if isinstance(question, Request):
            return tuple(question.messages)
        if isinstance(question, str):
            now_ms = self._link.session.place.clock.now_ms()
            return (UserMessage(content=blocks(question), timestamp=now_ms),)
        return tuple(question)

    def _asked(self, model: Model | str | None, request: Request | None) -> Model:
        """Who is meant: whoever is named, else whoever the request is for."""
        if model is None:
            found = self._link.session.models.current if request is None else request.model
        else:
            found = self.resolve(model) if isinstance(model, str) else model
        if found is None:
            raise ExtensionError(
                f"There is no model to ask: {model or 'none is chosen'}.",
                hint="pi.models.available() gives those that can be asked.",
            )
        return found
