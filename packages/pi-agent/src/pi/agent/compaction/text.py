"""Text for summaries: tags, truncation, serialised messages, files read and changed. Pure.

History contains untrusted text: a tool result may contain ``</conversation>`` followed by
instructions, so each message is wrapped in tags that its text cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from posixpath import normpath

from pi.agent.compaction.budget import CompactionItem, Role, exchanges
from pi.ai.json_text import json_text, without_surrogates
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.records import Record

REQUEST_TAGS = (
    "conversation",
    "previous-summary",
    "additional-context",
    "user",
    "assistant",
    "thinking",
    "call",
    "result",
    "error",
    "shell",
    "note",
    "branch-summary",
    "earlier-summary",
)
"""Tags of a request to the summarising model."""

SUMMARY_TAGS = ("summary", "carry-over", "read-files", "modified-files", "files")
"""Tags in and around a stored summary."""


def wrap_in_tag(tag: str, text: str, **attributes: str) -> str:
    """Return ``text`` between the opening and closing ``tag``, each on its own line."""
    described = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{described}>\n{text}\n</{tag}>"


def escape_tags(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
    """Return ``text`` with ``tags`` escaped."""
    return re.sub(rf"<(?=\s*+(?:/\s*+)?(?:{'|'.join(tags)})\b)", "&lt;", text, flags=re.IGNORECASE)


def cleaned(text: str, tags: tuple[str, ...] = REQUEST_TAGS) -> str:
    """Return ``text`` as valid Unicode, with ``tags`` escaped."""
    return escape_tags(without_surrogates(text), tags)


def without_blocks(summary: str) -> str:
    """Return a stored summary without the blocks that pi adds to the model's text."""
    blocks = "|".join(SUMMARY_TAGS[1:])
    pattern = rf"(?<!\s)\s*<({blocks})>\n.*?\n</\1>"
    return re.sub(pattern, "", summary, flags=re.DOTALL).strip()


_TITLES = {
    "<carry-over>": "Carried over",
    "<read-files>": "Files read",
    "<modified-files>": "Files changed",
    "<files>": "Files",
}


def readable_summary(summary: str) -> str:
    """Return a stored summary as Markdown for display: headings and lists instead of tagged blocks.

    Works line by line: a session file may contain any number of unclosed tags.
    """
    lines: list[str] = []
    opening, body = "", list[str]()
    for line in summary.split("\n"):
        if opening and line == f"</{opening[1:]}":
            lines += _titled(opening, body)
            opening, body = "", []
        elif opening:
            body.append(line)
        elif line in _TITLES:
            opening = line
        else:
            lines.append(line)
    unclosed = [opening, *body] if opening else []
    return "\n".join((*lines, *unclosed)).strip()


def _titled(opening: str, body: list[str]) -> list[str]:
    match opening:
        case "<carry-over>":  # its own headings now belong below this one
            lines = [f"#{line}" if line.startswith("## ") else line for line in body]
        case "<files>":  # a tree, in which the indentation matters
            lines = ["```text", *body, "```"]
        case _:
            lines = [f"- {line}" for line in body]
    return ["", f"## {_TITLES[opening]}", "", *lines]


HEAD = 0.6
"""Share of a truncated text that its beginning gets; the end of an output has the errors."""
MIN_CHARACTERS = 20
"""Characters below which two ends are useless."""


def shortened(text: str, most: int, *, suffix: str = "") -> str:
    """Return ``text`` with its middle left out, at most ``most`` characters long.

    The mark in the middle ends with ``suffix``. Returns ``""`` if ``most`` is too small for it.
    """
    if len(text) <= most:
        return text
    mark = f"\n[... about {len(text) - most} characters left out{suffix} ...]\n"
    budget = most - len(mark)
    if budget < MIN_CHARACTERS:
        return ""
    head = int(budget * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (budget - head) :]}"


MAX_RESULT = 2000
MAX_THINKING = 2000
MAX_ARGUMENT = 500
MAX_CALL = 2000

_TAGS: dict[Role, str] = {
    "bashExecution": "shell",
    "custom": "note",
    "branchSummary": "branch-summary",
    "compactionSummary": "earlier-summary",
}


