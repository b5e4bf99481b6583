"""The agents of a session: a tree of nodes with their states, and the limit of parallel agents."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, get_args

from pi.ai.messages import add_usage
from pi.extension import Json, Record, Usage, one_line, replace

State: TypeAlias = Literal["queued", "running", "merging", "completed", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("completed", "failed", "cancelled")
SIGNS: dict[str, str] = {
    "queued": "○", "running": "▶", "merging": "▶", "completed": "✓", "failed": "✗",
    "cancelled": "■",
}  # fmt: skip
"""Signs of the states, which are distinct without colours."""
ENTRY = "subagent"
"""Custom type of the entries that store agents in the session of the user."""
_STORED = (
    "id", "agent", "title", "state", "depth", "reason", "model", "requests", "file", "isolated",
    "branch", "path", "tokens", "cost", "notes",
)  # fmt: skip


class RunEnd(Record):
    """The end of the run of a prompt."""

    text: str = ""
    """The last answer."""
    failure: str = ""
    was_aborted: bool = False


class Runner(Protocol):
    """Runs an agent: in a nested session, or in a process."""

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        ...

    def take_usage(self) -> Usage:
        """Tokens and cost since the last call of this method."""
        ...

    async def run(self, text: str) -> RunEnd:
        """Send a prompt and wait for the end of the run; cancelling aborts it."""
        ...

    async def steer(self, text: str) -> None:
        """Deliver a message to the running agent."""
        ...

    async def abort(self) -> None:
        """End the current run."""
        ...

    async def close(self) -> None:
        """End the agent and release its resources."""
        ...

    def messages(self) -> list[Json]:
        """Its conversation, in the form of session files."""
        ...


class AgentNode:
    """One agent: its task, its state, and its result."""

    def __init__(
        self, id: str, agent: str, title: str, *, parent: AgentNode | None = None, depth: int = 1
    ) -> None:
        self.id = id
        self.agent = agent
        self.title = title
        self.parent = parent
        self.depth = depth
        self.children: list[AgentNode] = []
        self.state: State = "queued"
        self.tools: tuple[str, ...] = ()
        self.model = ""
        self.activity = ""
        """The running tool call; empty if none is running."""
        self.requests = 0
        self.reason = ""
        self.output = ""
        self.notes: list[str] = []
        self.background = False
        self.isolated = False
        self.branch = ""
        """A branch with work that was not merged."""
        self.path = ""
        """A folder with work that was not merged."""
        self.is_merged = False
        self.cwd: Path | None = None
        self.file: Path | None = None
        self.began_ms = 0
        self.ended_ms = 0
        self.runner: Runner | None = None
        self.work: asyncio.Task[Any] | None = None
        self.is_cancelled = False
        self.is_reported = False
        """Whether its caller has its result."""
        self.awaited = 0
        """The number of calls of ``hub`` that wait for it and get its result."""
        self._settled = asyncio.Event()
        self._before = Usage()
        """Usage of earlier runners."""

    @property
    def is_active(self) -> bool:
        """Whether it has not ended: queued, running or merging."""
        return self.state not in ENDED

    @property
    def usage(self) -> Usage:
        """Its own tokens and cost so far, without those of its children."""
        return self._before if self.runner is None else add_usage(self._before, self.runner.usage)

    def total(self) -> tuple[int, float]:
        """Tokens and cost of the agent and its descendants."""
        own = self.usage
        tokens, cost = own.total_tokens, own.cost.total
        for child in self.children:
            more = child.total()
            tokens, cost = tokens + more[0], cost + more[1]
        return tokens, cost

    def drop_runner(self) -> Runner | None:
        """Remove and return the runner; its usage is kept."""
        runner, self.runner = self.runner, None
        if runner is not None:
            self._before = add_usage(self._before, runner.usage)
        return runner

    def spent_before(self, tokens: int, cost: float) -> None:
        """Set the tokens and cost of an earlier process."""
        none = Usage()
        self._before = replace(none, total_tokens=tokens, cost=replace(none.cost, total=cost))

    def begin(self) -> None:
        """Mark it as queued, and reset its last result."""
        self.state, self.reason, self.is_cancelled, self.is_reported = "queued", "", False, False
        self.notes = []
        self._settled.clear()

    def settle(self, state: State, reason: str = "") -> None:
        """Mark it as ended; ``release`` wakes its waiters."""
        self.state, self.reason, self.activity = state, reason, ""

    def release(self) -> None:
        """End all calls of ``wait``."""
        self._settled.set()

    async def wait(self) -> None:
        """Wait until it has ended and its resources are cleaned up."""
        await self._settled.wait()

    def walk(self) -> Iterator[AgentNode]:
        """Yield the agent and its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def row(self) -> Json:
        """The data for views and other programs, with its children."""
        tokens, cost = self.total()
        return {
            "id": self.id,
            "agent": self.agent,
            "title": self.title,
            "state": self.state,
            "depth": self.depth,
            "model": self.model,
            "activity": self.activity,
            "requests": self.requests,
            "tokens": tokens,
            "cost": cost,
            "reason": self.reason,
            "background": self.background,
            "isolated": self.isolated,
            "branch": self.branch,
            "path": self.path,
            "merged": self.is_merged,
            "children": [child.row() for child in self.children],
        }

    def entry(self) -> Json:
        """The data of its entry in the session."""
        own = self.usage
        row = {**self.row(), "file": str(self.file or ""), "notes": list(self.notes)}
        row |= {"tokens": own.total_tokens, "cost": own.cost.total}  # children have their own
        parent = "" if self.parent is None else self.parent.id
        return {**{name: row[name] for name in _STORED}, "parent": parent}


