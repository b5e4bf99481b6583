"""A text in the person's own editor, which gets the whole terminal meanwhile."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes.attached import run_attached


class EditorFailed(PiError):
    """The person's editor did not run, or said that the text is not to be used."""


def editor_command(setting: str | None, environ: Mapping[str, str], system: str) -> list[str]:
    """The words of the command: of the setting, else ``VISUAL``, ``EDITOR`` or what there is."""
    import shlex  # only when an editor is wanted

    usual = "notepad" if system == "win32" else "nano"
    words = setting or environ.get("VISUAL") or environ.get("EDITOR") or usual
    return [word.strip('"') for word in shlex.split(words, posix=system != "win32")]


async def edit_text(
    text: str, command: Sequence[str], *, suffix: str, cwd: Path, env: Mapping[str, str]
) -> str:
    """The text as the editor left it, without the line end that editors add.

    ``EditorFailed`` if it could not be started or ended with an error, as vim does for ``:cq``.
    """
    with tempfile.TemporaryDirectory(prefix="pi-edit-") as folder:
        path = Path(folder) / f"prompt{suffix}"
        path.write_text(text, "utf-8", newline="\n")
        code = await run_attached([*command, str(path)], cwd=cwd, env=env)
        if code:
            raise EditorFailed(
                f"{command[0]} ended with code {code}; the text is as it was.",
                hint="Set externalEditor, VISUAL or EDITOR to another editor.",
            )
        return path.read_text("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
