"""All bindable actions with their default keys, as data.

Keybindings, hints, the list of shortcuts and the docs use these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pi.base.records import Record

Platform: TypeAlias = Literal["posix", "windows", "wsl"]
"""Linux and macOS, native Windows, or Linux under Windows. Their terminals reserve different keys.
"""

KeyContext: TypeAlias = Literal["anywhere", "prompt", "sessions", "models", "tree", "vim"]
"""Where an action is available. Actions that are never available together may share a key."""


class Action(Record, kw_only=False):
    """A bindable action with its default keys."""

    id: str
    description: str
    context: KeyContext
    posix: tuple[str, ...]
    windows: tuple[str, ...]
    wsl: tuple[str, ...]

    def keys(self, platform: Platform) -> tuple[str, ...]:
        """Return the default keys on a platform."""
        match platform:
            case "posix":
                return self.posix
            case "windows":
                return self.windows
            case "wsl":
                return self.wsl


def platform_of(system: str, env: Mapping[str, str]) -> Platform:
    """Return the platform for a ``sys.platform`` and an environment."""
    if system == "win32":
        return "windows"
    return "wsl" if env.get("WSL_DISTRO_NAME") or env.get("WSL_INTEROP") else "posix"


def _rows(context: KeyContext, prefix: str, *rows: tuple[str, ...]) -> tuple[Action, ...]:
    """Create actions from ``(name, description, keys[, keys on Windows[, keys under WSL]])``.

    Keys are separated by spaces. A missing column defaults to the one before it.
    """
    actions = []
    for name, description, *keys in rows:
        posix = tuple(keys[0].split())
        windows = tuple(keys[1].split()) if len(keys) > 1 else posix
        wsl = tuple(keys[2].split()) if len(keys) > 2 else windows
        actions.append(Action(f"{prefix}.{name}", description, context, posix, windows, wsl))
    return tuple(actions)


TUI_ACTIONS: tuple[Action, ...] = (
    *_rows(
        "anywhere",
        "tui.editor",
        ("cursorUp", "move up a line", "up"),
        ("cursorDown", "move down a line", "down"),
        ("historyPrevious", "show the prompt before", ""),
        ("historyNext", "show the prompt after", ""),
        ("cursorLeft", "move left", "left ctrl+b"),
        ("cursorRight", "move right", "right ctrl+f"),
        ("cursorWordLeft", "move left a word", "alt+left ctrl+left alt+b"),
        ("cursorWordRight", "move right a word", "alt+right ctrl+right alt+f"),
        ("cursorLineStart", "move to the start of the line", "home ctrl+a"),
        ("cursorLineEnd", "move to the end of the line", "end ctrl+e"),
        ("jumpForward", "jump forward to a character", "ctrl+]"),
        ("jumpBackward", "jump back to a character", "ctrl+alt+]"),
        ("pageUp", "scroll up a page", "pageUp ctrl+pageUp"),
        ("pageDown", "scroll down a page", "pageDown ctrl+pageDown"),
        ("deleteCharBackward", "delete the character before the cursor", "backspace"),
        ("deleteCharForward", "delete the character at the cursor", "delete ctrl+d"),
        ("deleteWordBackward", "delete the word before the cursor", "ctrl+w alt+backspace"),
        ("deleteWordForward", "delete the word after the cursor", "alt+d alt+delete"),
        ("deleteToLineStart", "delete to the start of the line", "ctrl+u"),
        ("deleteToLineEnd", "delete to the end of the line", "ctrl+k"),
        ("yank", "insert what was deleted last", "ctrl+y"),
        ("yankPop", "insert what was deleted before that instead", "alt+y"),
        ("undo", "undo", "ctrl+-", "ctrl+z", "alt+z"),
        ("redo", "redo", "alt+-"),
    ),
    *_rows(
        "anywhere",
        "tui.input",
        ("newLine", "start a new line", "shift+enter ctrl+j"),
        ("submit", "send", "enter"),
        ("tab", "complete", "tab"),
        ("copy", "copy", "ctrl+c"),
    ),
    *_rows(
        "anywhere",
        "tui.select",
        ("up", "choose the entry above", "up"),
        ("down", "choose the entry below", "down"),
        ("pageUp", "go up a page", "pageUp"),
        ("pageDown", "go down a page", "pageDown"),
        ("confirm", "take the chosen entry", "enter"),
        ("cancel", "close without choosing", "escape ctrl+c"),
    ),
    *_rows(
        "prompt",
        "tui.altScreen",
        ("pageUp", "scroll up a page", "pageUp"),
        ("pageDown", "scroll down a page", "pageDown"),
        ("halfPageUp", "scroll up half a page", ""),
        ("halfPageDown", "scroll down half a page", ""),
        ("lineUp", "scroll up a line", ""),
        ("lineDown", "scroll down a line", ""),
        ("previousPrompt", "go to the prompt above", "ctrl+shift+up ctrl+up", "ctrl+up"),
        ("nextPrompt", "go to the prompt below", "ctrl+shift+down ctrl+down", "ctrl+down"),
        ("search", "search", "ctrl+shift+f", "ctrl+f"),
        ("searchNext", "go to the next hit", "enter ctrl+g"),
        ("searchPrevious", "go to the hit before", "shift+enter ctrl+shift+g"),
        ("searchClose", "close the search", "escape"),
        ("top", "go to the top", "ctrl+home"),
        ("bottom", "go to the bottom", "ctrl+end"),
    ),
)

VIM_ACTIONS: tuple[Action, ...] = (
    *_rows(
        "vim",
        "tui.vim",
        ("normal", "normal mode; there, the application sees the key", "escape ctrl+["),
        ("insert", "insert before the cursor", "i"),
        ("append", "insert after the cursor", "a"),
        ("insertLineStart", "insert at the start of the line", "shift+i"),
        ("appendLineEnd", "insert at the end of the line", "shift+a"),
        ("openBelow", "open a line below; in a selection, go to its other end", "o"),
        ("openAbove", "open a line above", "shift+o"),
        ("visual", "select characters", "v"),
        ("visualLine", "select lines", "shift+v"),
        ("left", "left", "h left backspace"),
        ("down", "down, or the prompt after", "j down"),
        ("up", "up, or the prompt before", "k up"),
        ("right", "right", "l right space"),
        ("wordForward", "to the next word", "w"),
        ("bigWordForward", "to the next word between spaces", "shift+w"),
        ("wordBack", "back to the start of a word", "b"),
        ("bigWordBack", "back to the start of a word between spaces", "shift+b"),
        ("wordEnd", "to the end of a word", "e"),
        ("bigWordEnd", "to the end of a word between spaces", "shift+e"),
        ("findForward", "to the next character that is typed", "f"),
        ("findBackward", "back to a character that is typed", "shift+f"),
        ("tillForward", "before the next character that is typed", "t"),
        ("tillBackward", "back behind a character that is typed", "shift+t"),
        ("repeatFind", "repeat the last of these four", ";"),
        ("repeatFindBack", "repeat it in the other direction", ","),
        ("matchPair", "to the matching bracket", "%"),
        ("lineStart", "to the start of the line", "0 home"),
        ("firstNonBlank", "to the first character of the line", "^"),
        ("lineEnd", "to the end of the line", "$ end"),
        ("goto", "twice: to the first line, or to the line of a count", "g"),
        ("lastLine", "to the last line, or to the line of a count", "shift+g"),
        ("delete", "delete what a motion or object covers; twice: lines", "d"),
        ("change", "change what a motion or object covers; twice: lines", "c"),
        ("yank", "copy what a motion or object covers; twice: lines", "y"),
        ("deleteToLineEnd", "delete to the end of the line", "shift+d"),
        ("changeToLineEnd", "change to the end of the line", "shift+c"),
        ("yankLine", "copy lines", "shift+y"),
        ("deleteChar", "delete a character", "x delete"),
        ("deleteCharBack", "delete the character before", "shift+x"),
        ("substitute", "change a character", "s"),
        ("substituteLine", "change a line", "shift+s"),
        ("replace", "replace a character by the one that is typed", "r"),
        ("toggleCase", "swap upper and lower case", "~"),
        ("join", "join lines", "shift+j"),
        ("put", "insert what was deleted or copied, after the cursor", "p"),
        ("putBefore", "insert it before the cursor", "shift+p"),
        ("undo", "undo", "u"),
        ("redo", "redo", "ctrl+r"),
        ("repeat", "repeat the last change", "."),
        ("inner", "after an operator or in a selection: an object without its edges", "i"),
        ("around", "after an operator or in a selection: an object with its edges", "a"),
        ("objectWord", "object: a word", "w"),
        ("objectBigWord", "object: a word between spaces", "shift+w"),
        ("objectParagraph", "object: a paragraph", "p"),
        ("objectDoubleQuotes", "object: a string in double quotes", '"'),
        ("objectSingleQuotes", "object: a string in single quotes", "'"),
        ("objectBackticks", "object: a string in backticks", "`"),
        ("objectParentheses", "object: parentheses", "( ) b"),
        ("objectBrackets", "object: brackets", "[ ]"),
        ("objectBraces", "object: braces", "{ } shift+b"),
        ("objectAngles", "object: angle brackets", "< >"),
    ),
)
"""Only with the setting ``editor.mode``: ``vim``."""

APP_ACTIONS: tuple[Action, ...] = (
    *_rows(
        "prompt",
        "app",
        ("interrupt", "interrupt", "escape"),
        ("clear", "clear the prompt, else interrupt; twice: exit", "ctrl+c"),
        ("exit", "exit from an empty prompt", "ctrl+d"),
        ("suspend", "suspend", "ctrl+z", "", "ctrl+z"),
        ("editor.external", "edit the prompt in another program", "ctrl+g"),
        ("clipboard.pasteImage", "paste an image", "ctrl+v", "alt+v ctrl+v"),
        ("history.search", "search earlier prompts", "ctrl+r"),
        ("help", "show keys and commands (empty prompt)", "?"),
        ("session.new", "start a new session", ""),
        ("session.tree", "show the session tree", ""),
        ("session.fork", "fork the session", ""),
        ("session.resume", "resume a session", ""),
        ("model.select", "choose a model", "ctrl+l"),
        ("model.cycleForward", "use the next model", "ctrl+p"),
        ("model.cycleBackward", "use the model before", "shift+ctrl+p", "alt+p"),
        ("thinking.cycle", "change the thinking level", "shift+tab"),
        ("thinking.toggle", "show or hide thinking", "ctrl+t"),
        ("permissions.cycle", "use the next permission mode", "alt+a"),
        ("tools.expand", "show more or less of tools", "ctrl+o"),
        ("screen.redraw", "draw the screen again", "alt+l"),
        ("message.copy", "copy the last answer", "ctrl+x"),
        ("message.copyPrompt", "copy the prompt, or the last one", "alt+x"),
        ("message.followUp", "queue the prompt for later", "alt+enter", "ctrl+q"),
        ("message.dequeue", "take queued prompts back", "alt+up", "alt+q"),
    ),
    *_rows(
        "models",
        "app.thinking",
        ("save", "use the thinking level and make it the default", "ctrl+s"),
    ),
    *_rows(
        "sessions",
        "app.session",
        ("togglePath", "show paths", "ctrl+p"),
        ("toggleSort", "change the order", "ctrl+s"),
        ("toggleNamedFilter", "show only named sessions", "ctrl+n"),
        ("rename", "rename the session", "ctrl+r"),
        ("delete", "delete the session", "ctrl+d"),
        ("deleteNoninvasive", "delete the session if nothing is typed", "ctrl+backspace"),
    ),
    *_rows(
        "models",
        "app.models",
        ("save", "use and make default; in /scoped-models save the choice", "ctrl+s"),
        ("enableAll", "enable all", "ctrl+a"),
        ("clearAll", "enable none", "ctrl+x"),
        ("toggleProvider", "enable or disable a provider", "ctrl+p"),
        ("reorderUp", "move the model up", "alt+up"),
        ("reorderDown", "move the model down", "alt+down"),
    ),
    *_rows(
        "tree",
        "app.tree",
        ("foldOrUp", "fold, or go up", "ctrl+left alt+left"),
        ("unfoldOrDown", "unfold, or go down", "ctrl+right alt+right"),
        ("editLabel", "label the entry", "shift+l"),
        ("toggleLabelTimestamp", "show when labels were set", "shift+t"),
        ("filter.default", "show the usual entries", "ctrl+d"),
        ("filter.noTools", "hide tools", "ctrl+t"),
        ("filter.userOnly", "show only prompts", "ctrl+u"),
        ("filter.labeledOnly", "show only labelled entries", "ctrl+l"),
        ("filter.all", "show all entries", "ctrl+a"),
        ("filter.cycleForward", "use the next filter", "ctrl+o"),
        ("filter.cycleBackward", "use the filter before", "shift+ctrl+o"),
    ),
)

ACTIONS: tuple[Action, ...] = (*TUI_ACTIONS, *VIM_ACTIONS, *APP_ACTIONS)
