"""Attaches the files that a prompt mentions as ``@path``, and parses messages with attachments.

The form is the one of files on the command line: a ``<file name="…">`` block per file, then the
text with its mentions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pi.ai.messages import Image
from pi.base.files import read_regular
from pi.base.records import Record
from pi.coding.resources.ignore import compile_glob
from pi.coding.tools.images import ImageLimits, image_type, prepare_image

MAX_FILE_BYTES = 256 * 1024
"""Largest text file that is attached; the model can read larger ones with its tools."""
MAX_IMAGE_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024
"""Largest size of all attached texts of a prompt together."""
MAX_MENTIONS = 50
MAX_ENTRIES = 200
"""Most names that are listed for a directory or a pattern."""
MAX_SEARCHED = 50_000
"""Most paths that are compared with a pattern; exceeded by at most one folder."""

_MENTION = re.compile(r'(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"]+))')
_WILDCARD = re.compile(r"[*?\[{]")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Folders that a pattern does not search."""
PUNCTUATION = ".,;:!?)]}'"
"""Characters at the end of a mention that may belong to the sentence."""
_BLOCK = re.compile(r'<file name="(?P<name>[^"\n]+)">(?:\n(?P<text>.*?)\n)?</file>\n', re.S)


class Attachment(Record):
    """Text and images that one mention adds to the prompt."""

    path: str
    """As typed."""
    chip: str
    """A short description, such as ``12 lines``."""
    text: str = ""
    images: tuple[Image, ...] = ()
    problem: str = ""
    """Why nothing is attached."""


def file_block(path: Path, text: str | None) -> str:
    """Return the block of a file; without text for an image."""
    inside = "" if text is None else f"\n{text}\n"
    return f'<file name="{path}">{inside}</file>\n'


def find_mentions(text: str) -> list[str]:
    """Return the mentioned paths in order, each once, up to a limit; they need not exist."""
    paths = (match["quoted"] or match["bare"] for match in _MENTION.finditer(text))
    return list(islice(dict.fromkeys(paths), MAX_MENTIONS))


def attachments(text: str, *, cwd: Path, home: Path, limits: ImageLimits) -> list[Attachment]:
    """Read the mentioned files; missing ones are ignored. Blocks: call it in a thread."""
    attached_files, remaining = [], MAX_TOTAL_BYTES
    for name in find_mentions(text):
        existing = _find_existing(name, cwd, home)
        if existing is None:
            continue
        attached = _attach(*existing, cwd=cwd, limits=limits, remaining=remaining)
        remaining -= len(attached.text.encode("utf-8", "replace"))
        attached_files.append(attached)
    return attached_files


def _find_existing(name: str, cwd: Path, home: Path) -> tuple[str, Path] | None:
    """Return name and path of a mention, or ``None`` if the path does not exist.

    Trailing punctuation is dropped if the path exists only without it.
    """
    names = [name]
    if (bare := name.rstrip(PUNCTUATION)) and bare != name:
        names.append(bare)
    for candidate in names:
        path = cwd / (home / candidate[2:] if candidate.startswith("~/") else candidate)
        try:
            is_pattern = _WILDCARD.search(candidate) is not None
            if path.exists() or (is_pattern and next(_matches(path), None) is not None):
                return candidate, path
        except (OSError, ValueError):  # too long, or with a zero byte
            continue
    return None


def _attach(name: str, path: Path, *, cwd: Path, limits: ImageLimits, remaining: int) -> Attachment:
    try:
        if not path.exists():
            return _attach_folder(name, path, list(islice(_matches(path), MAX_ENTRIES + 1)), cwd)
        if path.is_dir():
            return _attach_folder(name, path, list(islice(_list_names(path), MAX_ENTRIES + 1)), cwd)
        data = read_regular(path, max_bytes=MAX_IMAGE_BYTES)
    except OSError as error:
        return _refused_attachment(name, error.strerror or str(error))
    kind = image_type(data)
    if kind is None:
        return _attach_text(name, path, data, remaining)
    prepared = prepare_image(data, kind, limits)
    if prepared.image is None:
        return _refused_attachment(name, " ".join(prepared.notes))
    block = file_block(path, None)
    return Attachment(path=name, chip="image", text=block, images=(prepared.image,))


