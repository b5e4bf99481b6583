"""Read access to the session: ``ctx.session_manager``, ``ctx.model_registry`` and ``pi.feed()``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Self, TypeAlias

import msgspec

from pi.agent.events import MessageUpdate
from pi.ai.collection import ModelProvider
from pi.ai.event_stream import EventStream
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.records import replace
from pi.coding.extension_host.scope import Registration, SessionLink
from pi.coding.models.registry import ModelRegistry, ResolvedModel
from pi.coding.port.remote import FeedItem, Kind
from pi.coding.port.session import SessionPort
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import Entry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.views import TreeNode, session_tree


class SessionReader:
    """Entries, tree and metadata of the current session; a read-only ``SessionManager``."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    def get_cwd(self) -> str:
        """The working directory of the session."""
        return self._log.header.cwd

    def get_session_dir(self) -> str | None:
        """The folder of the session file; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file.parent)

    def get_session_id(self) -> str:
        """The session id."""
        return self._log.header.id

    def get_session_file(self) -> str | None:
        """The session file; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file)

    def get_session_name(self) -> str | None:
        """The session name."""
        return self._log.name

    def get_header(self) -> SessionHeader:
        """The first line of the file."""
        return self._log.header

    def get_leaf_id(self) -> str | None:
        """The id of the leaf, which the next entry will follow; ``None`` if there is none."""
        return self._log.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        """The leaf, which the next entry will follow; ``None`` if there is none."""
        log = self._log
        return None if log.leaf is None else log.at(log.leaf)

    def get_entry(self, id: str) -> Entry | None:
        """The entry with that id; ``None`` if there is none."""
        log = self._log
        return log.entry(id) if id in log.tree else None

    def get_entries(self) -> Sequence[Entry]:
        """All entries in file order."""
        return list(self._log.entries())

    def get_branch(self) -> Sequence[Entry]:
        """The entries from the root to the leaf."""
        return list(self._log.branch())

    def get_label(self, id: str) -> str | None:
        """The label of an entry, or ``None``."""
        labels = self._log.labels
        return labels[id].label if id in labels else None

    def get_tree(self) -> Sequence[TreeNode]:
        """The roots of the tree."""
        return session_tree(self._log)

    def build_context_entries(self) -> Sequence[Entry]:
        """The entries from which the model's context is built."""
        return self.get_branch()

    def build_session_projection(self) -> SessionContext:
        """The context of the model at the leaf, with model and thinking level."""
        return build_session_context(self._log)

    @property
    def _log(self) -> SessionLog:
        return self._link.session.entries.log


AddProvider: TypeAlias = Callable[[ModelProvider | str, Mapping[str, Any] | None], Registration]


class ExtensionModelRegistry:
    """The known models, with the method names of the original pi. Model wraps apply to requests."""

    def __init__(self, link: SessionLink, add_provider: AddProvider) -> None:
        self._link = link
        self._add_provider = add_provider

    def get_all(self) -> tuple[Model, ...]:
        """Every known model."""
        return self._registry.get_all()

    def get_available(self) -> tuple[Model, ...]:
        """Every model whose provider has credentials."""
        return self._registry.get_available()

    def find(self, provider: str, model_id: str) -> Model | None:
        """The model with exactly that provider and id, or ``None``."""
        return self._registry.find(provider, model_id)

    def resolve(self, pattern: str, provider: str | None = None) -> ResolvedModel | None:
        """The model that ``pattern`` refers to, or ``None``."""
        return self._registry.resolve(pattern, provider)

    def has_configured_auth(self, model: Model) -> bool:
        """Whether requests to a model have credentials."""
        return self._registry.has_configured_auth(model)

    async def get_api_key_and_headers(self, model: Model) -> tuple[str | None, dict[str, str]]:
        """API key and headers of requests to a model; empty without credentials."""
        return await self._registry.get_api_key_and_headers(model)

    async def refresh(self) -> None:
        """Fetch the model list of every provider; a provider that fails keeps its old list."""
        await self._registry.refresh()

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Send a request outside the conversation and iterate over the answer."""
        models, name = self._link.session.models, self._link.scope.name
        return models.ask(model, context, options or StreamOptions(), extension=name)

    stream_simple = stream

    async def complete(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.stream(model, context, options).result()

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """Add a provider, like ``pi.register_provider``."""
        return self._add_provider(provider, config)

    @property
    def _registry(self) -> ModelRegistry:
        return self._link.registry


class Feed:
    """Iterates over a session as ordered data until it ends or ``close`` is called.

    The first item is a snapshot; entries, events, leaf moves and state changes follow. A reader
    that is more than ``size`` items behind gets a new snapshot instead.
    """

    def __init__(self, session: SessionPort, *, size: int) -> None:
        self._session = session
        self._size = size
        self._numbers = count(1)
        self._items: deque[FeedItem] = deque()
        self._ready = asyncio.Event()
        self._closed = False
        self._start()
        self._ends = (
            session.subscribe(self._handle_event),
            session.on_moved(self._queue_changes),
        )

    @property
    def pending(self) -> int:
        """The number of queued items."""
        return len(self._items)

    def close(self) -> None:
        """End the iteration after the items that are already queued."""
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
        """Queue a snapshot of the session."""
        log, partial = self._session.entries.log, self._session.runs.progress.partial_answer
        self._items.clear()
        self._seen, self._leaf = len(log.tree.outlines), log.leaf_id
        self._state = self._chosen()
        self._put(
            "snapshot",
            {
                "header": msgspec.to_builtins(log.header),
                "entries": [log.json(position) for position in range(self._seen)],
                "leafId": self._leaf,
                "state": msgspec.to_builtins(self._session.info.state()),
                "partial": None if partial is None else msgspec.to_builtins(partial),
            },
        )

    def _handle_event(self, event: Any) -> None:
        if len(self._items) >= self._size:
            self._start()
            return
        if not isinstance(event, MessageUpdate):  # tokens are frequent and change nothing else
            self._queue_changes()
        self._put("event", msgspec.to_builtins(event))

    def _queue_changes(self) -> None:
        """Queue new entries and state changes; they are in the log before events are emitted."""
        self._entries()
        if (state := self._chosen()) != self._state:
            self._state = state
            self._put("state", msgspec.to_builtins(self._session.info.state()))

    def _chosen(self) -> Any:
        """The state without the fields that events report."""
        return replace(
            self._session.info.state(),
            is_streaming=False,
            is_compacting=False,
            message_count=0,
            pending_message_count=0,
        )

    def _entries(self) -> None:
        log = self._session.entries.log
        for position in range(self._seen, len(log.tree.outlines)):
            entry = log.json(position)
            if entry.get("parentId") != self._leaf:
                self._put("leaf", entry.get("parentId"))
            self._put("entry", entry)
            self._leaf = entry.get("id")
        self._seen = len(log.tree.outlines)
        if log.leaf_id != self._leaf:
            self._leaf = log.leaf_id
            self._put("leaf", self._leaf)

    def _put(self, kind: Kind, data: Any) -> None:
        self._items.append(FeedItem(seq=next(self._numbers), kind=kind, data=data))
        self._ready.set()
