"""The hooks of one session: loading, consent, and running the hooks of an event."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pi.batteries.hooks.definitions import (
    FOLDER_EVENTS,
    HookDefinition,
    HookFile,
    chosen,
    folder_hook,
    matches,
    parse_settings,
)
from pi.batteries.hooks.execution import HookRunner, HookSession
from pi.batteries.hooks.outcomes import Outcome, merge_outcomes
from pi.extension import ExtensionAPI, Json, SpawnRequest, Where, one_line, replace

ENV_FILE = "CLAUDE_ENV_FILE"
SECONDS = 10.0
_PRINT = 'set -a; . "$0" >/dev/null 2>&1; env -0'
_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


class HookVariables:
    """Variables that hooks set by ``export NAME=value`` in a file; bash commands get them."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._file: Path | None = None
        self._values: dict[str, str] = {}
        pi.wrap_spawn(self._with_values, kinds=("bash", "user"))

    def of_hook(self, hook: HookDefinition) -> Mapping[str, str]:
        """Return the variables of a hook: the values, or for SessionStart the path of the file."""
        if hook.event != "SessionStart":
            return self._values
        if self._file is None:
            folder = tempfile.mkdtemp(prefix="pi-hooks-")
            self._pi.scope.on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
            self._file = Path(folder, "session.env")
            self._file.touch(mode=0o600)
        return {ENV_FILE: str(self._file)}

    async def refresh(self) -> None:
        """Evaluate the file in a shell, so that ``export PATH="$PATH:bin"`` works."""
        if self._file is None or self._file.stat().st_size == 0:
            return
        shell = self._pi.context.shell_setup().path
        options = {"environment": "command", "timeout": SECONDS, "kind": "hook"}
        before = await self._pi.exec([shell, "-c", _PRINT, "/dev/null"], **options)  # type: ignore[arg-type]
        after = await self._pi.exec([shell, "-c", _PRINT, str(self._file)], **options)  # type: ignore[arg-type]
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


KIND = "hook files"
MESSAGE = "hook"
"""Custom type of the messages that hooks add."""
HANDLER_SECONDS = 25.0
"""Time limit of hooks that run in event handlers, which pi ends after 30 seconds."""
_SETTINGS = ("settings.json", "config.yml")

_inside: ContextVar[bool] = ContextVar("inside a hook", default=False)


