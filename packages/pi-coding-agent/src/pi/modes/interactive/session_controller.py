"""Connects the regions of a session: dispatches events to them, and user input to the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pi.agent.compaction.errors import TOO_SMALL
from pi.agent.events import AgentEnd, MessageStart, MessageUpdate, QueueUpdate
from pi.ai.messages import AssistantMessage, Image
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import CompactionEnd, CompactionResult
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.extension_host.events.session import ThinkingLevelChanged
from pi.coding.mentions import without_attachments
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.cache_misses import CacheMissDetector
from pi.modes.interactive.composer.attaching import AttachmentChips, AttachmentWatcher
from pi.modes.interactive.composer.pasting import PasteHandler, image_unsupported_reason
from pi.modes.interactive.extensions.connection import ExtensionConnection
from pi.modes.interactive.key_actions import KeyActions
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.prompt_sender import PromptSender
from pi.modes.interactive.quit_keys import QuitKeys
from pi.modes.interactive.screen_settings import SettingsApplier, graphics_for, system_clipboard
from pi.modes.interactive.startup import AppOptions, OpenedSession
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.program_status import ProgramStatus
from pi.modes.interactive.status.status import StatusRegion
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.transcript.block import TranscriptOptions, WorkTime
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.log_file import more_in_log
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.history import MAX_HISTORY_ENTRIES

# Controller ---------------------------------------------------------------------------------------


class SessionController:
    """Created after the first frame; ``cwd`` returns the folder of the session, or of the start.

    ``screen`` is the ``Ui`` of dialogs; ``prompt_sender`` sends submitted text.
    """

    def __init__(
        self,
        start: AppOptions,
        frame: AppLayout,
        tasks: TaskScope,
        quit_keys: QuitKeys,
        *,
        cwd: Callable[[], Path],
        quit: Callable[[], None],
    ) -> None:
        self._start = start
        self._frame = frame
        self._tasks = tasks
        self._cwd = cwd
        self._cache = CacheMissDetector()
        self._session_id = ""
        """The session that is shown."""
        tui = frame.tui
        activity = Activity(start.clock, interrupt_key=_key_label(frame.keymap, "app.interrupt"))
        window = WindowTitle(
            tui.terminal.write,
            tui.capabilities,
            watch=tui.negotiation.follow_focus,
            is_seen=lambda: tui.negotiation.has_focus is True,
        )
        self._program = ProgramStatus(tui.terminal.write, start.environ)
        tui.negotiation.on_program_status = self._program.supported
        tui.closing_sequences = lambda: window.farewell() + self._program.farewell()
        self.status = self._new_status(activity, window)
        self._work_time = WorkTime(start.clock.monotonic)
        self.transcript = TranscriptView(self._look())
        frame.above.add_child(self.transcript.component)
        activity.hides_time = frame.screen_reader
        self.follower = SettingsApplier(
            frame,
            self.transcript,
            graphics_for(tui, start.environ),
            theme_override=start.theme,
            activity=activity,
        )
        self.screen = self._new_screen(activity, quit)
        self.extensions = ExtensionConnection(
            self.screen,
            frame,
            self.transcript,
            activity,
            window,
            facts_changed=self.status.refresh,
            waiting=self._waiting,
            reloaded=self._show_reloaded,
        )
        self.prompt_sender = PromptSender(
            self.screen,
            frame.composer,
            self.transcript,
            tasks,
            after_command=self.choices_changed,
        )
        self._key_actions = self._connect_keys(activity, quit_keys)
        chips = AttachmentChips(frame.theme)
        frame.composer.show_above(chips)
        watcher = AttachmentWatcher(
            chips,
            is_on=lambda: self.prompt_sender.attaches_files,
            look=self.prompt_sender.attachments,
            clock=start.clock,
            tasks=tasks,
            request_render=tui.request_render,
        )
        frame.composer.on_text = watcher.text_changed

    def open(self, opened: OpenedSession) -> None:
        """Show the conversation of the session, once it is open, and follow its events."""
        self._program.begin()
        opened.port.subscribe(self._handle_event)
        opened.port.on_moved(self.choices_changed)
        self.screen.open(opened.port, opened.host)
        self._key_actions.open(opened.port)
        self.extensions.open(opened.port)
        self._frame.themes.files = opened.themes
        self._show_session()

    def choices_changed(self) -> None:
        """The model or the thinking level changed."""
        self._frame.composer.show_level(self.screen.port.models.thinking_level)
        self.status.refresh()

    # Event handling -------------------------------------------------------------------------------

    def _handle_event(self, event: object) -> None:
        self.transcript.feed.handle_event(event)
        self.status.handle_event(event)
        if type(event) is not MessageUpdate:
            self._watch_cache(event)
        match event:
            case QueueUpdate(steering=steering, follow_up=follow_up):
                self.prompt_sender.queue_changed(steering, follow_up)
            case MessageStart(message=AssistantMessage()) | AgentEnd():
                self._frame.passing.end_progress()
            case ThinkingLevelChanged(level=level):
                self._frame.composer.show_level(level)
            case ExtensionFailed(hint=str()):  # an error for the user, not a bug
                self.screen.notify(event.explain(), "error")
            case ExtensionFailed(extension_path=path, error=error):
                more = more_in_log(self._start.agent_dir)
                self.screen.notify(f"{path}: {error}\n{more}", "error")
            case CompactionEnd(error_message=message):
                if isinstance(event.result, CompactionResult) and event.result.note:
                    self.screen.notify(event.result.note, "info")
                if isinstance(message, str):
                    # Only as the sole reason: a strategy that failed before adds its own.
                    is_too_small = message.partition(": ")[2] == TOO_SMALL
                    self.screen.notify(
                        f"{TOO_SMALL}." if is_too_small else message,
                        "info" if is_too_small else "error",
                    )
                self.prompt_sender.deliver_waiting()
        self._frame.tui.request_render()

    def _watch_cache(self, event: object) -> None:
        notice = self._cache.handle_event(event)
        if notice and self.screen.port.settings.values.show_cache_miss_notices:
            self.screen.notify(notice, "warning")

    def _submit_prompt(self, text: str, images: tuple[Image, ...]) -> None:
        self._frame.passing.show("")
        if self.prompt_sender.is_open:
            # Handlers of the event may show a dialog at once.
            self._frame.composer.typing.end_pause()
        if self._frame.fullscreen is not None:
            self._frame.fullscreen.follow()  # scroll to the new message
        self.prompt_sender.submit(text, images)

    # Display of the session -----------------------------------------------------------------------

    def _show_session(self) -> None:
        """Show the conversation and all status of the session."""
        self._show_facts()
        port = self.screen.port
        self._session_id = port.entries.log.header.id
        self.extensions.load(port)
        for point in port.info.fork_points(MAX_HISTORY_ENTRIES):
            self._frame.composer.remember(without_attachments(point.text))

    def _show_facts(self) -> None:
        port = self.screen.port
        self.follower.follow(port.settings)
        self._frame.composer.show_level(port.models.thinking_level)
        self.status.open(port)

    def _reload(self) -> None:
        """Show another session, or another branch of this one."""
        facts, before = self.screen.port.info, self._session_id
        self.transcript.clear()
        self.prompt_sender.moved(self.screen.port)
        self._show_session()
        if self._session_id == before:
            page = self.screen.page("Another branch", is_other_text=True)
        else:
            title = "Session" if facts.fork_points(1) else "New session"
            page = self.screen.page(title, is_other_text=True, is_forced=True)
        self._frame.tui.reset_display(page)

    def _show_reloaded(self) -> None:
        """Show the same conversation with reloaded settings and extensions."""
        self._show_facts()
        self._frame.tui.reset_display()

    # Construction ---------------------------------------------------------------------------------

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """The block waits for an answer of the user."""
        with self._work_time.waiting(), self._program.blocked():
            yield

    def _new_status(self, activity: Activity, window: WindowTitle) -> StatusRegion:
        frame, start = self._frame, self._start
        return StatusRegion(
            frame.theme,
            activity,
            frame.footer,
            window,
            self._program,
            clock=start.clock,
            tasks=self._tasks,
            home=start.home,
            show_label=self._show_label,
            request_render=frame.tui.request_render,
        )

    def _show_label(self, label: str) -> None:
        """Show the activity in the editor's border; only that is painted again."""
        self._frame.composer.show_label(label)
        self._frame.tui.request_component_render(self._frame.composer.component)
        if self.transcript.feed.tick():
            self._frame.tui.request_component_render(self.transcript.component)

    def _look(self) -> TranscriptOptions:
        frame = self._frame
        return TranscriptOptions(
            theme=frame.theme,
            cwd=self._cwd,
            home=self._start.home,
            monotonic=self._work_time,
            expand_key=_key_label(frame.keymap, "app.tools.expand"),
            thinking_key=_key_label(frame.keymap, "app.thinking.toggle"),
            has_hyperlinks=frame.tui.capabilities.hyperlinks,
            # Terminals with hyperlinks support these marks or ignore them; tmux does since 3.4.
            marks_prompts=frame.fullscreen is None
            and (frame.tui.capabilities.hyperlinks or frame.tui.capabilities.multiplexer),
        )

    def _new_screen(self, activity: Activity, quit: Callable[[], None]) -> AppUi:
        return AppUi(
            self._frame,
            self.transcript,
            activity,
            clock=self._start.clock,
            tasks=self._tasks,
            clipboard=system_clipboard(self._start, self._frame.tui.terminal.write),
            cwd=self._cwd,
            system=self._start.system,
            reload=self._reload,
            quit=quit,
        )

    def _why_unseen(self) -> str:
        """Return why the model would not see an image; empty if it would or is unknown."""
        return image_unsupported_reason(self.screen.port) if self.prompt_sender.is_open else ""

    def _connect_keys(self, activity: Activity, quit_keys: QuitKeys) -> KeyActions:
        """Connect the keys and the submit handler of the screen."""
        frame = self._frame
        paste_handler = PasteHandler(
            self._start,
            self.screen,
            frame.composer,
            limits=self.follower.image_limits,
            unsupported_reason=self._why_unseen,
        )
        key_actions = KeyActions(
            self.screen,
            frame.composer,
            self.transcript,
            activity,
            self.prompt_sender,
            quit_keys,
            clock=self._start.clock,
            suspend=frame.tui.suspend,
            paste_image=paste_handler.paste,
            status_changed=self.choices_changed,
        )
        if frame.fullscreen is not None:
            frame.fullscreen.on_select = paste_handler.copy_selected
            frame.fullscreen.on_copy = paste_handler.copy

        def handle_paste(text: str) -> bool:
            self.transcript.look.add_paste(text)
            return paste_handler.drop(text)

        frame.composer.prompt.on_paste = handle_paste
        frame.composer.on_submit = self._submit_prompt
        frame.composer.on_action(key_actions.act)
        return key_actions


def _key_label(keymap: Keymap, action: str) -> Callable[[], str]:
    """Return a function that returns the first key of an action; empty if it has none."""

    def first() -> str:
        keys = keymap.keys(action)
        return keys[0].replace("escape", "esc") if keys else ""

    return first


# Clipboard and images of the terminal -------------------------------------------------------------
