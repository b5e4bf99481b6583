"""Edits a text in the external editor of the user."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.base.processes.terminal import run_attached

EDITOR_HINT = "Set another editor with /settings (externalEditor), VISUAL or EDITOR."


class EditorFailed(PiError):
    """The external editor did not start, or ended with an error."""


def editor_command(setting: str | None, environ: Mapping[str, str], system: str) -> list[str]:
    """Return the command of the setting, or else of ``VISUAL``, ``EDITOR`` or the default.

    Raises ``EditorFailed`` for an unclosed quotation mark.
    """
    import shlex  # deferred: only for an external editor

    usual = "notepad" if system == "win32" else "nano"
    candidates = (setting, environ.get("VISUAL"), environ.get("EDITOR"))
    text = next((candidate for candidate in candidates if candidate and candidate.strip()), usual)
    try:
        argv = shlex.split(text, posix=system != "win32")
    except ValueError as error:
        raise EditorFailed(f"Invalid editor command: {text} ({error}).", hint=EDITOR_HINT) from None
    return [word.strip('"') for word in argv]


async def edit_text(
    text: str, command: Sequence[str], *, suffix: str, cwd: Path, env: Mapping[str, str]
) -> str:
    """Return the edited text, without the newline that editors add.

    Raises ``EditorFailed`` if the editor ended with an error, as vim does for ``:cq``, or if the
    file cannot be written or read; ``SpawnFailed`` if it could not be started.
    """
    import tempfile  # deferred: only for an external editor

    try:
        with tempfile.TemporaryDirectory(prefix="pi-edit-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / f"prompt{suffix}"
            path.write_text(text, "utf-8", "replace", newline="\n")
            # A missing working directory must not prevent editing.
            working_directory = cwd if cwd.is_dir() else Path(folder)
            code = await run_attached([*command, str(path)], cwd=working_directory, env=env)
            if code:
                raise EditorFailed(
                    f"{command[0]} {describe_ending(code)}; the text is unchanged.",
                    hint=EDITOR_HINT,
                )
            return path.read_text("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
    except SpawnFailed as error:
        raise SpawnFailed(error.message, hint=EDITOR_HINT) from error
    except OSError as error:
        raise EditorFailed(
            f"The text is unchanged: the file for {command[0]} cannot be used"
            f" ({error.strerror or error})."
        ) from error


def describe_ending(code: int) -> str:
    """Describe how a program ended."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a signal without a name
        return f"was ended by signal {-code}"
