"""Views of extensions, and the facts that they publish about a session."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pi.ai.messages import Json
from pi.base.records import Record
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import NamedRegistry, OrderedList
from pi.coding.port.drawing import Rows
from pi.coding.port.extensions import ViewKind, ViewOptions

if TYPE_CHECKING:
    from pi.coding.extension_host.events.handlers import ReportHandlerFailure


View: TypeAlias = str | Callable[..., Any]
"""``view(thing, options, theme)``, or its ``package.module:name``, imported on first use.

It returns an object with ``render(width)``, lines, a text, or ``None`` for the default rendering.
For a tool, the first line follows its name.
"""


_MARKDOWN = "markdown"


class ToolView(Record):
    """A tool call, for the view of the tool."""

    id: str
    name: str
    arguments: Json
    """As far as they have been streamed."""
    state: Literal["asking", "running", "done", "failed", "interrupted"]
    text: str = ""
    """The output so far."""
    details: Any = None
    """Structured details of the result."""


class CodeView(Record):
    """Fenced code of a Markdown text, for the view of its language."""

    language: str
    text: str
    is_open: bool = False
    """Whether the text ended before the closing fence."""


class Views:
    """Renders with extensions. A view that fails is reported once and not called again."""

    def __init__(
        self,
        views: NamedRegistry[View],
        transforms: OrderedList[Callable[..., str]],
        failed: ReportHandlerFailure,
    ) -> None:
        self._views = views
        self._transforms = transforms
        self._failed = failed
        self._broken: set[tuple[int, str]] = set()
        """Failed views, by the number of the owner and by name."""

    def has(self, kind: ViewKind, name: str) -> bool:
        """Whether an extension has a view with that kind and name."""
        return self._views.get(f"{kind}:{name}") is not None

    def has_any(self, kind: ViewKind) -> bool:
        """Whether an extension has a view of that kind."""
        return any(key.startswith(f"{kind}:") for key in self._views.winners())

    def rows(
        self, kind: ViewKind, name: str, value: object, options: ViewOptions, theme: Any, width: int
    ) -> list[str] | None:
        """The rows of an extension's view; ``None`` for the default rendering."""
        key = f"{kind}:{name}"
        row = self._views.winners().get(key)
        if row is None or (row.owner.number, key) in self._broken:
            return None
        try:
            return render_rows(resolve_view(row.value[1])(value, options, theme), width)
        except propagated_exceptions():
            raise
        except BaseException as error:
            self._broken.add((row.owner.number, key))
            self._failed(row.owner, f"view {key}", error)
            return None

    def markdown(self, text: str, about: Mapping[str, Any]) -> str:
        """``text`` after all Markdown transformers of extensions."""
        for row in self._transforms:
            if (row.owner.number, _MARKDOWN) in self._broken:
                continue
            try:
                text = row.value(text, about)
            except propagated_exceptions():
                raise
            except BaseException as error:
                self._broken.add((row.owner.number, _MARKDOWN))
                self._failed(row.owner, _MARKDOWN, error)
        return text


def resolve_view(view: View) -> Callable[..., Any]:
    """The function of a view."""
    if not isinstance(view, str):
        return view
    module, _, name = view.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def render_rows(drawn: Any, width: int) -> list[str] | None:
    """The lines of a view's result."""
    if drawn is None:
        return None
    if isinstance(drawn, str):
        return drawn.split("\n")
    lines: Sequence[str] = drawn.render(width) if hasattr(drawn, "render") else drawn
    return [str(line) for line in lines]


class Facts:
    """Texts by name; rows that show them are redrawn when one changes."""

    def __init__(self) -> None:
        self._texts: NamedRegistry[str] = NamedRegistry(self._invalidate_rows)
        self.add = self._texts.add
        """Sets the text of a name for an owner. Returns a function that removes it."""
        self._rows: dict[Hashable, Rows] = {}

    @property
    def texts(self) -> Mapping[str, str]:
        """The current text of each name."""
        return self._texts.values

    def show_in(self, key: Hashable, rows: Rows) -> Callable[[], None]:
        """Redraw ``rows`` at every change; they replace earlier rows with that key.

        Returns a function that removes them.
        """
        self._rows[key] = rows

        def remove() -> None:
            if self._rows.get(key) is rows:
                del self._rows[key]
            rows.remove()

        return remove

    def _invalidate_rows(self) -> None:
        for rows in tuple(self._rows.values()):
            rows.invalidate()