def serialise(items: Sequence[CompactionItem]) -> tuple[str, ...]:
    """Return one text per message; calls with a useless result are left out together with it."""
    useless_calls, useless_results = set(), set()
    for exchange in exchanges(items):
        if exchange.answered_at is not None and items[exchange.answered_at].useless:
            useless_calls.add((exchange.called_at, exchange.call.id))
            useless_results.add(exchange.answered_at)
    texts = []
    for index, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                parts = [
                    _block(block)
                    for block in answer.content
                    if not (isinstance(block, ToolCall) and (index, block.id) in useless_calls)
                ]
                texts.append("\n".join(filter(None, parts)))
            case ToolResultMessage() as result if index not in useless_results:
                texts.append(_result(result))
            case UserMessage() as message:
                tag = _TAGS.get(item.role, "user")
                texts.append(_element(tag, plain_text(message.content)))
            case _:
                pass
    return tuple(filter(None, texts))


def plain_text(content: str | tuple[Text | Image, ...]) -> str:
    """Return the text of a message, with a placeholder for each image."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"[picture, {block.mime_type}]"
        for block in blocks(content)
    )


def _block(block: Text | Thinking | ToolCall) -> str:
    match block:
        case Text():
            return _element("assistant", block.text)
        case Thinking():
            return _element("thinking", shortened(block.thinking, MAX_THINKING))
    return _element("call", _arguments(block.arguments), tool=escape_tags(block.name))


def _arguments(arguments: Json) -> str:
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json_text(value)
        lines.append(f"{name}: {shortened(text, MAX_ARGUMENT)}")
    return shortened("\n".join(lines), MAX_CALL) or "(no arguments)"


def _result(result: ToolResultMessage) -> str:
    text = shortened(plain_text(result.content), MAX_RESULT)
    return _element(
        "error" if result.is_error else "result", text, tool=escape_tags(result.tool_name)
    )


def _element(tag: str, text: str, **attributes: str) -> str:
    clean = cleaned(text)
    return wrap_in_tag(tag, clean, **attributes) if clean.strip() else ""


# Files read and changed, from tool calls ----------------------------------------------------------


READING = frozenset({"read"})
CHANGING = frozenset({"write", "edit"})

_LINES = r"(?::|#L)\d+(?:[-+]L?\d+)?(?:,\d+(?:[-+]\d+)?)*$"
"""A line selection after a path, e.g. ``:10-20,30``."""
_URL = r"^[A-Za-z][A-Za-z0-9+.-]*://"


class FileLists(Record):
    """Files by operation, the latest last; no file is in both lists."""

    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()


def file_operations(items: Sequence[CompactionItem], earlier: FileLists | None = None) -> FileLists:
    """Return the files of ``earlier``, of successful calls in ``items``, and of summaries."""
    read, modified = _Touched(), _Touched()
    for lists in (earlier or FileLists(), *(file_lists(item.details or {}) for item in items)):
        read.add(lists.read_files)
        modified.add(lists.modified_files)
    for exchange in exchanges(items):
        if exchange.result is not None and exchange.result.is_error:
            continue
        path = _path(exchange.call.arguments)
        if path and exchange.call.name in READING:
            read.add([path])
        elif path and exchange.call.name in CHANGING:
            modified.add([path])
    return FileLists(
        read_files=tuple(path for path in read.paths if path not in modified.paths),
        modified_files=tuple(modified.paths),
    )


class FileTree(FileLists):
    """Files that are shown as one tree."""

    also_read: tuple[str, ...] = ()
    """Modified files that were read as well."""


def file_tree(
    items: Sequence[CompactionItem], files: FileLists, earlier: Json | None = None
) -> FileTree:
    """Return ``files`` with those that were read as well, also before an ``earlier`` summary."""
    earlier_details = earlier or {}
    read = set(_strings(earlier_details.get("readFiles"))) | set(
        _strings(earlier_details.get("alsoReadFiles"))
    )
    for exchange in exchanges(items):
        if exchange.call.name in READING and not (exchange.result and exchange.result.is_error):
            read.add(_path(exchange.call.arguments) or "")
    return FileTree(
        read_files=files.read_files,
        modified_files=files.modified_files,
        also_read=tuple(path for path in files.modified_files if path in read),
    )


class FileOps(Record):
    """Files by operation, in the form that extensions of the original expect."""

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    edited: frozenset[str] = frozenset()
    """Includes files that an earlier compaction lists as modified."""


def by_operation(items: Sequence[CompactionItem], files: FileLists) -> FileOps:
    """Split ``files`` by operation; ``items`` shows which files were written completely."""
    calls = (exchange.call for exchange in exchanges(items))
    written = {_path(call.arguments) for call in calls if call.name == "write"}
    modified = frozenset(files.modified_files)
    return FileOps(
        read=frozenset(files.read_files), written=modified & written, edited=modified - written
    )


def file_blocks(files: FileLists, most: int) -> str:
    """Return ``<read-files>`` and ``<modified-files>``, one path per line, within ``most``
    characters.

    If not all fit, changed files precede read ones and new ones precede old ones. A ``FileTree``
    becomes one ``<files>`` block instead.
    """
    if isinstance(files, FileTree):
        return _tree_block(files, most)
    modified = _path_block("modified-files", files.modified_files, most)
    remaining = most - len(modified) - 1 if modified else most
    read = _path_block("read-files", files.read_files, remaining)
    return "\n".join(filter(None, (read, modified)))


class _Touched:
    """Paths in the order of their last use."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.paths.pop(path, None)
            self.paths[path] = None


