"""The session on the screen: its events reach the regions, and its ends are looked after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi.agent.events import AgentEnd, AgentSettled, MessageEnd, MessageUpdate, QueueUpdate, TurnEnd
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.base.processes import run as run_program
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import CompactionEnd
from pi.coding.runtime.events import ExtensionFailed, SessionInfoChanged, ThinkingLevelChanged
from pi.coding.trust.trust import Choice
from pi.modes.interactive.completion import suggestions
from pi.modes.interactive.composer.clipboard_reading import asker, read_clipboard
from pi.modes.interactive.frame import Frame
from pi.modes.interactive.gestures import Gestures
from pi.modes.interactive.log_file import NAME as LOG_NAME
from pi.modes.interactive.log_file import start_log
from pi.modes.interactive.screen import Screen
from pi.modes.interactive.speaking import Speaking
from pi.modes.interactive.startup import Opened, Opening, Start
from pi.modes.interactive.status.activity import TICK, Activity
from pi.modes.interactive.status.branch import POLL_SECONDS, branch_of
from pi.modes.interactive.status.reporting import footer_facts
from pi.modes.interactive.status.window import LONG_RUN, Window
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.notices import LinesBlock
from pi.modes.interactive.transcript.view import TranscriptView
from pi.tui.clipboard import Clipboard, runner

_REFRESHING = (MessageEnd, TurnEnd, AgentSettled, CompactionEnd, SessionInfoChanged)


class SessionView:
    """Everything that needs the session: made behind the first frame."""

    def __init__(
        self, start: Start, frame: Frame, tasks: TaskScope, *, quit: Callable[[], None]
    ) -> None:
        self._start = start
        self._frame = frame
        self._tasks = tasks
        self._opened: Opened | None = None
        self._branch = ""
        self._ticking = False
        self._run_seconds = 0.0
        self._end_log: Callable[[], None] = lambda: None
        tui, keymap = frame.tui, frame.keymap
        self._window = Window(tui.terminal.write, tui.capabilities)
        self._activity = Activity(
            start.clock, interrupt_key=lambda: _first(keymap.keys("app.interrupt"))
        )
        self._transcript = TranscriptView(
            Look(
                theme=frame.theme,
                cwd=self._cwd,
                home=start.home,
                monotonic=start.clock.monotonic,
                expand_key=lambda: _first(keymap.keys("app.tools.expand")),
                has_hyperlinks=tui.capabilities.hyperlinks,
            )
        )
        frame.above.add_child(self._transcript.component)
        self.screen = Screen(
            frame,
            self._transcript,
            self._activity,
            tasks=tasks,
            clipboard=self._clipboard(),
            cwd=self._cwd,
            system=start.system,
            reload=self._reload,
            quit=quit,
        )
        self._speaking = Speaking(self.screen, frame.composer, self._transcript, tasks)
        self._gestures = Gestures(
            self.screen,
            frame.composer,
            self._transcript,
            self._activity,
            self._speaking,
            clock=start.clock,
            paste_image=self._paste,
            status_changed=self._refresh,
        )
        frame.composer.on_submit = self._submitted
        frame.composer.on_action(self._gestures.act)

    async def open(self, early: list[str]) -> None:
        """Open the session, show it, and deliver what was said meanwhile."""
        self._end_log = start_log(self._start.agent_dir)
        for problem in self._frame.problems:
            self.screen.notify(problem, "warning")
        for text in early:
            self._speaking.submit(text)
        opening = Opening(ask_trust=self._ask_trust, report=self._report, ui=self.screen)
        try:
            opened = await self._start.open(opening)
        except PiError as problem:
            self.screen.notify(problem.explain(), "error")
            return
        self._opened = opened
        port = opened.port
        self._apply_settings()
        port.settings.on_change(self._apply_settings)
        port.subscribe(self._hear)
        self.screen.open(port, opened.host)
        self._gestures.open(port)
        self._introduce(opened)
        self._show_session()
        self._tasks.start(self._watch(), name="watching files")
        commands = self._start.commands(self.screen)
        self._frame.composer.offer(suggestions(port, opened.host, commands, self._cwd))
        self._speaking.open(port, commands)
        for text, images in opened.messages:
            self._speaking.submit(text, images)

    async def close(self) -> str:
        """End the session; gives how to come back to it."""
        self._end_log()
        if self._opened is None:
            return ""
        await self._opened.port.close()
        return self._opened.resume_hint()

    def tell_failure(self, name: str, problem: BaseException) -> None:
        """Something unexpected happened; the log has it in full."""
        where = self._start.agent_dir / LOG_NAME
        self.screen.notify(f"{name} failed: {problem!r}. More is in {where}.", "error")

    # What happens ---------------------------------------------------------------------------------

    def _hear(self, event: object) -> None:
        self._run_seconds = self._activity.run_seconds
        self._transcript.hear(event)
        self._activity.hear(event)
        if type(event) is not MessageUpdate:
            self._hear_rare(event)
        self._tick_while_busy()
        self._frame.tui.request_render()

    def _hear_rare(self, event: object) -> None:
        match event:
            case QueueUpdate(steering=steering, follow_up=follow_up):
                self._speaking.queue_changed(steering, follow_up)
            case ThinkingLevelChanged():
                self._refresh()
            case ExtensionFailed(extension_path=path, error=error):
                self.screen.notify(f"{path}: {error}", "error")
            case CompactionEnd(error_message=str() as problem):
                self.screen.notify(problem, "error")
            case AgentEnd(will_retry=False) if self._run_seconds >= LONG_RUN:
                self._window.notify(f"pi is done in {self._cwd().name}")
        if isinstance(event, _REFRESHING):
            self._refresh()
        self._show_activity()
        if isinstance(event, CompactionEnd):
            self._speaking.deliver_waiting()

    def _submitted(self, text: str, images: tuple[Any, ...]) -> None:
        self._frame.passing.show("")
        self._speaking.submit(text, images)

    def _tick_while_busy(self) -> None:
        if self._activity.is_busy and not self._ticking:
            self._ticking = True
            self._tasks.start(self._tick(), name="the spinner")

    async def _tick(self) -> None:
        while self._activity.is_busy:
            self._show_activity()
            await self._start.clock.sleep(TICK)
        self._ticking = False
        self._show_activity()

    def _show_activity(self) -> None:
        """What goes on, in the editor's border and in the task bar."""
        composer, theme = self._frame.composer, self._frame.theme
        spinner, _, words = self._activity.label().partition(" ")
        painted = f"{theme.paint('accent')(spinner)} {theme.paint('muted')(words)}"
        composer.show_label(painted if spinner else "")
        self._frame.tui.request_component_render(composer.component)
        if self.screen.port.settings.values.terminal.show_terminal_progress:
            self._window.set_progress(is_busy=self._activity.is_busy)

    # What is shown --------------------------------------------------------------------------------

    def _introduce(self, opened: Opened) -> None:
        values = opened.port.settings.values
        if opened.lines and (self._start.verbose or not values.quiet_startup):
            dim = self._frame.theme.paint("dim")
            self._transcript.add(LinesBlock(self._transcript.look, [dim(x) for x in opened.lines]))
        if opened.note:
            self.screen.notify(opened.note, "warning")

    def _show_session(self) -> None:
        """The conversation so far, with everything that tells about it."""
        port = self.screen.port
        messages = port.facts.messages()
        if port.facts.fork_points():
            self._transcript.load(messages)
        for point in port.facts.fork_points():
            self._frame.composer.remember(point.text)
        self._refresh()
        self._tasks.start(self._look_for_branch(), name="looking for the branch")

    def _reload(self) -> None:
        self._transcript.load(())
        self._show_session()
        self._frame.tui.reset_display()

    def _refresh(self) -> None:
        if self._opened is None:
            return
        port = self._opened.port
        facts = footer_facts(port, home=self._start.home, branch=self._branch)
        self._frame.footer.show(facts)
        self._frame.composer.show_level(port.models.thinking_level)
        self._window.set_title(self._cwd().name, facts.session_name)
        self._frame.tui.request_render()

    def _apply_settings(self) -> None:
        if self._opened is None:
            return
        values = self._opened.port.settings.values
        look, composer = self._transcript.look, self._frame.composer
        composer.arrange(
            padding=values.editor_padding_x, suggestions=values.autocomplete_max_visible
        )
        look.pad = values.output_pad
        look.image_columns = values.terminal.image_width_cells
        look.graphics = self._graphics() if values.terminal.show_images else None
        if look.hides_thinking != values.hide_thinking_block:
            self._transcript.hide_thinking(hidden=values.hide_thinking_block)

    def _graphics(self) -> Any:
        tui = self._frame.tui
        if tui.capabilities.images is None or self._transcript.look.graphics is not None:
            return self._transcript.look.graphics
        # Few terminals show pictures, and most sessions have none.
        from pi.tui.images.detect import has_placeholders
        from pi.tui.images.graphics import Graphics

        return Graphics(
            tui.capabilities.images,
            write=tui.terminal.write,
            has_placeholders=has_placeholders(tui.capabilities, self._start.environ),
        )

    # The world ------------------------------------------------------------------------------------

    def _cwd(self) -> Path:
        if self._opened is None:
            return self._start.cwd
        return Path(self._opened.port.facts.header.cwd)

    async def _watch(self) -> None:
        """Look now and then whether somebody changed the branch or the theme."""
        while True:
            await self._start.clock.sleep(POLL_SECONDS)
            await self._look_for_branch()
            self._frame.themes.reload_if_changed()

    async def _look_for_branch(self) -> None:
        branch = await branch_of(self._cwd(), self._ask_git)
        if branch != self._branch:
            self._branch = branch
            self._refresh()

    async def _ask_git(self, cwd: Path) -> str:
        command = ["git", "symbolic-ref", "--short", "--quiet", "HEAD"]
        try:
            done = await run_program(
                command, cwd=cwd, env=self._start.environ, timeout=5.0, max_output=1024
            )
        except SpawnFailed:
            return ""
        return done.output.decode("utf-8", "replace").strip()

    async def _paste(self) -> None:
        environ = self._start.environ
        found = await read_clipboard(
            asker(environ, self._cwd()), system=self._start.system, env=environ
        )
        if found is None:
            self.screen.notify("There is nothing on the clipboard that could be pasted.")
        elif isinstance(found, str):
            self._frame.composer.insert(found)
        else:
            self._frame.composer.attach(found)
        self._frame.tui.request_render()

    async def _ask_trust(self, folder: Path) -> Choice | None:
        return await self._start.ask_trust(self.screen, folder)

    def _report(self, text: str) -> None:
        self.screen.notify(text, "warning" if text.startswith("Warning:") else "info")

    def _clipboard(self) -> Clipboard:
        import shutil  # slow to load, and needed only behind the first frame

        environ = self._start.environ
        return Clipboard(
            system=self._start.system,
            env=environ,
            find=lambda name: shutil.which(name, path=environ.get("PATH")),
            run=runner(environ, self._start.cwd),
            write=self._frame.tui.terminal.write,
        )


def _first(keys: tuple[str, ...]) -> str:
    return keys[0].replace("escape", "esc") if keys else ""
