"""The session as extensions read it: the names of ``SessionManager``, without its changes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Self, TypeAlias

import msgspec

from pi.agent.events import MessageUpdate
from pi.ai.collection import ModelProvider
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.records import replace
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.link import SessionLink
from pi.coding.extension_host.scope import Registration
from pi.coding.models.registry import ModelRegistry, ResolvedModel
from pi.coding.port.remote import FeedItem, Kind
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import Entry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.views import TreeNode, session_tree


class SessionReader:
    """Entries, tree and facts of the session as they are now."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    def get_cwd(self) -> str:
        """The working directory that the session belongs to."""
        return self._log.header.cwd

    def get_session_dir(self) -> str | None:
        """The folder of its file; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file.parent)

    def get_session_id(self) -> str:
        """The id of the session."""
        return self._log.header.id

    def get_session_file(self) -> str | None:
        """Where it is kept; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file)

    def get_session_name(self) -> str | None:
        """What it is called."""
        return self._log.name

    def get_header(self) -> SessionHeader:
        """The first line of the file."""
        return self._log.header

    def get_leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        return self._log.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        """That entry."""
        log = self._log
        return None if log.leaf is None else log.at(log.leaf)

    def get_entry(self, id: str) -> Entry | None:
        """The entry of that id, if there is one."""
        log = self._log
        return log.entry(id) if id in log.tree else None

    def get_entries(self) -> Sequence[Entry]:
        """All entries in the order of the file."""
        return list(self._log.entries())

    def get_branch(self) -> Sequence[Entry]:
        """The entries from the root to the leaf."""
        return list(self._log.branch())

    def get_label(self, id: str) -> str | None:
        """The label of an entry."""
        labels = self._log.labels
        return labels[id].label if id in labels else None

    def get_tree(self) -> Sequence[TreeNode]:
        """The roots of the tree."""
        return session_tree(self._log)

    def build_context_entries(self) -> Sequence[Entry]:
        """The entries that what the model is shown is made of."""
        return self.get_branch()

    def build_session_projection(self) -> SessionContext:
        """What the model is shown at the leaf, and who answers there."""
        return build_session_context(self._log)

    @property
    def _log(self) -> SessionLog:
        return self._link.session.talk.log


# ``ctx.model_registry``: the models that there are, by the names of the original.


AddProvider: TypeAlias = Callable[[ModelProvider | str, Mapping[str, Any] | None], Registration]


class ExtensionModelRegistry:
    """Every wrap of the session stands around what is asked here."""

    def __init__(self, link: SessionLink, add_provider: AddProvider) -> None:
        self._link = link
        self._add_provider = add_provider

    def get_all(self) -> tuple[Model, ...]:
        """Every model that is known."""
        return self._registry.get_all()

    def get_available(self) -> tuple[Model, ...]:
        """Every model whose provider has credentials."""
        return self._registry.get_available()

    def find(self, provider: str, model_id: str) -> Model | None:
        """The model of exactly that name."""
        return self._registry.find(provider, model_id)

    def resolve(self, pattern: str, provider: str | None = None) -> ResolvedModel | None:
        """What a person means by ``pattern``."""
        return self._registry.resolve(pattern, provider)

    def has_configured_auth(self, model: Model) -> bool:
        """Whether requests to a model have credentials to go with."""
        return self._registry.has_configured_auth(model)

    async def get_api_key_and_headers(self, model: Model) -> tuple[str | None, dict[str, str]]:
        """What requests to a model take along; nothing where there are no credentials."""
        return await self._registry.get_api_key_and_headers(model)

    async def refresh(self) -> None:
        """Ask every provider for its current models; those that fail keep what they had."""
        await self._registry.refresh()

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Ask a model beside the conversation, and iterate over its answer."""
        return self._link.session.models.ask(model, context, options or StreamOptions())

    stream_simple = stream

    async def complete(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.stream(model, context, options).result()

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """``pi.register_provider``."""
        return self._add_provider(provider, config)

    @property
    def _registry(self) -> ModelRegistry:
        return self._link.session.models.registry


# A session as data, in one order: what there is, then every entry, event, move and choice.


class Feed:
    """Iterates over a session from now on, until it ends or ``close``.

    A reader that is more than ``size`` items behind is given a new snapshot in their place.
    """

    def __init__(self, session: HostedSession, *, size: int) -> None:
        self._session = session
        self._size = size
        self._numbers = count(1)
        self._items: deque[FeedItem] = deque()
        self._ready = asyncio.Event()
        self._closed = False
        self._start()
        self._ends = (
            session.events.subscribe(self._hear),
            session.events.on_moved(self._look),
        )

    def close(self) -> None:
        """End the iteration after what has been told so far."""
        if not self._closed:
            self._closed = True
            for end in self._ends:
                end()
            self._ready.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedItem:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()

    def _start(self) -> None:
        """Begin with everything that there is."""
        log, partial = self._session.talk.log, self._session.talk.partial_answer
        self._items.clear()
        self._seen, self._leaf = len(log.tree), log.leaf_id
        self._state = self._chosen()
        self._put(
            "snapshot",
            {
                "header": msgspec.to_builtins(log.header),
                "entries": [log.json(place) for place in range(self._seen)],
                "leafId": self._leaf,
                "state": msgspec.to_builtins(self._session.facts.state()),
                "partial": None if partial is None else msgspec.to_builtins(partial),
            },
        )

    def _hear(self, event: Any) -> None:
        if len(self._items) >= self._size:
            self._start()
            return
        if not isinstance(event, MessageUpdate):  # tokens change nothing else, and are many
            self._look()
        self._put("event", msgspec.to_builtins(event))

    def _look(self) -> None:
        """Tell what is new in the log, which has it before anybody is told, and in the state."""
        self._entries()
        if (state := self._chosen()) != self._state:
            self._state = state
            self._put("state", msgspec.to_builtins(self._session.facts.state()))

    def _chosen(self) -> Any:
        """The state without what events tell anyway."""
        return replace(
            self._session.facts.state(),
            is_streaming=False,
            is_compacting=False,
            message_count=0,
            pending_message_count=0,
        )

    def _entries(self) -> None:
        log = self._session.talk.log
        for place in range(self._seen, len(log.tree)):
            entry = log.json(place)
            if entry.get("parentId") != self._leaf:
                self._put("leaf", entry.get("parentId"))
            self._put("entry", entry)
            self._leaf = entry.get("id")
        self._seen = len(log.tree)
        if log.leaf_id != self._leaf:
            self._leaf = log.leaf_id
            self._put("leaf", self._leaf)

    def _put(self, kind: Kind, data: Any) -> None:
        self._items.append(FeedItem(seq=next(self._numbers), kind=kind, data=data))
        self._ready.set()
