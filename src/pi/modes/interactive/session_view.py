"""The session on the screen: its events reach the regions, and its ends are looked after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from pi.agent.events import MessageUpdate, QueueUpdate
from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import CompactionEnd
from pi.coding.runtime.events import ExtensionFailed, ThinkingLevelChanged
from pi.coding.trust.trust import Choice
from pi.modes.interactive.cache_watch import CacheWatch
from pi.modes.interactive.clipping import Clipping
from pi.modes.interactive.completion import suggestions
from pi.modes.interactive.extensions.connection import ExtensionConnection
from pi.modes.interactive.extensions.rescue import rescue_on
from pi.modes.interactive.extensions.showing import Showing
from pi.modes.interactive.following import SettingsFollower
from pi.modes.interactive.frame import Frame
from pi.modes.interactive.gestures import Gestures
from pi.modes.interactive.log_file import NAME as LOG_NAME
from pi.modes.interactive.log_file import start_log
from pi.modes.interactive.screen import Screen
from pi.modes.interactive.speaking import Speaking
from pi.modes.interactive.startup import Opened, Opening, Start
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.region import Status
from pi.modes.interactive.status.window import Window
from pi.modes.interactive.surroundings import asking_git, graphics_for, system_clipboard
from pi.modes.interactive.transcript.block import Block
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.notices import LinesBlock, NoticeBlock
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import Ui

_WARNING = "Warning: "
"""What is reported begins with it where there are no colours to tell."""
POLL_SECONDS = 4.0
"""How often to look whether somebody changed the branch or the theme."""


class SessionView:
    """Everything that needs the session: made behind the first frame."""

    def __init__(
        self, start: Start, frame: Frame, tasks: TaskScope, *, quit: Callable[[], None]
    ) -> None:
        self._start = start
        self._frame = frame
        self._tasks = tasks
        self._opened: Opened | None = None
        self._cache = CacheWatch()
        self._end_log: Callable[[], None] = lambda: None
        tui, keymap = frame.tui, frame.keymap
        activity = Activity(start.clock, interrupt_key=lambda: _first(keymap.keys("app.interrupt")))
        self._window = Window(tui.terminal.write, tui.capabilities)
        self._status = self._new_status(activity)
        self._transcript = TranscriptView(self._look())
        self._follower = SettingsFollower(
            frame,
            self._transcript,
            graphics_for(tui, start.environ),
            wanted_theme=start.theme,
        )
        frame.above.add_child(self._transcript.component)
        self.screen = self._new_screen(activity, quit)
        self._extensions = ExtensionConnection(
            self.screen,
            frame,
            self._transcript,
            Showing(activity, self._window, self._transcript, refresh=self.screen.refresh),
            reloaded=self._reloaded,
        )
        self._speaking = Speaking(
            self.screen,
            frame.composer,
            self._transcript,
            tasks,
            after_command=self._choices_changed,
        )
        self._gestures = self._connected(activity)

    @property
    def has_session(self) -> bool:
        """Whether the session is there."""
        return self._opened is not None

    async def open(self, early: list[str]) -> None:
        """Open the session, show it, and deliver what was said meanwhile.

        Raises why there is no session, if there is none.
        """
        self._end_log = start_log(self._start.agent_dir, self._start.environ, redact=self._redacted)
        for problem in self._frame.problems:
            self.screen.notify(problem, "warning")
        for text in early:
            self._speaking.submit(text)
        opening = Opening(
            ask_trust=self._ask_trust,
            report=self._report,
            ui=self.screen,
            extension_ui=self._extensions.ui,
            on_stall=rescue_on(self._frame.tui, self._frame.theme),
        )
        try:
            opened = self._opened = await self._start.open(opening)
        except Exception:
            await self._speaking.take_back()  # it is kept with the draft
            raise
        opened.port.subscribe(self._hear)
        self.screen.open(opened.port, opened.host)
        self._gestures.open(opened.port)
        self._extensions.open(opened.port)
        if opened.themes is not None:
            self._frame.themes.files = opened.themes
        self._introduce(opened)
        self._show_session()
        self._tasks.start(self._watch(), name="watching files")
        await self._begin(opened)

    async def _begin(self, opened: Opened) -> None:
        """Let the conversation begin: everybody is told, then whoever waits is heard."""
        commands = self._start.commands(self.screen)
        self._extensions.complete_with(suggestions(opened.port, opened.host, commands, self._cwd))
        if opened.begin is not None:
            await opened.begin()
        self._follower.begun()
        self._extensions.tell_problems()
        if opened.news is not None:
            self._tasks.start(self._tell_news(opened.news), name="looking for news")
        if opened.welcome is not None:
            await self._welcome(opened.welcome)
        self._speaking.open(opened.port, commands)
        if opened.command:
            self._speaking.run_command(opened.command)
        for text, images in opened.messages:
            self._speaking.submit(text, images)

    async def close(self) -> str:
        """End the session; gives how to come back to it."""
        self._end_log()
        if self._opened is None:
            return ""
        await self._opened.port.close()
        return self._opened.leave()

    def tell_failure(self, name: str, problem: BaseException) -> None:
        """Something unexpected happened; the log has it in full."""
        where = self._start.agent_dir / LOG_NAME
        self.screen.notify(f"{name} failed: {problem!r}. More is in {where}.", "error")

    # What happens ---------------------------------------------------------------------------------

    def _hear(self, event: object) -> None:
        self._transcript.hear(event)
        self._status.hear(event)
        if type(event) is not MessageUpdate:
            self._watch_cache(event)
        match event:
            case QueueUpdate(steering=steering, follow_up=follow_up):
                self._speaking.queue_changed(steering, follow_up)
            case ThinkingLevelChanged(level=level):
                self._frame.composer.show_level(level)
            case ExtensionFailed(extension_path=path, error=error):
                self.screen.notify(f"{path}: {error}", "error")
            case CompactionEnd(error_message=problem):
                if isinstance(problem, str):
                    self.screen.notify(problem, "error")
                self._speaking.deliver_waiting()
        self._frame.tui.request_render()

    def _watch_cache(self, event: object) -> None:
        missed = self._cache.hear(event)
        if missed and self.screen.port.settings.values.show_cache_miss_notices:
            self.screen.notify(missed, "warning")

    def _submitted(self, text: str, images: tuple[Image, ...]) -> None:
        self._frame.passing.show("")
        if self._frame.fullscreen is not None:
            self._frame.fullscreen.follow()  # who says something wants to see what comes of it
        self._speaking.submit(text, images)

    # What is shown --------------------------------------------------------------------------------

    def _new_screen(self, activity: Activity, quit: Callable[[], None]) -> Screen:
        return Screen(
            self._frame,
            self._transcript,
            activity,
            tasks=self._tasks,
            clipboard=system_clipboard(self._start, self._frame.tui.terminal.write),
            cwd=self._cwd,
            system=self._start.system,
            reload=self._reload,
            quit=quit,
        )

    def _connected(self, activity: Activity) -> Gestures:
        """What keys mean; whatever the person does at the screen leads to us now."""
        frame = self._frame
        clipping = Clipping(
            self._start, self.screen, frame.composer, limits=self._follower.image_limits
        )
        gestures = Gestures(
            self.screen,
            frame.composer,
            self._transcript,
            activity,
            self._speaking,
            clock=self._start.clock,
            paste_image=clipping.paste,
            status_changed=self._choices_changed,
        )
        if frame.fullscreen is not None:
            frame.fullscreen.on_select = clipping.copy_selected
            frame.fullscreen.on_copy = clipping.copy
        frame.composer.prompt.on_paste = clipping.drop
        frame.composer.on_submit = self._submitted
        frame.composer.on_action(gestures.act)
        return gestures

    def _new_status(self, activity: Activity) -> Status:
        frame, start = self._frame, self._start
        return Status(
            frame.theme,
            activity,
            frame.footer,
            self._window,
            clock=start.clock,
            tasks=self._tasks,
            home=start.home,
            ask_git=asking_git(start.environ),
            show_label=self._show_label,
            request_render=frame.tui.request_render,
        )

    def _show_label(self, label: str) -> None:
        """What goes on, in the editor's border; only that is painted again."""
        self._frame.composer.show_label(label)
        self._frame.tui.request_component_render(self._frame.composer.component)

    def _look(self) -> Look:
        frame = self._frame
        return Look(
            theme=frame.theme,
            cwd=self._cwd,
            home=self._start.home,
            monotonic=self._start.clock.monotonic,
            expand_key=lambda: _first(frame.keymap.keys("app.tools.expand")),
            has_hyperlinks=frame.tui.capabilities.hyperlinks,
        )

    def _introduce(self, opened: Opened) -> None:
        values = opened.port.settings.values
        if opened.lines and (self._start.verbose or not values.quiet_startup):
            self._frame.header.add_child(self._introduction(opened.lines))
        if opened.note:
            self.screen.notify(opened.note, "warning")

    def _introduction(self, lines: Sequence[str]) -> Block:
        """What was loaded; whoever wants to know everything gets it in full."""
        look, dim = self._transcript.look, self._frame.theme.paint("dim")
        if self._start.verbose:
            return NoticeBlock(look, "\n".join(lines))
        return LinesBlock(look, [dim(line) for line in lines])

    def _show_session(self) -> None:
        """The conversation so far, with everything that tells about it."""
        self._show_facts()
        port = self.screen.port
        self._extensions.load(port)
        for point in port.facts.fork_points():
            self._frame.composer.remember(point.text)

    def _show_facts(self) -> None:
        port = self.screen.port
        self._follower.follow(port.settings)
        self._frame.composer.show_level(port.models.thinking_level)
        self._status.open(port)

    def _reload(self) -> None:
        self._transcript.clear()
        self._show_session()
        self._frame.tui.reset_display()

    def _reloaded(self) -> None:
        """The same conversation goes on with other settings and extensions."""
        self._show_facts()
        self._frame.tui.reset_display()

    def _choices_changed(self) -> None:
        """Another model answers, or it thinks more or less."""
        self._frame.composer.show_level(self.screen.port.models.thinking_level)
        self._status.refresh()

    # The world ------------------------------------------------------------------------------------

    def _redacted(self, text: str) -> str:
        """``text`` as the log may have it."""
        if self._opened is None:
            return text
        return self._opened.port.extensions.redacted(text, "log")

    def _cwd(self) -> Path:
        if self._opened is None:
            return self._start.cwd
        return Path(self._opened.port.facts.header.cwd)

    async def _watch(self) -> None:
        """Look now and then whether somebody changed the branch or the theme."""
        while True:
            await self._start.clock.sleep(POLL_SECONDS)
            await self._status.look_for_branch()
            self._frame.themes.reload_if_changed()

    async def _welcome(self, welcome: Callable[[Ui], Awaitable[None]]) -> None:
        try:
            await welcome(self.screen)
        except PiError as problem:
            self.screen.notify(problem.explain(), "error")
        self._choices_changed()

    async def _tell_news(self, find: Callable[[], Awaitable[str]]) -> None:
        if news := await find():
            self.screen.notify(news)

    async def _ask_trust(self, folder: Path) -> Choice | None:
        return await self._start.ask_trust(self.screen, folder)

    def _report(self, text: str) -> None:
        words = text.removeprefix(_WARNING)
        self.screen.notify(words, "info" if words == text else "warning")


def _first(keys: tuple[str, ...]) -> str:
    return keys[0].replace("escape", "esc") if keys else ""