def _path(arguments: Json) -> str | None:
    """Return the file of a call; ``None`` for a URL or a path with line breaks."""
    path = arguments.get("path") or arguments.get("file_path")
    if not isinstance(path, str) or re.search(_URL, path) or not path.isprintable():
        return None
    return normpath(re.sub(_LINES, "", path.strip())) if path.strip() else None


def file_lists(details: Json) -> FileLists:
    """Return the lists in the details of a stored summary, also of another program."""
    return FileLists(
        read_files=_strings(details.get("readFiles")),
        modified_files=_strings(details.get("modifiedFiles")),
    )


def _strings(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in entries if isinstance(item, str))


MAX_TREE = 20
"""Maximum number of files in a tree."""


def _tree_block(files: FileTree, most: int) -> str:
    """Return the tree of the newest files that fit, changed ones first."""
    marks = dict.fromkeys(files.read_files, "Read")
    marks |= {path: "RW" if path in files.also_read else "Write" for path in files.modified_files}
    order = [*reversed(files.modified_files), *reversed(files.read_files)]
    for count in range(min(MAX_TREE, len(order)), 0, -1):
        lines = _tree({path: marks[path] for path in sorted(order[:count])})
        if more := len(order) - count:
            lines.append(f"… ({more} more files omitted)")
        if len(block := wrap_in_tag("files", "\n".join(lines))) <= most:
            return block
    return ""


def _tree(marks: dict[str, str]) -> list[str]:
    """Return the lines: a heading for each folder, one more ``#`` inside the folder above."""
    lines: list[str] = []
    open_folders: list[str] = []
    by_folder: dict[str, list[str]] = {}
    for path in marks:
        by_folder.setdefault(path.rpartition("/")[0], []).append(path)
    for folder in sorted(by_folder):
        while open_folders and not folder.startswith(f"{open_folders[-1]}/"):
            open_folders.pop()
        relative_folder = folder.removeprefix(f"{open_folders[-1]}/") if open_folders else folder
        if folder:
            open_folders.append(folder)
            heading = f"{'#' * len(open_folders)} {relative_folder}/"
            lines.append(escape_tags(heading, SUMMARY_TAGS))
        for path in by_folder[folder]:
            name = escape_tags(path.rpartition("/")[2], SUMMARY_TAGS)
            lines.append(f"{name} ({marks[path]})")
    return lines


def _path_block(tag: str, paths: Sequence[str], most: int) -> str:
    lines = [escape_tags(path, SUMMARY_TAGS) for path in paths]
    if len(block := wrap_in_tag(tag, "\n".join(lines))) <= most:
        return block if lines else ""
    remaining = most - len(wrap_in_tag(tag, f"... and {len(lines)} more"))
    fitting: list[str] = []
    for line in reversed(lines):
        remaining -= len(line) + 1
        if remaining < 0:
            break
        fitting.append(line)
    fitting.reverse()
    rest = f"... and {len(lines) - len(fitting)} more"
    return wrap_in_tag(tag, "\n".join((*fitting, rest))) if fitting else ""
