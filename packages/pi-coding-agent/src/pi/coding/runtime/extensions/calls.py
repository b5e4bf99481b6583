"""``SessionExtensions``: calls and lists of the extensions of a session, for modes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args

from pi.base.errors import PiError
from pi.base.records import UNSET, UnsetType, replace
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.errors import (
    CommandExit,
    ExtensionError,
    ExtensionFailed,
    check_value,
    error_text,
)
from pi.coding.extension_host.events.session import (
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
)
from pi.coding.runtime.extensions.hosting import ExtensionHosting
from pi.coding.runtime.live import LiveSession

if TYPE_CHECKING:  # lazy: imported with the first extension
    from pi.coding.bus import NamedRegistry, Owner
    from pi.coding.extension_host.contributions.commands import (
        DeclaredCommand,
        RegisteredInputMode,
    )
    from pi.coding.extension_host.contributions.flags import ExtensionFlag
    from pi.coding.extension_host.contributions.views import View, Views
    from pi.coding.port.extensions import CheckResult, ExtensionInfo, InputMode, NameConflict
    from pi.coding.runtime.extensions.switching import ExtensionSwitches

log = logging.getLogger(__name__)


class SessionExtensions:
    """Implements ``ExtensionsPort``. Exceptions of extensions are reported and do not propagate."""

    def __init__(
        self,
        hosting: ExtensionHosting,
        core: LiveSession,
        make_switches: Callable[[], ExtensionSwitches],
    ) -> None:
        self._make_switches = make_switches
        self.hosting = hosting
        """Creates the host and loads extensions."""
        self.attach = hosting.attach
        self.redacted = core.extensions.redacted
        self._core = core
        self._contributions = hosting.contributions
        self.missing_extra_notes = hosting.sources.missing_extra_notes
        self.foreign = hosting.sources.foreign
        """Files that only the original pi can run."""
        self._declared_views: tuple[NamedRegistry[View], Views] | None = None
        """Views of manifests, while no extension is loaded."""
        self.shutdown_requested = asyncio.Event()
        """Set when an extension requests shutdown."""
        self.exit_code: int | None = None
        """The exit code that a command requested."""

    @cached_property
    def switches(self) -> ExtensionSwitches:
        """Switches extensions on and off; most runs switch none."""
        return self._make_switches()

    @property
    def facts(self) -> Mapping[str, str]:
        """Return the facts that extensions have published."""
        host = self._contributions.host
        return {} if host is None else host.registries.facts.texts

    # Commands, shortcuts and input modes ----------------------------------------------------------

    def find(self, text: str) -> str | None:
        """Return the name of the extension command that ``text`` calls, or ``None``."""
        host = self._contributions.host
        if host is None and not text.startswith("/"):
            return None
        commands = (self.hosting.dormant if host is None else host.registries).commands
        match = commands.find(text, self._core.template_names())
        return None if match is None else match[0].name

    async def run(self, text: str) -> None:
        """Run a command to its end; a failure is reported."""
        host = self.hosting.host
        match = host.registries.commands.find(text, self._core.template_names())
        if match is None:
            return
        declared, arguments = match

        # Lazy: few runs type a command of an extension.
        from pi.coding.runtime.extensions.libraries import LibraryOffer

        async def work() -> None:
            if declared.needs_run_here:
                self._core.require_local(f"run /{declared.name}")
            if note := await self.switches.use_command(declared):
                self._show_note(note, declared)
            command = await host.loading.load_command(declared)
            machine, hosting = self._core.machine, self.hosting
            offer = LibraryOffer(
                hosting.ui, machine.environment.of_process, offline=machine.offline
            )
            manifest = hosting.manifests_by_path().get(declared.owner.path)
            await offer.run(partial(command.handler, arguments, command.context), manifest)

        await self._run_contained(work, f"command:{declared.name}", "command")

    def _show_note(self, note: str, command: DeclaredCommand) -> None:
        """Show a note of pi itself about a command; on stderr where there is no screen."""
        hosting = self.hosting
        if hosting.ui is not None and hosting.shows_notices:
            # A notice of the command would replace a transient one.
            hosting.ui.write(note)
            return
        manifest = hosting.manifests_by_path().get(command.owner.path)
        # `pi rewind` and the like are sessions of one command: there is nothing to keep.
        if manifest is None or command.name not in manifest.subcommands:
            self._core.machine.report(note)

    def shortcuts(self) -> Mapping[str, str]:
        """Return shortcut keys of extensions, with their descriptions."""
        host = self._contributions.host
        shortcuts = {} if host is None else host.registries.shortcuts.values
        return {key: shortcut.description for key, shortcut in shortcuts.items()}

    async def press(self, key: str) -> bool:
        """Run the shortcut of a key. Returns False if no extension has registered the key."""
        shortcut = self.hosting.host.registries.shortcuts.get(key)
        if shortcut is None:
            return False
        work = partial(shortcut.handler, shortcut.context)
        await self._run_contained(work, f"shortcut:{key}", "shortcut")
        return True

    def input_mode(self, text: str) -> InputMode | None:
        """Return the input mode for the prefix of a text, or ``None``."""
        registered = self._mode_of(text)
        return None if registered is None else registered.mode

    async def handle_input(self, text: str) -> bool:
        """Pass a text to its input mode. Returns False if it has none."""
        registered = self._mode_of(text)
        if registered is None:
            return False
        from pi.coding.extension_host.events.queries import (  # deferred: rarely used
            UserCommandEndEvent,
            UserCommandStartEvent,
        )

        prefix, code, bus = registered.prefix, registered.text_of(text), self._core.bus
        work = partial(registered.mode.run, code, registered.context)
        await bus.emit(UserCommandStartEvent(prefix=prefix, text=code))
        try:
            await self._run_contained(work, registered.owner.path, f"input mode {prefix}")
        finally:
            await bus.emit(UserCommandEndEvent(prefix=prefix, text=code))
        return True

    # Views and lists ------------------------------------------------------------------------------

    @property
    def views(self) -> Views:
        """Views of tools, messages, entries, statuses and code."""
        if self._contributions.host is not None:
            return self._contributions.host.views
        declared = self.hosting.dormant.views
        if self._declared_views is None or self._declared_views[0] is not declared:
            from pi.coding.bus import OrderedList
            from pi.coding.extension_host.contributions.views import Views

            self._declared_views = (declared, Views(declared, OrderedList(), self._view_failed))
        return self._declared_views[1]

    def _view_failed(self, owner: Owner, what: str, error: BaseException) -> None:
        """Report a failed view of an extension that is not loaded."""
        log.warning("%s of %s failed", what, owner.path, exc_info=error)
        text = f"Warning: {what} of {owner.name} failed: {error_text(error)}"
        self._core.machine.report(text)

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """Return completions for an argument of a command."""
        host = self.hosting.host
        match = host.registries.commands.find(f"/{command}", self._core.template_names())
        if match is None:
            return ()
        complete = (await host.loading.load_command(match[0])).completions
        if complete is None:
            return ()
        texts: Sequence[str] | None = await contained(partial(complete, prefix))
        return texts or ()

    async def references(self, typed: str) -> Sequence[str]:
        """Return completions for a partly typed reference such as ``rule://`` or ``skill://``."""
        from pi.coding.extension_host.contributions.references import complete_reference
        from pi.coding.runtime.internal_urls import complete_internal_url

        host = self._contributions.host
        try:
            rows = () if host is None else host.registries.references.values
            completions = await complete_reference(rows, typed)
            return completions or complete_internal_url(self._core, typed)
        except Exception:
            log.warning("completing reference %s failed", typed, exc_info=True)
            return ()

    def flags(self) -> Sequence[tuple[str, ExtensionFlag]]:
        """Return the command line options of extensions, with the names of their owners."""
        rows = self.hosting.host.registries.flags.winners().values()
        return [(row.owner.name, row.value[1]) for row in rows]

    def clashes(self) -> Sequence[NameConflict]:
        """Return registrations that have no effect, because their names are taken."""
        from pi.coding.extension_host.contributions.registries import name_conflicts

        return name_conflicts(self.hosting.host.registries)

    def infos(self) -> Sequence[ExtensionInfo]:
        """Return every extension that was found."""
        hosting = self.hosting
        return hosting.host.loading.infos if self._contributions.host or hosting.dormant else ()

    async def run_doctor_checks(self) -> list[CheckResult]:
        """Run the checks that extensions add to ``pi doctor``; one that fails is reported."""
        from pi.coding.port.extensions import CheckLevel, CheckResult  # only for `pi doctor`

        await self.hosting.host.loading.load_for_doctor()
        results: list[CheckResult] = []
        for name, (check, context) in self.hosting.host.registries.doctor_checks.values.items():
            try:
                check_results = await self.hosting.host.watched(partial(check, context))
                for result in check_results or ():
                    check_value("a level", result.level, get_args(CheckLevel))
                    results.append(replace(result, topic=result.topic or name))
            except Exception as error:
                log.warning("doctor check %s failed", name, exc_info=error)
                text = f"the check failed: {error_text(error)}"
                results.append(CheckResult(level="broken", topic=name, text=text))
        return results

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Call ``moved`` when another session or branch is shown.

        ``reloaded`` is called when the session is the same, but its extensions were reloaded.
        """
        bus = self._core.bus
        bus.subscribe(SessionSwitchEvent, lambda event: moved(), at="last")
        bus.subscribe(SessionTreeEvent, lambda event: moved(), at="last")
        bus.subscribe(
            SessionStartEvent,
            lambda event: reloaded() if event.reason == "reload" else None,
            at="last",
        )

    def _mode_of(self, text: str) -> RegisteredInputMode | None:
        if self._contributions.host is None:
            return None
        from pi.coding.extension_host.contributions.commands import mode_of

        return mode_of(self._contributions.host.registries.input_modes, text)

    async def _run_contained(self, work: Callable[[], Any], path: str, event: str) -> None:
        try:
            await contained(work)
        except CommandExit as exit:
            self.exit_code = exit.code
            self.shutdown_requested.set()
        except Exception as error:
            # An error for the user says all that there is to say; the log is for bugs.
            if isinstance(error, PiError) and not isinstance(error, ExtensionError):
                log.info("%s failed: %s", path, error)
                hint: str | UnsetType = error.hint
            else:
                log.warning("%s failed", path, exc_info=error)
                hint = (error.hint or UNSET) if isinstance(error, PiError) else UNSET
            failed = ExtensionFailed(
                extension_path=path, event=event, error=error_text(error), hint=hint
            )
            await self._core.agent.emit(failed)
