"""The life of the session behind the screen: how it opens, begins and ends."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.files import FileLock, FileLocked, private_directory, read_regular, replace_file
from pi.base.tasks import TaskScope
from pi.base.terminal_text import sanitise
from pi.coding.export.redaction import Redactor
from pi.coding.trust import TrustChoice
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.composer.completion import suggestions
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.extensions.connection import rescue_on
from pi.modes.interactive.layout import AppLayout, QuitKeys
from pi.modes.interactive.session_controller import SessionController
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.interactive.transcript.block import Block
from pi.modes.interactive.transcript.notices import LinesBlock, NoticeBlock
from pi.modes.interactive.ui import Commands, Ui
from pi.modes.log_file import more_in_log, start_log
from pi.tui.input.decoder import PASTE_START, InputDecision
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.tui import TUI

# Asking somebody who may write on without looking: what they type goes where it belongs.


_CHOOSING = "tui.select."


@contextmanager
def type_ahead_to_composer(tui: TUI, keymap: Keymap, composer: Composer) -> Iterator[None]:
    """Let text reach the editor although a dialog without a field for it has the keys.

    So does whatever is pressed in the middle of it: an Enter there is the end of a message, and
    must not answer a question that its writer has not seen.
    """

    def hear(data: str) -> InputDecision | None:
        is_meant = composer.typing.left or _is_text(data, keymap)
        if not is_meant or is_key_release(data):
            return None
        composer.prompt.handle_input(data)
        return InputDecision(consume=True)

    stop = tui.add_input_listener(hear)
    try:
        yield
    finally:
        stop()


def _is_text(data: str, keymap: Keymap) -> bool:
    if data.startswith(PASTE_START):
        return True
    return bool(printable_text(data)) and not any(
        action.startswith(_CHOOSING) for action in keymap.actions(data)
    )


_WARNING = "Warning: "
"""What is reported begins with it where there are no colours to tell."""
POLL_SECONDS = 4.0
"""How often to look whether somebody changed the branch or the theme."""


class SessionLifecycle:
    """Owns the session, once it is there, and the regions that show it."""

    def __init__(
        self,
        start: AppOptions,
        frame: AppLayout,
        tasks: TaskScope,
        leaving: QuitKeys,
        *,
        quit: Callable[[], None],
    ) -> None:
        self._start = start
        self._frame = frame
        self._tasks = tasks
        self._opened: OpenedSession | None = None
        self._end_log: Callable[[], None] = lambda: None
        self._secrets: tuple[str, ...] = ()
        self._redactor = Redactor()
        self._regions = SessionController(start, frame, tasks, leaving, cwd=self._cwd, quit=quit)

    @property
    def screen(self) -> AppUi:
        """The whole as dialogs see it."""
        return self._regions.screen

    @property
    def has_session(self) -> bool:
        """Whether the session is there."""
        return self._opened is not None

    async def open(self, early: list[str]) -> None:
        """Open the session, show it, and deliver what was said meanwhile.

        Raises why there is no session, if there is none.
        """
        loop = asyncio.get_running_loop()
        self._end_log = start_log(
            self._start.agent_dir,
            self._start.environ,
            redact=self._redacted,
            on_error=lambda text: loop.call_soon_threadsafe(self._tell_logged, text),
        )
        for problem in self._frame.problems:
            self.screen.notify(problem, "warning")
        speaking = self._regions.speaking
        for text in early:
            speaking.submit(text)
        opening = OpenContext(
            ask_trust=self._ask_trust,
            report=self._report,
            ui=self.screen,
            extension_ui=self._regions.extensions.ui,
            on_stall=rescue_on(self._frame.tui, self._frame.theme),
        )
        try:
            opened = self._opened = await self._start.open(opening)
        except Exception:
            await speaking.take_back()  # it is kept with the draft
            raise
        self._introduce(opened)
        self._regions.open(opened)
        self._tasks.start(self._watch(), name="watching files")
        await self._begin(opened)

    async def close(self) -> str:
        """End the session; gives how to come back to it."""
        self._end_log()
        if self._opened is None:
            return ""
        await self._opened.port.close()
        return self._opened.leave()

    def tell_failure(self, name: str, problem: BaseException) -> None:
        """Something unexpected happened; the log has it in full."""
        self.screen.notify(f"{name} failed: {problem!r}. {self._more}", "error")

    def _tell_logged(self, text: str) -> None:
        """An error is in the log of which nobody has told."""
        self.screen.notify(f"{text[:1].upper()}{text[1:].rstrip('.')}. {self._more}", "error")

    @property
    def _more(self) -> str:
        return more_in_log(self._start.agent_dir)

    # Opening --------------------------------------------------------------------------------------

    async def _ask_trust(self, folder: Path) -> TrustChoice | None:
        with type_ahead_to_composer(self._frame.tui, self._frame.keymap, self._frame.composer):
            return await self._start.ask_trust(self.screen, folder)

    def _report(self, text: str) -> None:
        words = text.removeprefix(_WARNING)
        is_warning = words != text or text == self._why_unsaved
        self.screen.notify(words, "warning" if is_warning else "info")

    @property
    def _why_unsaved(self) -> str | None:
        return self._opened.port.facts.problem if self._opened else None

    def _introduce(self, opened: OpenedSession) -> None:
        values = opened.port.settings.values
        if opened.lines and (self._start.verbose or not values.quiet_startup):
            self._frame.header.add_child(self._introduction(opened.lines))
        if opened.note:
            self.screen.notify(opened.note, "warning")

    def _introduction(self, lines: Sequence[str]) -> Block:
        """What was loaded; whoever wants to know everything gets it in full."""
        look, dim = self._regions.transcript.look, self._frame.theme.paint("dim")
        if self._start.verbose:
            return NoticeBlock(look, "\n".join(lines))
        return LinesBlock(look, [dim(sanitise(line)) for line in lines])

    # Beginning ------------------------------------------------------------------------------------

    async def _begin(self, opened: OpenedSession) -> None:
        """Let the conversation begin: everybody is told, then whoever waits is heard."""
        commands, regions = self._start.commands(self.screen), self._regions
        regions.extensions.complete_with(suggestions(opened.port, opened.host, commands, self._cwd))
        if opened.begin is not None:
            await opened.begin()
        regions.follower.begun()
        regions.extensions.tell_problems()
        if opened.news is not None:
            self._tasks.start(self._tell_news(opened.news), name="looking for news")
        if opened.welcome is not None:
            await self._welcome(opened.welcome)
        is_chosen = not opened.command or await self._choose_session(opened, commands)
        regions.speaking.open(opened.port, commands)
        for text, images in opened.messages:
            if is_chosen:
                regions.speaking.submit(text, images)
            else:
                self._write_back(text, images)

    async def _choose_session(self, opened: OpenedSession, commands: Commands) -> bool:
        """Run the command that chooses a session; whether another one is open now.

        Until it ends nothing is sent: it would go to the session that is left.
        """
        before = opened.port.facts.header.id
        if (work := commands.find(opened.command, "")) is not None:
            try:
                await work
            except PiError as problem:
                self.screen.notify(problem.explain(), "error")
            self._regions.choices_changed()
        return opened.port.facts.header.id != before

    def _write_back(self, text: str, images: Sequence[Image]) -> None:
        """Put a message into the editor; sending it is the user's decision."""
        composer = self._frame.composer
        composer.set_text("\n\n".join(part for part in (composer.text, text) if part.strip()))
        for image in images:
            composer.attach(image)

    async def _tell_news(self, find: Callable[[], Awaitable[str]]) -> None:
        if news := await find():
            self.screen.notify(news)

    async def _welcome(self, welcome: Callable[[Ui], Awaitable[None]]) -> None:
        try:
            await welcome(self.screen)
        except PiError as problem:
            self.screen.notify(problem.explain(), "error")
        self._regions.choices_changed()

    # The world ------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look now and then whether somebody changed the branch or the theme."""
        while True:
            await self._start.clock.sleep(POLL_SECONDS)
            await self._regions.status.look_for_branch()
            self._frame.themes.reload_if_changed()

    def _redacted(self, text: str) -> str:
        """``text`` as the log may have it."""
        if self._opened is None:
            return text
        port = self._opened.port
        secrets = port.accounts.secrets()
        if secrets != self._secrets:
            self._secrets, self._redactor = secrets, Redactor(secrets)
        return port.extensions.redacted(self._redactor.text(text), "log")

    def _cwd(self) -> Path:
        if self._opened is None:
            return self._start.cwd
        return self._opened.port.facts.cwd