class SessionHooks:
    """Loads hooks and runs those of an event."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.variables = HookVariables(pi)
        self.runner = HookRunner(pi, self.variables.of_hook)
        self.hooks: tuple[HookDefinition, ...] = ()
        self.problems: tuple[str, ...] = ()
        self._ready: asyncio.Task[None] | None = None
        self._context: tuple[str, ...] = ()
        """Context of the session start; the first run adds it to the conversation."""
        pi.context.resources.add_kind(
            KIND, lambda text, path: (str(path), text), lambda pair: pair[0]
        )
        pi.context.resources.add_source(KIND, _files)

    @property
    def is_inside_hook(self) -> bool:
        """Whether the caller runs on behalf of a hook; its actions start no further hooks."""
        return _inside.get()

    # Loading --------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the definitions; those of a project only if it is trusted."""
        files = list(self._parse_files())
        self.problems = tuple(message for _, file in files for message in file.problems)
        off = {scope for scope, file in files if file.disabled}
        # A project can disable its own hooks, but not those of the user.
        is_off = "user" in off or (self._pi.settings.get("hooks") is False and not off)
        used = [file for scope, file in files if not is_off and scope not in off]
        self.hooks = chosen(hook for file in used for hook in file.hooks)

    def _parse_files(self) -> Iterator[tuple[str, HookFile]]:
        uses_claude = self._pi.settings.get("sources.claude") is not False
        for item in self._pi.context.resources.load(KIND):
            path, text = item.value
            origin = "claude" if item.path.parent.name == ".claude" else "pi"
            if origin == "claude" and not uses_claude:
                continue
            attributes = {"origin": origin, "scope": item.scope}
            if item.path.parent.name in FOLDER_EVENTS:
                executable = os.access(path, os.X_OK)
                yield item.scope, folder_hook(item.path, executable=executable, **attributes)
            else:
                yield item.scope, parse_settings(text, item.path, **attributes)
        if isinstance(hooks := self._pi.settings.get_session("hooks"), dict):
            text, source = json.dumps({"hooks": hooks}), Path("this session")
            yield "user", parse_settings(text, source, origin="pi", scope="user")

    def start(self, source: str | None) -> None:
        """Ask for consent and run the hooks of a session start, in the background.

        Runs wait until that has ended: see ``ready``.
        """
        self._ready = self._pi.scope.spawn(self._start(source), name="session start hooks")

    async def ready(self) -> tuple[str, ...]:
        """Wait until consent is decided and the hooks of the session start have ended.

        Returns their context; empty after the first call.
        """
        if self._ready is not None:
            await asyncio.shield(self._ready)
        context, self._context = self._context, ()
        return context

    async def _start(self, source: str | None) -> None:
        for message in self.problems:
            self.report(message)
        requests = [await self.runner.consent_request(hook) for hook in self.hooks]
        pending = [request for request in requests if request is not None]
        if pending:
            with inside_hook():
                await self._pi.context.consent.allowed(pending)
        if source is not None:
            outcome = await self.fire("SessionStart", (source,), source=source)
            await self.variables.refresh()
            self._context = outcome.context

    # Firing ---------------------------------------------------------------------------------------

    def has(self, event: str) -> bool:
        """Whether an event has hooks that may run now."""
        return not _inside.get() and any(hook.event == event for hook in self.hooks)

    async def fire(
        self, event: str, subjects: Sequence[str] = (), values: Sequence[str] = (), **fields: Any
    ) -> Outcome:
        """Run all hooks of an event concurrently and return their merged outcome.

        Matchers are compared with ``subjects``, conditions with ``values``. Messages for the user
        are shown.
        """
        if not self.has(event):
            return Outcome()
        matching = [h for h in self.hooks if h.event == event and matches(h, subjects, values)]
        payload = self.facts.payload(event, **fields)
        waiting = []
        for hook in matching:
            if hook.is_async:
                self._pi.scope.spawn(self._in_background(hook, payload), name=f"{event} hook")
            else:
                waiting.append(self._run(hook, payload))
        outcome = merge_outcomes(await asyncio.gather(*waiting))
        for notice in outcome.notices:
            self.report(notice)
        return outcome

    async def fire_within(self, seconds: float, event: str, *args: Any, **fields: Any) -> Outcome:
        """Run the hooks of an event with a time limit; a late decision is ignored."""
        try:
            async with asyncio.timeout(seconds):
                return await self.fire(event, *args, **fields)
        except TimeoutError:
            self.report(f"The {event} hooks did not end within {seconds:g} seconds.")
            return Outcome()

    async def _run(self, hook: HookDefinition, payload: Json) -> Outcome:
        with inside_hook():
            return await self.runner.run(hook, payload)

    async def _in_background(self, hook: HookDefinition, payload: Json) -> None:
        outcome = merge_outcomes([await self._run(hook, payload)])
        for notice in outcome.notices:
            self.report(notice)
        await self.add_context(outcome)

    # Effects --------------------------------------------------------------------------------------

    @property
    def facts(self) -> HookSession:
        """The facts about the session for payloads."""
        session = self._pi.context.session_manager
        file = session.get_session_file()
        return HookSession(
            session_id=session.get_session_id(),
            transcript_path="" if file is None else str(file),
            cwd=str(self._pi.context.cwd),
        )

    async def add_context(self, outcome: Outcome) -> None:
        """Send the context of hooks to the model, with the next request."""
        for text in outcome.context:
            message = {"custom_type": MESSAGE, "content": text, "display": False}
            await self._pi.send_message(message)

    def report(self, text: str) -> None:
        """Show a line to the user; without a user interface on standard error."""
        ctx = self._pi.context
        if ctx.has_ui:
            ctx.ui.notify(text, "warning")
        else:
            sys.stderr.write(f"Warning: {one_line(text)}\n")


@contextmanager
def inside_hook() -> Iterator[None]:
    """Run no hooks for dialogs and tool calls inside the block."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def _files(locations: Where) -> Iterator[Path]:
    """Yield the files that define hooks; missing ones are skipped by the caller."""
    yield from (locations.agent_dir / name for name in _SETTINGS)
    yield from _scripts(locations.agent_dir)
    if locations.cwd != locations.home:
        yield locations.home / ".claude/settings.json"
    yield from (locations.cwd / ".pi" / name for name in _SETTINGS)
    if locations.allows(locations.cwd / ".pi"):
        yield from _scripts(locations.cwd / ".pi")
    yield from (
        locations.cwd / ".claude" / name for name in ("settings.json", "settings.local.json")
    )


def _scripts(folder: Path) -> Iterator[Path]:
    for name in FOLDER_EVENTS:
        try:
            yield from sorted((folder / "hooks" / name).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            continue
