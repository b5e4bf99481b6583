"""A text in the person's own editor, which gets the whole terminal meanwhile."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.base.processes.attached import run_attached

_HINT = "Name another editor with /settings (externalEditor), VISUAL or EDITOR."


class EditorFailed(PiError):
    """The person's editor did not run, or said that the text is not to be used."""


def editor_command(setting: str | None, environ: Mapping[str, str], system: str) -> list[str]:
    """The words of the command: of the setting, else ``VISUAL``, ``EDITOR`` or what there is.

    ``EditorFailed`` if a quotation mark in it is never closed.
    """
    import shlex  # only when an editor is wanted

    usual = "notepad" if system == "win32" else "nano"
    wishes = (setting, environ.get("VISUAL"), environ.get("EDITOR"))
    text = next((wish for wish in wishes if wish and wish.strip()), usual)
    try:
        words = shlex.split(text, posix=system != "win32")
    except ValueError as problem:
        raise EditorFailed(f"The editor cannot be run: {text} ({problem}).", hint=_HINT) from None
    return [word.strip('"') for word in words]


async def edit_text(
    text: str, command: Sequence[str], *, suffix: str, cwd: Path, env: Mapping[str, str]
) -> str:
    """The text as the editor left it, without the line end that editors add.

    ``EditorFailed`` if it ended with an error, as vim does for ``:cq``, or the file cannot be
    written or read; ``SpawnFailed`` if it could not be started.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="pi-edit-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / f"prompt{suffix}"
            path.write_text(text, "utf-8", "replace", newline="\n")
            # A folder that is gone is no reason not to edit a text.
            where = cwd if cwd.is_dir() else Path(folder)
            code = await run_attached([*command, str(path)], cwd=where, env=env)
            if code:
                raise EditorFailed(
                    f"{command[0]} {_ending(code)}; the text is as it was.", hint=_HINT
                )
            return path.read_text("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
    except SpawnFailed as problem:
        raise SpawnFailed(problem.message, hint=_HINT) from problem
    except OSError as problem:
        raise EditorFailed(
            f"The text is as it was: the file for {command[0]} cannot be used"
            f" ({problem.strerror or problem})."
        ) from problem


def _ending(code: int) -> str:
    """How a program ended, in words."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a signal without a name
        return f"was ended by signal {-code}"
