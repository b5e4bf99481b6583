"""Variables that hooks of a session start set for later commands: ``CLAUDE_ENV_FILE``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pi.batteries.hooks.definitions import HookDefinition
from pi.extension import ExtensionAPI, SpawnRequest, replace

ENV_FILE = "CLAUDE_ENV_FILE"
SECONDS = 10.0
_PRINT = 'set -a; . "$0" >/dev/null 2>&1; env -0'
_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


class HookVariables:
    """A file that hooks append ``export NAME=value`` to; bash commands get the result."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._file: Path | None = None
        self._values: dict[str, str] = {}
        pi.wrap_spawn(self._with_values, kinds=("bash", "user"))

    def of_hook(self, hook: HookDefinition) -> Mapping[str, str]:
        """Return the variables of a hook: the file for session starts, the values for others."""
        if hook.event != "SessionStart":
            return self._values
        if self._file is None:
            folder = tempfile.mkdtemp(prefix="pi-hooks-")
            self._pi.scope.on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
            self._file = Path(folder, "session.env")
            self._file.touch(mode=0o600)
        return {ENV_FILE: str(self._file)}

    async def refresh(self) -> None:
        """Evaluate the file in a shell: ``export PATH="$PATH:bin"`` must work too."""
        if self._file is None or self._file.stat().st_size == 0:
            return
        shell = self._pi.context.shell_setup().path
        how = {"environment": "command", "timeout": SECONDS, "kind": "hook"}
        before = await self._pi.exec([shell, "-c", _PRINT, "/dev/null"], **how)  # type: ignore[arg-type]
        after = await self._pi.exec([shell, "-c", _PRINT, str(self._file)], **how)  # type: ignore[arg-type]
        if after.code != 0:
            self._pi.log.warning("%s could not be evaluated: %s", self._file, after.stderr)
            return
        usual = _variables(before.stdout)
        self._values = {
            name: value
            for name, value in _variables(after.stdout).items()
            if usual.get(name) != value and name not in _OF_THE_SHELL
        }

    def _with_values(self, request: SpawnRequest) -> SpawnRequest:
        if not self._values:
            return request
        return replace(request, env={**request.env, **self._values})


def _variables(text: str) -> dict[str, str]:
    pairs = (row.partition("=") for row in text.split("\0") if "=" in row)
    return {name: value for name, _, value in pairs}
