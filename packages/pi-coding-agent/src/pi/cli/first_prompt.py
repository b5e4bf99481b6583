"""The first prompt of a session: arguments, attached files and piped input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pi.base.errors import PiError
from pi.modes.headless import PromptInput
from pi.modes.stdio import in_daemon_thread

LARGEST = 64 * 1024 * 1024
"""Maximum size of an attached file in bytes."""


class FileMissing(PiError):
    """A file on the command line cannot be read: missing, unreadable or too large."""


class Attached(PromptInput):
    """The text, images and notes that one file adds to the prompt."""

    notes: tuple[str, ...] = ()


class AttachedFiles:
    """Reads the files of the command line, each once: ``@<(command)`` is a pipe."""

    def __init__(self, cwd: Path, home: Path) -> None:
        self._cwd = cwd
        self._home = home
        self._read: dict[str, Attached] = {}

    async def read(self, names: Sequence[str]) -> list[Attached]:
        """Return the text and images of the files for the prompt. Raises ``FileMissing``.

        A named pipe without a writer blocks this until pi ends.
        """
        for name in names:
            if name not in self._read:
                path = self._cwd / _expand_path(name, self._home)
                # A pipe can wait for ever, and a large picture takes long to decode.
                self._read[name] = await in_daemon_thread(partial(_read_attachment, path))
        return [self._read[name] for name in names]


def build_prompts(
    messages: Sequence[str], attached: Sequence[Attached], piped: str
) -> list[PromptInput]:
    """Return all prompts in order; the first includes piped input and attached files."""
    first, *later = messages or ("",)
    parts = (piped.strip(), "".join(prompt.text for prompt in attached) + first)
    notes = "".join(note for prompt in attached for note in prompt.notes)
    text = "\n\n".join(part for part in parts if part) + notes
    images = tuple(image for prompt in attached for image in prompt.images)
    if not text and not images:
        return [PromptInput(text=message) for message in later]
    return [
        PromptInput(text=text, images=images),
        *(PromptInput(text=message) for message in later),
    ]


def _read_attachment(path: Path) -> Attached:
    # Deferred: few command lines attach files.
    from pi.coding.mentions import file_block
    from pi.coding.tools.images import ImageLimits, image_type, prepare_image

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileMissing(f"File not found: {path}") from None
    except OSError as error:
        raise FileMissing(f"Cannot read {path}: {error.strerror}") from error
    if len(data) > LARGEST:
        raise FileMissing(f"Cannot read {path}: larger than {LARGEST >> 20} MiB.")
    kind = image_type(data)
    if kind is None:
        text = data.decode("utf-8", "replace")
        return Attached(text=file_block(path, text))
    prepared = prepare_image(data, kind, ImageLimits())
    images = () if prepared.image is None else (prepared.image,)
    notes = tuple(f"\n\n{note}" for note in prepared.notes)
    return Attached(text=file_block(path, None), images=images, notes=notes)


def _expand_path(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)