class Slots:
    """Limits the number of agents that run at once; waiting ones are served in order."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait for a free slot; a limit below 1 means no limit."""
        limit = self._limit()
        if limit < 1 or (self._used < limit and not self._waiting):
            self._used += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the slot was assigned while this task was cancelled
            else:
                with suppress(ValueError):
                    self._waiting.remove(turn)
            raise

    def release(self) -> None:
        """Free a slot; the next in the queue gets it."""
        self._used -= 1
        while self._waiting and (self._limit() < 1 or self._used < self._limit()):
            turn = self._waiting.popleft()
            if not turn.done():
                self._used += 1
                turn.set_result(None)

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Free the caller's slot while it waits for its own agents; acquire one again after."""
        self.release()
        try:
            yield
        except BaseException:
            self._used += 1  # the caller is ending, and releases its slot then
            raise
        try:
            await self.acquire()
        except asyncio.CancelledError:
            self._used += 1
            raise


class AgentTree:
    """All agents of one session, and listeners to their changes."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self.slots = Slots(limit)
        self.roots: list[AgentNode] = []
        self._nodes: dict[str, AgentNode] = {}
        self._listeners: list[Callable[[], None]] = []
        self.earlier: Callable[[], Iterable[Mapping[str, Any]]] | None = None
        """Returns the entries of an earlier process; called at the first access to the agents."""

    def add(self, node: AgentNode) -> None:
        """Add an agent below its parent."""
        self._nodes[node.id] = node
        (self.roots if node.parent is None else node.parent.children).append(node)

    def get(self, id: str) -> AgentNode | None:
        """The agent with that id, or ``None``. Ignores case if only one agent matches then."""
        self._restore_earlier()
        if id in self._nodes:
            return self._nodes[id]
        alike = [node for key, node in self._nodes.items() if key.casefold() == id.casefold()]
        return alike[0] if len(alike) == 1 else None

    def all(self) -> list[AgentNode]:
        """Every agent, parents before their children."""
        self._restore_earlier()
        return [node for root in self.roots for node in root.walk()]

    def active(self) -> list[AgentNode]:
        """The agents that have not ended."""
        nodes = (node for root in self.roots for node in root.walk())
        return [node for node in nodes if node.is_active]

    def changed(self) -> None:
        """Call the listeners."""
        for listener in tuple(self._listeners):
            listener()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after every change. Returns an unsubscribe function."""
        self._listeners.append(listener)

        def end() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def _restore_earlier(self) -> None:
        """Restore the agents of an earlier process from the entries of the session."""
        if self.earlier is None:
            return
        entries, self.earlier = self.earlier(), None
        now, self.roots = self.roots, []
        for data in entries:
            id = data.get("id")
            if not isinstance(id, str) or not id:
                continue
            node = self._nodes.get(id)
            if node is None:
                parent = self._nodes.get(str(data.get("parent") or ""))
                node = AgentNode(
                    id,
                    str(data.get("agent", "")),
                    one_line(str(data.get("title", ""))),
                    parent=parent,
                    depth=_whole(data.get("depth"), 1),
                )
                self.add(node)
                node.release()
            if node.work is None:
                _restore(node, data)
        self.roots += now


def _restore(node: AgentNode, data: Mapping[str, Any]) -> None:
    state = data.get("state")
    states: tuple[State, ...] = get_args(State)
    node.state = next((name for name in states if name == state), "failed")
    node.reason = str(data.get("reason", ""))
    if node.is_active:  # the process ended before the agent did
        node.state, node.reason = "failed", "pi ended while it was working"
    node.model = str(data.get("model", ""))
    node.requests = _whole(data.get("requests"), 0)
    node.isolated = data.get("isolated") is True
    cost = data.get("cost")
    node.spent_before(
        _whole(data.get("tokens"), 0), float(cost) if isinstance(cost, int | float) else 0.0
    )
    node.branch, node.path = str(data.get("branch", "")), str(data.get("path", ""))
    file = str(data.get("file", ""))
    node.file = Path(file) if file else None
    node.is_reported = True


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