def _attach_text(name: str, path: Path, data: bytes, remaining: int) -> Attachment:
    if b"\0" in data[:8192]:
        return _refused_attachment(name, "it is not a text file")
    if len(data) > min(MAX_FILE_BYTES, remaining):
        limit = f"{MAX_FILE_BYTES >> 10} KiB per file, {MAX_TOTAL_BYTES >> 20} MiB per prompt"
        return _refused_attachment(
            name, f"{_size(len(data))} is more than the limit ({limit}); the model can read it"
        )
    text = data.decode("utf-8", "replace")
    return Attachment(path=name, chip=_describe_length(text), text=file_block(path, text))


def _refused_attachment(name: str, reason: str) -> Attachment:
    return Attachment(path=name, chip="not attached", problem=reason)


def _attach_folder(name: str, path: Path, names: list[str], cwd: Path) -> Attachment:
    names = [_make_relative(path, cwd) for path in names]
    more = ["… and more"] if len(names) > MAX_ENTRIES else []
    count = f"{MAX_ENTRIES}+" if more else str(len(names))
    chip = f"{count} {'entry' if count == '1' else 'entries'}"
    text = "\n".join([*names[:MAX_ENTRIES], *more])
    return Attachment(path=name, chip=chip, text=file_block(path, text))


def _list_names(folder: Path) -> Iterator[str]:
    """Yield the names in a directory, in order; directories end with a slash."""
    for path in sorted(folder.iterdir()):
        yield f"{path.name}/" if path.is_dir() else path.name


def _matches(pattern: Path) -> Iterator[str]:
    """Yield the paths that match a pattern, in order.

    The search begins at the last folder without a wildcard. It ends after ``MAX_SEARCHED`` paths,
    so that a pattern for a whole disk does not block.
    """
    parts = pattern.parts
    fixed = next((index for index, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    expression, seen = compile_glob(pattern.as_posix()), 0
    depth = None if "**" in parts else len(parts) - fixed
    top = Path(*parts[:fixed])
    for folder, folders, files in os.walk(top):
        level = len(Path(folder).parts) - fixed + 1
        for name in sorted((*folders, *files)):
            seen += 1
            if expression.fullmatch(path := f"{folder.rstrip('/')}/{name}"):
                yield path
        if seen > MAX_SEARCHED:
            return
        folders[:] = sorted(subfolder for subfolder in folders if subfolder not in _SKIPPED)
        if depth is not None and level >= depth:
            folders.clear()


def _make_relative(path: str, cwd: Path) -> str:
    return path.removeprefix(f"{cwd}/")


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.0f} KiB"


def _describe_length(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} line{'' if lines == 1 else 's'}"


# Parsing messages with attachments ----------------------------------------------------------------


def with_chips(text: str) -> str | None:
    """Return a message with a chip beside each mention instead of the blocks before the text.

    ``None`` if there are no blocks, or if the text does not mention one of their files.
    """
    chips, text = _leading_blocks(text)
    for name, chip in chips:
        mention = next((m for m in _MENTION.finditer(text) if _mentions_path(m, name)), None)
        if mention is None:
            return None
        end = mention.end()
        if not _ends_with(name, mention["quoted"] or mention["bare"]):
            end -= len(mention["bare"]) - len(mention["bare"].rstrip(PUNCTUATION))
        text = f"{text[:end]} [{chip}]{text[end:]}"
    return text if chips else None


def without_attachments(text: str) -> str:
    """Return a message without its leading blocks; unchanged if a block is not mentioned."""
    chips, rest = _leading_blocks(text)
    mentions = list(_MENTION.finditer(rest))
    is_typed = all(any(_mentions_path(m, name) for m in mentions) for name, _ in chips)
    return rest if is_typed else text


def _leading_blocks(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the names and chips of the blocks before the text, and the text."""
    chips, position = [], 0
    while (block := _BLOCK.match(text, position)) is not None:
        inside = block["text"]
        chips.append((block["name"], "image" if inside is None else _describe_length(inside)))
        position = block.end()
    return chips, text[position:]


def _mentions_path(mention: re.Match[str], path: str) -> bool:
    """Whether a mention names the file of a block, whose path is absolute."""
    name = mention["quoted"] or mention["bare"]
    return _ends_with(path, name) or _ends_with(path, name.rstrip(PUNCTUATION))


def _ends_with(path: str, name: str) -> bool:
    end = name.removeprefix("~").removeprefix("./").strip("/")
    return bool(end) and path.rstrip("/").endswith(end)
