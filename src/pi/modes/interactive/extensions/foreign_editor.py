"""An editor of an extension in the place of the usual one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pi.coding.extension_host.drawing import Drawable
from pi.coding.extension_host.failures import ExtensionError
from pi.modes.interactive.extensions.fitting import Failed, Player, fitting
from pi.tui.completion.provider import Provider
from pi.tui.style import Paint, unpainted

if TYPE_CHECKING:
    from pi.tui.mouse import MouseAnswer, MouseEvent

_NEEDED = ("get_text", "set_text", "handle_input")


class ForeignEditor:
    """Implements ``EditorPart``; what the component has no member for is done without.

    It calls ``on_submit(text)``, which it is given, to send its text.
    """

    def __init__(self, component: Drawable, failed: Failed) -> None:
        missing = [name for name in _NEEDED if not hasattr(component, name)]
        if missing:
            raise ExtensionError(
                f"{component!r} is no editor: it has no {', '.join(missing)}.",
                hint=f"An editor needs {', '.join(_NEEDED)}.",
            )
        self.on_submit: Callable[[str], None] = lambda text: None
        self.on_change: Callable[[str], None] = lambda text: None
        self.label = ""
        self._any: Any = cast("Any", component)
        self._any.on_submit = self._submitted
        self._player = Player(component, failed)
        self._failed = failed
        self._has_failed = False
        self._text = ""
        """What was written when it was last known."""

    @property
    def component(self) -> Drawable:
        """What the extension has brought."""
        drawable: Drawable = self._any
        return drawable

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._player.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._player.focused = focused

    @property
    def border_color(self) -> Paint:
        """How its borders are painted, if it has any."""
        paint: Paint = getattr(self._any, "border_color", unpainted)
        return paint

    @border_color.setter
    def border_color(self, paint: Paint) -> None:
        if hasattr(self._any, "border_color"):
            self._any.border_color = paint

    def get_text(self) -> str:
        """The text as it is shown."""
        return self._asked(self._any.get_text)

    def get_expanded_text(self) -> str:
        """The text as it will be submitted."""
        return self._asked(getattr(self._any, "get_expanded_text", self._any.get_text))

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self._text = text
        self._tell("set_text", text)
        self.on_change(text)

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text, at the end if the component does not say where its cursor is."""
        if hasattr(self._any, "insert_text_at_cursor"):
            self._tell("insert_text_at_cursor", text)
            self.on_change(self.get_text())
        else:
            self.set_text(self.get_text() + text)

    def add_to_history(self, text: str) -> None:
        """Make a prompt one that can be found again."""
        self._tell("add_to_history", text)

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Say who knows what could be meant."""
        self._tell("set_autocomplete_provider", provider)

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """How many suggestions are visible at once."""
        self._tell("set_autocomplete_max_visible", rows)

    def set_padding_x(self, columns: int) -> None:
        """Keep columns free on both sides of the text."""
        self._tell("set_padding_x", columns)

    def handle_input(self, data: str) -> None:
        """Take one key or one paste."""
        before = self.get_text()
        self._player.handle_input(data)
        if (text := self.get_text()) != before:
            self.on_change(text)

    def handle_mouse(self, event: MouseEvent) -> MouseAnswer | None:
        """Leave the mouse alone."""
        return None

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._player.invalidate()

    def render(self, width: int) -> list[str]:
        """Its rows, below what goes on."""
        rows = self._player.render(width)
        return [*fitting([self.label], width), *rows] if self.label else rows

    def _asked(self, tell: Callable[[], str]) -> str:
        """What it tells; what was written last, once it has failed."""
        if not self._has_failed:
            try:
                self._text = tell()
            except Exception as problem:
                self._fail(problem)
        return self._text

    def _submitted(self, text: str) -> None:
        self.set_text("")
        self.on_submit(text.strip())

    def _tell(self, name: str, value: object) -> None:
        tell = getattr(self._any, name, None)
        if tell is None:
            return
        try:
            tell(value)
        except Exception as problem:
            self._fail(problem)

    def _fail(self, problem: Exception) -> None:
        self._has_failed = True
        self._failed(problem)
