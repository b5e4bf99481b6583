"""Sends submitted text to the session: prompts, commands, shell, and queue editing."""

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
from pi.coding.mentions import Attachment, attachments, without_attachments
from pi.coding.port.results import NoModel, Streaming
from pi.coding.resources.prompts import MissingValues
from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.dialogs.questions import ask_text
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import Commands, Ui, report_errors

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


GRACE_SECONDS = 2.0
"""Seconds for which an extension command delays the prompts after it."""


class UnknownCommand(PiError):
    """The input looks like a command, but the name is unknown."""


class PromptSender:
    """Sends submitted text; text that cannot be delivered yet is queued and shown.

    ``after_command`` is called after each built-in command.
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
        """Prompts to send when the session is open and no compaction is running."""
        self._queued: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._turn = asyncio.Lock()
        """Held while a prompt is being delivered."""
        self._shell_runs = 0

    def open(self, port: SessionPort, commands: Commands) -> None:
        """Set the session, once it is open, and deliver waiting prompts."""
        self._port, self._commands = port, commands
        self.deliver_waiting()

    @property
    def is_open(self) -> bool:
        """Whether prompts are delivered."""
        return self._port is not None

    @property
    def is_shell_running(self) -> bool:
        """Whether a shell command of the user (``!``) is running."""
        return self._shell_runs > 0

    def submit(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Send text; steers the agent while it is running."""
        self._send(text, images, "steer")

    def follow_up(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Queue text for delivery when the agent would stop."""
        self._send(text, images, "followUp")

    def deliver_waiting(self) -> None:
        """Send the waiting prompts, if possible."""
        if not self._waiting or self._must_wait:
            return
        waiting, self._waiting = self._waiting, []
        self._show_queued()
        for text, images in waiting:
            self.submit(text, images)

    def queue_changed(self, steering: tuple[str, ...], follow_up: tuple[str, ...]) -> None:
        """Show the queues of the session after a change."""
        self._queued = (
            tuple(map(without_attachments, steering)),
            tuple(map(without_attachments, follow_up)),
        )
        self._show_queued()

    def moved(self, port: SessionPort) -> None:
        """Called after a switch of session or branch: returns dropped prompts to the editor."""
        if any(self._queued) and not port.info.state().pending_message_count:
            steering, follow_up = self._queued
            self.queue_changed((), ())
            self._composer.restore([*steering, *follow_up])

    async def restore_queued(self) -> bool:
        """Put undelivered prompts back into the editor; returns whether there were any."""
        texts: list[str] = []
        if self._port is not None and any(self._queued):
            queues = await self._port.prompts.clear_queue()
            texts += map(without_attachments, (*queues.steering, *queues.follow_up))
        texts += [text for text, _ in self._waiting]
        self._waiting.clear()
        self._show_queued()
        if texts:
            self._composer.restore(texts)
        return bool(texts)

    @property
    def attaches_files(self) -> bool:
        """Whether mentions attach files."""
        return self._port is not None and self._port.settings.values.editor.attach_files

    def attachments(self, text: str) -> list[Attachment]:
        """Read the files that a text mentions, if enabled. Blocks: call it in a thread."""
        port = self._port
        if port is None or not self.attaches_files or text.startswith(("/", "!")):
            return []
        values = port.settings.values
        limits = ImageLimits(resize=values.images.auto_resize)
        return attachments(text, cwd=port.info.cwd, home=self._ui.host.home, limits=limits)

    def run_command(self, name: str, arguments: str = "") -> bool:
        """Run a built-in command; returns whether it exists."""
        work = self._commands.find(name, arguments) if self._commands is not None else None
        if work is None:
            return False
        self._tasks.start(self._run_work(work), name=f"/{name}")
        return True

    # ----------------------------------------------------------------------------------------------

    def _send(self, text: str, images: tuple[Image, ...], streaming: Streaming) -> None:
        if self._port is None:
            self._wait(text, images)
        elif text.startswith("!"):
            self._run_shell(text)
        elif self._port.extensions.input_mode(text) is not None:
            self._tasks.start(self._send_to_extension(self._port, text), name="input mode")
        elif text.startswith("/") and self.run_command(*split_command(text)):
            return
        elif self._must_wait:
            self._wait(text, images)
        else:
            work = self._prompt(self._port, text, images, streaming)
            self._tasks.start(work, name="prompt")

    def _command_prompt(self, text: str) -> str:
        """Return the prompt of a built-in command; other text unchanged."""
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
        """Send text; one at a time, in order.

        An extension command counts as delivered when it has ended, which may never happen. Later
        prompts wait for it, because it may change them, but no longer than ``GRACE_SECONDS``.
        """
        accepted = asyncio.Event()
        await self._turn.acquire()

        def release() -> None:
            if not accepted.is_set():
                accepted.set()
                self._turn.release()

        if port.extensions.find(text) is not None:
            self._tasks.start(self._after(GRACE_SECONDS, release), name="grace")
        try:
            attached = await self._attach(text)
            await port.prompts.prompt(
                "".join(attachment.text for attachment in attached) + self._command_prompt(text),
                (*images, *(image for attachment in attached for image in attachment.images)),
                streaming=streaming,
                accepted=lambda disposition: release(),
                fill=self._fill,
                check=lambda text: self._check_command(port, text),
            )
        except PiError as error:
            message = error.on_screen if isinstance(error, NoModel) else error.explain()
            self._ui.notify(message, "error")
            if not accepted.is_set():
                self._composer.restore([text])
        finally:
            release()

    async def _attach(self, text: str) -> list[Attachment]:
        """Return the files that a text attaches; reports those that cannot be attached."""
        if "@" not in text or not self.attaches_files:
            return []
        attachments = await asyncio.to_thread(self.attachments, text)
        for attachment in attachments:
            if attachment.problem:
                self._ui.notify(
                    f"@{attachment.path} is not attached: {attachment.problem}.", "warning"
                )
        return attachments

    async def _after(self, seconds: float, act: Callable[[], None]) -> None:
        await self._ui.clock.sleep(seconds)
        act()

    async def _fill(self, missing: MissingValues) -> dict[str, str] | None:
        return await ask_values(self._ui, missing)

    def _check_command(self, port: SessionPort, text: str) -> None:
        """Raise ``UnknownCommand`` for a typo: sent to the model, it would cost money.

        A text that starts with an existing path, such as ``/tmp``, is not a command.
        """
        name, _ = split_command(text) if text.startswith("/") else ("", "")
        if re.fullmatch(r"[a-z][\w:-]*", name) and not os.path.lexists(f"/{name}"):
            own = self._commands.listed() if self._commands is not None else ()
            own_names = [command.name for command in own]
            like = nearest(name, own_names + [command.name for command in port.info.commands()])
            hint = f"Did you mean /{like}?" if like else "/help lists all commands."
            raise UnknownCommand(f"Unknown command /{name}", hint=hint)

    async def _send_to_extension(self, port: SessionPort, text: str) -> None:
        """Pass a text to the extension whose input mode has its prefix."""
        await port.extensions.handle_input(text)
        self._ui.request_render()

    async def _run_work(self, work: Coroutine[Any, Any, None]) -> None:
        with report_errors(self._ui):
            await work
        self._after_command()

    def _run_shell(self, text: str) -> None:
        is_excluded = text.startswith("!!")
        command = text.removeprefix("!!" if is_excluded else "!").strip()
        if command:
            work = self._shell(command, is_excluded=is_excluded)
            self._tasks.start(work, name="shell command")

    async def _shell(self, command: str, *, is_excluded: bool) -> None:
        block = self._transcript.begin_bash(command, is_excluded=is_excluded)
        self._ui.request_render()  # it may take long before it writes anything

        def on_text(text: str) -> None:
            block.append(text)
            self._ui.request_render()

        self._shell_runs += 1
        try:
            with self._ui.working("Running a command"):
                result = await self._ui.port.shell.run(
                    command, exclude_from_context=is_excluded, on_text=on_text, shows_style=True
                )
            block.end(result)
        except PiError as error:
            block.fail(error.explain())
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


async def ask_values(ui: Ui, missing: MissingValues) -> dict[str, str] | None:
    """Ask for the missing arguments of a prompt template; ``None`` if the user cancels."""
    values = {}
    for number, name in enumerate(missing.names, 1):
        count = f" ({number} of {len(missing.names)})" if len(missing.names) > 1 else ""
        value = await ask_text(ui, f"/{missing.template}: {name}{count}")
        if value is None:
            return None
        values[name] = value
    return values