# Drafts that survive the program: what was being written is in a file until it is sent.
#
# Every program has a file of its own, locked while it lives; a file that nobody holds was left by
# one that ended without being asked.


FOLDER = "drafts"


class Drafts:
    """The draft of one program in one folder. Problems with the disk never reach the person."""

    def __init__(self, agent_dir: Path, cwd: Path, *, name: str) -> None:
        self._folder = agent_dir / FOLDER
        self._place = hashlib.sha256(str(cwd).encode("utf-8", "replace")).hexdigest()[:16]
        self._path = self._folder / f"{self._place}.{name}.txt"
        self._held = ExitStack()
        self._is_held = False
        self._saved = ""

    def save(self, text: str) -> None:
        """Keep a text, or nothing if it is empty."""
        if text == self._saved:
            return
        self._saved = text
        with suppress(OSError, PiError):
            if text.strip():
                self._hold()
                replace_file(self._path, text.encode("utf-8", "replace"))
            else:
                self._path.unlink(missing_ok=True)

    def left_behind(self) -> str | None:
        """The newest draft that a program has left in this folder; it is taken over."""
        with suppress(OSError, PiError):
            for path in self._abandoned():
                text = read_regular(path).decode("utf-8", "replace")
                path.unlink(missing_ok=True)
                if text.strip():
                    self.save(text)
                    return text
        return None

    def close(self, *, keep: bool = False) -> None:
        """Let the draft go, unless it is to be found again."""
        if not keep:
            self.save("")
        self._held.close()

    def _hold(self) -> None:
        if not self._is_held:
            private_directory(self._folder)
            self._held.enter_context(FileLock(_lock_of(self._path)))
            self._held.callback(_lock_of(self._path).unlink, missing_ok=True)
            self._is_held = True

    def _abandoned(self) -> Iterator[Path]:
        files = sorted(
            self._folder.glob(f"{self._place}.*.txt"),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
        for path in files:
            if path != self._path and not _is_held(path):
                yield path


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _is_held(path: Path) -> bool:
    lock = _lock_of(path)
    try:
        with FileLock(lock):
            pass
    except FileLocked:
        return True
    lock.unlink(missing_ok=True)
    return False
