"""Keys and commands in lists, made from the same rows that the program uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import shown_key
from pi.modes.interactive.theme import Theme
from pi.tui.input.actions import ACTIONS, Action, Place
from pi.tui.input.keymap import Keymap
from pi.tui.text.slicing import pad_to_width, truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text

_PLACES: dict[Place, str] = {
    "prompt": "While writing",
    "anywhere": "Editing and lists",
    "models": "In lists of models",
    "sessions": "In the list of sessions",
    "tree": "In the session tree",
}
_FULLSCREEN, _OF_FULLSCREEN = "In fullscreen mode", "tui.altScreen."

_PREFIXES = (
    ("/", "commands"),
    ("@", "files"),
    ("!", "run a command; the model sees its output"),
    ("!!", "run a command that the model does not see"),
)

_GAP = 2


class Section(Record):
    """A list with a title; each row says what something is called and what it does."""

    title: str
    rows: tuple[tuple[str, str], ...]


class Named(Record):
    """A command as the help shows it."""

    name: str
    hint: str = ""
    description: str = ""


def key_sections(keymap: Keymap, others: Mapping[str, str] | None = None) -> list[Section]:
    """Every key that does something, by where it does; ``others`` are those of extensions."""
    rows: dict[str, list[tuple[str, str]]] = {
        title: [] for title in (*_PLACES.values(), _FULLSCREEN)
    }
    for action in ACTIONS:
        if keys := keymap.keys(action.id):
            rows[_where(action)].append((" ".join(map(shown_key, keys)), action.description))
    rows["Of extensions"] = [
        (shown_key(key), description) for key, description in (others or {}).items()
    ]
    listed = [Section(title=title, rows=tuple(found)) for title, found in rows.items() if found]
    return [*listed, Section(title="At the beginning of a message", rows=_PREFIXES)]


def command_section(rows: Iterable[Named]) -> Section:
    """Every command."""
    listed = ((f"/{row.name}{' ' + row.hint if row.hint else ''}", row.description) for row in rows)
    return Section(title="Commands", rows=tuple(listed))


class SectionsView:
    """Sections one below the other, with what things are called in one column."""

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        self._theme = theme
        self._sections = sections

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """A title and the rows of each; what does not fit beside its name goes below it."""
        inside = max(width - 2, 1)
        names = [visible_width(name) for section in self._sections for name, _ in section.rows]
        column = min(max(names, default=0), inside // 2)
        rows: list[str] = []
        for section in self._sections:
            rows += ["", self._theme.paint("mdHeading", bold=True)(section.title)]
            rows += self._listed(section, column, inside)
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]

    def _listed(self, section: Section, column: int, width: int) -> Iterator[str]:
        paint = self._theme.paint("mdCode")
        margin = " " * (column + _GAP)
        for name, what in section.rows:
            name = one_line(name)
            told = wrap_text(one_line(what), max(width - len(margin), 1)) if what else [""]
            if visible_width(name) > column:
                yield paint(name)
            else:
                yield f"{paint(pad_to_width(name, column))}  {told.pop(0)}".rstrip()
            yield from (margin + row for row in told)


def _where(action: Action) -> str:
    return _FULLSCREEN if action.id.startswith(_OF_FULLSCREEN) else _PLACES[action.place]
