"""The first thing that is said: piped input, files and words together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.coding.tools.image_types import image_type
from pi.coding.tools.images import ImageLimits, prepare_image
from pi.modes.json_lines import Prompt

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is attached."""


class FileMissing(PiError):
    """A file that the command line names is not there."""


def assembled_prompts(
    messages: Sequence[str], files: Sequence[str], piped: str, *, cwd: Path, home: Path
) -> list[Prompt]:
    """Everything that is to be said, in order; the first one brings what was piped and attached."""
    attached = [_attached(name, cwd, home) for name in files]
    first, *later = messages or ("",)
    parts = (piped.strip(), "".join(prompt.text for prompt in attached) + first)
    notes = "".join(note for prompt in attached for note in prompt.notes)
    text = "\n\n".join(part for part in parts if part) + notes
    images = tuple(image for prompt in attached for image in prompt.images)
    if not text and not images:
        return [Prompt(text=message) for message in later]
    return [Prompt(text=text, images=images), *(Prompt(text=message) for message in later)]


class _Attached(Prompt):
    """What one file adds, and what is said of it at the end."""

    notes: tuple[str, ...] = ()


def _attached(name: str, cwd: Path, home: Path) -> _Attached:
    path = cwd / _expanded(name, home)
    try:
        with path.open("rb") as file:  # which may be a pipe: @<(command)
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileMissing(f"File not found: {path}") from None
    except OSError as problem:
        raise FileMissing(f"Cannot read {path}: {problem.strerror}") from problem
    if len(data) > LARGEST:
        raise FileMissing(f"Cannot read {path}: it is larger than {LARGEST >> 20} MiB.")
    kind = image_type(data)
    if kind is None:
        text = data.decode("utf-8", "replace")
        return _Attached(text=f'<file name="{path}">\n{text}\n</file>\n')
    prepared = prepare_image(data, kind, ImageLimits())
    images = () if prepared.image is None else (prepared.image,)
    notes = tuple(f"\n\n{note}" for note in prepared.notes)
    return _Attached(text=f'<file name="{path}"></file>\n', images=images, notes=notes)


def _expanded(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)
