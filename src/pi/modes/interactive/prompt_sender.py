"""From what the person sends to the session: prompts, commands, the shell, and taking it back."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.base.tasks import TaskScope
from pi.coding.extension_host.contributions.commands import split_command
from pi.coding.port.results import Streaming
from pi.coding.resources.prompts import MissingValues
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.dialogs.questions import ask_text
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import Commands, Ui

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


PATIENCE = 2.0
"""Seconds for which a command of an extension holds up what is said after it."""


class UnknownCommand(PiError):
    """What was typed looks like a command, and there is none of that name."""


class PromptSender:
    """Sends what is submitted. What cannot be delivered yet waits, and is shown meanwhile.

    ``after_command`` is called when a command of the application has ended.
    """

    def __init__(
        self,
        ui: Ui,
        composer: Composer,
        transcript: TranscriptView,
        tasks: TaskScope,
        *,
        after_command: Callable[[], None] = lambda: None,
    ) -> None:
        self._ui = ui
        self._after_command = after_command
        self._composer = composer
        self._transcript = transcript
        self._tasks = tasks
        self._port: SessionPort | None = None
        self._commands: Commands | None = None
        self._waiting: list[tuple[str, tuple[Image, ...]]] = []
        """What was sent before anybody could take it."""
        self._queued: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._turn = asyncio.Lock()
        self._shell_runs = 0

    def open(self, port: SessionPort, commands: Commands) -> None:
        """The session is there: from now on things are delivered."""
        self._port, self._commands = port, commands
        self.deliver_waiting()

    @property
    def is_open(self) -> bool:
        """Whether what is sent is delivered."""
        return self._port is not None

    @property
    def is_shell_running(self) -> bool:
        """Whether a command of the person runs."""
        return self._shell_runs > 0

    def submit(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Send what was written, whatever it is; while the agent works it steers."""
        self._send(text, images, "steer")

    def follow_up(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Send it for when the agent would stop."""
        self._send(text, images, "followUp")

    def deliver_waiting(self) -> None:
        """Send what has waited, if it can be taken now."""
        if not self._waiting or self._must_wait:
            return
        waiting, self._waiting = self._waiting, []
        self._show_queued()
        for text, images in waiting:
            self.submit(text, images)

    def queue_changed(self, steering: tuple[str, ...], follow_up: tuple[str, ...]) -> None:
        """The session's own queues are others now."""
        self._queued = (steering, follow_up)
        self._show_queued()

    def moved(self, port: SessionPort) -> None:
        """Another session may be shown now: what that one does not know of comes back."""
        if any(self._queued) and not port.facts.state().pending_message_count:
            steering, follow_up = self._queued
            self.queue_changed((), ())
            self._composer.take_back([*steering, *follow_up])

    async def take_back(self) -> bool:
        """Put what is not delivered back into the editor; whether there was something."""
        texts: list[str] = []
        if self._port is not None and any(self._queued):
            queues = await self._port.prompts.clear_queue()
            texts += [*queues.steering, *queues.follow_up]
        texts += [text for text, _ in self._waiting]
        self._waiting.clear()
        self._show_queued()
        if texts:
            self._composer.take_back(texts)
        return bool(texts)

    def run_command(self, name: str, arguments: str = "") -> bool:
        """Run a command of the application; whether there is one of that name."""
        work = self._commands.find(name, arguments) if self._commands is not None else None
        if work is None:
            return False
        self._tasks.start(self._told(work), name=f"/{name}")
        return True

    # ----------------------------------------------------------------------------------------------

    def _send(self, text: str, images: tuple[Image, ...], streaming: Streaming) -> None:
        if self._port is None:
            self._wait(text, images)
        elif text.startswith("!"):
            self._run_shell(text)
        elif self._port.extensions.input_mode(text) is not None:
            self._tasks.start(self._take(self._port, text), name="input mode")
        elif text.startswith("/") and self.run_command(*split_command(text)):
            return
        elif self._must_wait:
            self._wait(text, images)
        else:
            work = self._prompt(self._port, text, images, streaming)
            self._tasks.start(work, name="prompt")

    def _meaning(self, text: str) -> str:
        """The prompt that a command of the application stands for; any other text as it is."""
        if self._commands is None or not text.startswith("/"):
            return text
        return self._commands.prompt(*split_command(text)) or text

    @property
    def _must_wait(self) -> bool:
        return self._port is None or self._port.compaction.busy

    def _wait(self, text: str, images: tuple[Image, ...]) -> None:
        self._waiting.append((text, images))
        self._show_queued()

    async def _prompt(
        self, port: SessionPort, text: str, images: tuple[Image, ...], streaming: Streaming
    ) -> None:
        """Say it. Only one text at a time is on its way until it is accepted.

        A command of an extension is only when it has ended, which may be never: others wait for
        it, because it may change what becomes of them, but not for long.
        """
        accepted = asyncio.Event()
        await self._turn.acquire()

        def release() -> None:
            if not accepted.is_set():
                accepted.set()
                self._turn.release()

        if port.extensions.find(text) is not None:
            self._tasks.start(self._after(PATIENCE, release), name="patience")
        try:
            await port.prompts.prompt(
                self._meaning(text),
                images,
                streaming=streaming,
                accepted=release,
                fill=self._fill,
                check=lambda text: self._must_be_known(port, text),
            )
        except PiError as problem:
            self._ui.notify(problem.explain(), "error")
            if not accepted.is_set():
                self._composer.take_back([text])
        finally:
            release()

    async def _after(self, seconds: float, act: Callable[[], None]) -> None:
        await self._ui.clock.sleep(seconds)
        act()

    async def _fill(self, missing: MissingValues) -> dict[str, str] | None:

        return await ask_values(self._ui, missing)

    def _must_be_known(self, port: SessionPort, text: str) -> None:
        """Raise ``UnknownCommand`` for a slip: sent to the model, it would cost money.

        A path that exists is no command.
        """
        name, _ = split_command(text) if text.startswith("/") else ("", "")
        if re.fullmatch(r"[a-z][\w:-]*", name) and not os.path.lexists(f"/{name}"):
            own = self._commands.listed() if self._commands is not None else ()
            known = [command.name for command in own]
            like = nearest(name, known + [command.name for command in port.facts.commands()])
            hint = f"Did you mean /{like}?" if like else "/help lists all commands."
            raise UnknownCommand(f"Unknown command /{name}", hint=hint)

    async def _take(self, port: SessionPort, text: str) -> None:
        """Give a text to the extension whose prefix it has."""
        await port.extensions.take(text)
        self._ui.request_render()

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PiError as problem:
            self._ui.notify(problem.explain(), "error")
        self._after_command()

    def _run_shell(self, text: str) -> None:
        is_excluded = text.startswith("!!")
        command = text.removeprefix("!!" if is_excluded else "!").strip()
        if command:
            work = self._shell(command, is_excluded=is_excluded)
            self._tasks.start(work, name="shell command")

    async def _shell(self, command: str, *, is_excluded: bool) -> None:
        block = self._transcript.begin_bash(command, is_excluded=is_excluded)
        self._ui.request_render()  # it may be long before it writes anything

        def on_text(text: str) -> None:
            block.append(text)
            self._ui.request_render()

        self._shell_runs += 1
        try:
            with self._ui.working("Running a command"):
                result = await self._ui.port.shell.run(
                    command, exclude_from_context=is_excluded, on_text=on_text
                )
            block.end(result)
        except PiError as problem:
            block.fail(problem.explain())
        finally:
            self._shell_runs -= 1
            self._ui.request_render()

    def _show_queued(self) -> None:
        steering, follow_up = self._queued
        waiting = tuple(text for text, _ in self._waiting)
        self._composer.show_queued(
            ("Steering", steering), ("Follow-up", follow_up), ("Waiting", waiting)
        )
        self._ui.request_render()


# The values that a prompt template needs and that were not given with its name.


async def ask_values(ui: Ui, missing: MissingValues) -> dict[str, str] | None:
    """Ask for one value after another; ``None`` if the person gives up."""
    values = {}
    for number, name in enumerate(missing.names, 1):
        count = f" ({number} of {len(missing.names)})" if len(missing.names) > 1 else ""
        value = await ask_text(ui, f"/{missing.template}: {name}{count}")
        if value is None:
            return None
        values[name] = value
    return values
