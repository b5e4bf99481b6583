"""The multi-line text editor."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.clock import SystemClock
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Provider, Suggestion, Suggestions
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import printable_text
from pi.tui.input.mouse import MouseReport
from pi.tui.style import Paint, unpainted
from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.buffer import START, Position
from pi.tui.widgets.editor.completion import Completion, Popup, Sleep
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.drawing import border, text_row
from pi.tui.widgets.editor.edits import edit
from pi.tui.widgets.editor.history import PromptHistory
from pi.tui.widgets.editor.motions import Motion
from pi.tui.widgets.editor.viewport import Viewport
from pi.tui.widgets.row_memory import RowMemory
from pi.tui.widgets.select_list import SelectTheme

_LEAST_ROWS = 5
_SHARE_OF_SCREEN = 0.3
_DELETES = {"tui.editor.deleteCharBackward", "tui.editor.deleteCharForward"}


class EditorTheme(Record):
    """How an ``Editor`` looks."""

    border: Paint = unpainted
    suggestions: SelectTheme = SelectTheme()


class Editor:
    """Text over several lines between two borders, with suggestions below.

    ``screen_rows`` tells the height of the screen, of which the editor takes less than a third;
    ``tasks`` is where providers are asked (without it there are no suggestions), and
    ``request_render`` is called when an answer has come. ``on_submit`` gets the text with long
    pastes in full, ``on_change`` the text as it is shown.
    """

    def __init__(
        self,
        *,
        keymap: Keymap | None = None,
        theme: EditorTheme | None = None,
        screen_rows: Callable[[], int] = lambda: 24,
        tasks: TaskScope | None = None,
        sleep: Sleep | None = None,
        request_render: Callable[[], None] = lambda: None,
    ) -> None:
        self.on_submit: Callable[[str], None] = lambda text: None
        self.on_change: Callable[[str], None] = lambda text: None
        self._keymap = keymap or Keymap()
        self._theme = theme or EditorTheme()
        self._screen_rows = screen_rows
        self._tasks = tasks
        self._sleep = sleep or SystemClock().sleep
        self._request_render = request_render
        self._document = Document()
        self._viewport = Viewport(self._document.units)
        self._history = PromptHistory()
        self._completion: Completion | None = None
        self._popup: Popup | None = None
        self._jump: Callable[[str], Motion] | None = None
        self._border_color = self._theme.border
        self._label = ""
        self._focused = False
        self._padding = 0
        self._max_visible = 5
        self._width = 80
        self._memory = RowMemory()

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = focused
        self._memory.forget()

    @property
    def border_color(self) -> Paint:
        """How the borders are painted."""
        return self._border_color

    @border_color.setter
    def border_color(self, paint: Paint) -> None:
        self._border_color = paint
        self._memory.forget()

    @property
    def label(self) -> str:
        """What stands in the top border; it may have styles, and must be fit for the screen."""
        return self._label

    @label.setter
    def label(self, label: str) -> None:
        self._label = label
        self._memory.forget()

    def get_text(self) -> str:
        """The text as it is shown, with markers for long pastes."""
        return self._document.text

    def get_expanded_text(self) -> str:
        """The text as it will be submitted, with long pastes in full."""
        return self._document.expanded

    def set_text(self, text: str) -> None:
        """Replace the text, which can be undone; the cursor goes to its end."""
        self._change(lambda: self._document.set_text(text))

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text as if it had been there, with no marker however long it is."""
        self._change(lambda: self._document.insert(text))

    def add_to_history(self, text: str) -> None:
        """Make a prompt one that Up leads to."""
        self._history.add(text)

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Say who knows what could be meant."""
        self._close_popup()
        self._completion = Completion(provider, self._tasks, self._sleep) if self._tasks else None

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """How many suggestions are visible at once, for the next that come."""
        self._max_visible = rows

    def set_padding_x(self, columns: int) -> None:
        """Keep columns free on both sides of the text."""
        self._padding = max(columns, 0)
        self._memory.forget()

    def handle_input(self, data: str) -> None:
        """Take one key or one paste."""
        self._change(lambda: self._take_input(data))

    def handle_mouse(self, report: MouseReport) -> bool:
        """Put the cursor where the mouse was pressed, in cells of the editor; whether it was."""
        row = report.y - 1
        if (report.action, report.button) != ("press", "left") or row < 0:
            return False
        self._lay_out()
        if row >= len(self._viewport.visible):
            return False
        place = self._viewport.at(row, max(report.x - self._pad(self._width), 0))
        self._change(lambda: self._move_to(place))
        return True

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()
        if self._popup:
            self._popup.list.invalidate()

    def render(self, width: int) -> list[str]:
        """The borders, the rows of text around the cursor, and suggestions."""
        return self._memory.rows(width, self._draw)
