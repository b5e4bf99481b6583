"""Prepares a session: settings, extensions, trust, log and models, in the order of ``run``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.records import replace
from pi.base.tasks import off_loop
from pi.coding.bus import EventBus
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.models.starting import ModelPreferences, StartingModel, find_starting_model
from pi.coding.resources.tolerant_files import entries_of
from pi.coding.runtime.agent_offer import offer_agents, switched_off
from pi.coding.runtime.extensions.hosting import ExtensionHosting
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.live import LiveSession, SessionToolSupport
from pi.coding.runtime.machine import CurrentVariables, Machine
from pi.coding.runtime.models import ModelClient, credential_store, migrate_credentials
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.session_places import location_for, session_dir_from_settings
from pi.coding.runtime.workspace import (
    Workspace,
    open_workspace,
    own_settings,
    skipped_files,
)
from pi.coding.session.context import chosen_model, chosen_thinking_level
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, opened_in_thread
from pi.coding.settings.files import SettingsFile
from pi.coding.settings.guards import RECOMMENDED
from pi.coding.settings.settings import Settings
from pi.coding.trust import Trust, TrustStore, decide_trust

if TYPE_CHECKING:  # deferred: imported with the first extension
    from pi.coding.extension_host.host import ExtensionHost


class Bootstrap:
    """Prepares a session in steps; each step needs the results of the previous ones."""

    workspace: Workspace
    log: SessionLog
    variables: CurrentVariables
    model_client: ModelClient
    start: StartingModel

    def __init__(
        self, cwd: Path, machine: Machine, options: SessionOptions, overrides: SessionOverrides
    ) -> None:
        self._cwd = cwd
        self.machine = machine
        self.options = options
        if overrides.settings is not None:
            # A session must not change the settings of another one: the first nested session once
            # switched the recommended batteries of its parent off.
            is_nested = overrides.parent is not None
            derived = overrides.settings.derived(nested=is_nested)
            overrides = replace(overrides, settings=derived)
        self.overrides = overrides
        self.bus = overrides.bus or EventBus()
        self.contributions = ExtensionContributions()
        self.storage = overrides.auth_storage or credential_store(machine)
        self.secrets = KnownSecrets(
            machine,
            self.storage,
            environ=self._variables,
            rows=self._provider_rows,
            clients=self._oauth_clients,
            variables=self.contributions.secret_variables,
        )
        self.hosting = self._new_hosting()
        self._answers: dict[str, bool] = {}
        """The user's trust decisions for this run only, by directory."""
        self._skipped: tuple[Path, ...] = ()
        """Skipped files that were already reported to the user."""
        self._live: LiveSession | None = None
        self._tool_support = SessionToolSupport(self.secrets, self.contributions)
        self._opened = AsyncExitStack()
        """Resources to close if no session is built: locks, connections, extensions."""
        self.rollback = self._opened.aclose

    def bind(self, core: LiveSession) -> None:
        """Connect the finished session; from now on its workspace is the current one."""
        self._live = self._tool_support.core = core
        self.model_client.bind(core, api_key=self.options.api_key)

    async def run(self) -> None:
        """Run all steps.

        Settings and extensions of the user are loaded before the trust decision, because an
        extension may answer it. Files of the project are read afterwards.
        """
        self._opened.push_async_callback(self.hosting.close)
        settings = self.overrides.settings or own_settings(self.machine, self.options)
        await self.hosting.load_own(self._cwd, settings)
        await self._offer_agents(settings)
        trust = await self.decide_trust(self._cwd, settings)
        self.workspace = await self.open_workspace(self._cwd, trust, settings=settings)
        self._move_legacy_sessions()
        self.log = await self._open_log(self.session_location(self._cwd))
        self._opened.callback(self.log.close)
        await self._move_to(Path(self.log.header.cwd))
        self.report_skipped_files()
        if self.overrides.auth_storage is None:
            await migrate_credentials(self.machine, self.workspace.settings, self.storage)
        self.variables = CurrentVariables(self.workspace.environment.values)
        self.model_client = ModelClient(
            replace(self.machine, environ=self.variables),
            self.workspace.cwd,
            settings=self.workspace.settings,
            values=self.workspace.settings.values,
            registry=self.overrides.registry,
            storage=self.storage,
            extensions=self.contributions,
        )
        self._opened.push_async_callback(self.model_client.close)
        await self.hosting.load_project(self.workspace)
        self.hosting.connect(self.model_client.registry)
        # Before the model is chosen: a triggered extension may provide the model or resolve its
        # name.
        await self.hosting.load_triggered(self.workspace, self.log)
        self.start = await find_starting_model(
            await off_loop(self._model_preferences, len(self.log.tree)), self.model_client.registry
        )
        if self.options.settings.get("batteries") == RECOMMENDED:
            self.hosting.sources.report_missing_extras()

    @property
    def is_new(self) -> bool:
        """Whether the session has no messages yet."""
        return not self.log.is_saved and self.log.leaf is None

    async def decide_trust(self, cwd: Path, settings: Settings | None = None) -> Trust:
        """Decide whether the project in ``cwd``, with its current files, is trusted.

        Call it before each read: files can appear at any time. ``settings`` are those of the user;
        by default they are read again.
        """
        if self.overrides.trust is not None:
            return self.overrides.trust.within(cwd)
        settings = settings or self.overrides.settings or own_settings(self.machine, self.options)
        settings.recommend(self.hosting.sources.recommended)
        return await decide_trust(
            cwd,
            TrustStore(self.machine.agent_dir / "trust.json", clock=self.machine.clock),
            home=self.machine.home,
            bus=self.bus,
            flag=self.options.approve,
            default=settings.values.default_project_trust,
            ask=self.overrides.ask_trust,
            answers=self._answers,
            gates=self.hosting.gates(cwd, self.machine, settings),
            use=switched_off(settings),
        )

    async def open_workspace(
        self,
        cwd: Path,
        trust: Trust,
        before: Workspace | None = None,
        *,
        settings: Settings | None = None,
    ) -> Workspace:
        """Open a directory and read the project files that ``trust`` allows.

        ``settings`` are those of the user, if they were just read. ``before`` is the previous
        workspace; its overrides of settings for this run are kept.
        """
        settings = settings or self.overrides.settings
        if settings is None:
            overrides = before.settings.overrides if before else None
            settings = own_settings(self.machine, self.options, overrides)
        return await open_workspace(
            cwd,
            self.machine,
            self.options,
            trust,
            session=self._tool_support,
            settings=settings,
            with_project=self.overrides.settings is None,
            recommended=self.hosting.sources.recommended,
            gates=lambda settings: self.hosting.gates(cwd, self.machine, settings),
        )

    def check_project_settings(self, cwd: Path, trust: Trust) -> None:
        """Raise ``BadSettings`` if the settings of a trusted project cannot be read.

        Call it before the extensions of a session are unloaded, which would leave the session
        without its guards. ``decide_trust`` has read the user's files.
        """
        is_used = trust.trusted and self.overrides.settings is None
        if is_used and self.options.unreadable_settings == "refuse":
            Settings(SettingsFile(cwd / ".pi" / "settings.json", clock=self.machine.clock)).load()

    async def workspace_under(self, trust: Trust, cwd: Path, now: Workspace) -> Workspace:
        """Return the workspace for the next session: ``now`` if directory and trust are the same.

        A workspace that is reused keeps its background commands running.
        """
        if cwd != now.cwd or not trust.allows_as_much_as(now.trust, cwd):
            return await self.open_workspace(cwd, trust, now)
        return replace(now, trust=trust)

    def report_skipped_files(self) -> None:
        """Report files that were not read because they are not trusted, each one once.

        Call it when the session is shown: earlier reports are cleared with the old screen.
        """
        workspace = self._current_workspace
        is_decided_here = self.overrides.trust is None  # not for the directory of a parent session
        if is_decided_here and workspace.trust.source == "nothing to trust":
            return  # the trust decision has just looked for the same files
        skipped = skipped_files(workspace, self.options)
        new = [str(path) for path in skipped if path not in self._skipped]
        self._skipped = skipped
        if new and self.overrides.reports_skipped:
            self.machine.report(
                f"Not trusted, so not loaded by pi itself: {', '.join(new)}. Tools may still read"
                f" them. Use {self.options.names.approve} to allow it once."
            )

    async def _open_log(self, location: SessionLocation) -> SessionLog:
        if not self.overrides.reads_log:
            return self.overrides.open_log(location)
        is_shown = self.overrides.shows_session
        return await opened_in_thread(self.overrides.open_log, location, count=is_shown)

    def session_location(self, cwd: Path) -> SessionLocation:
        """Return where the sessions of a directory are stored."""
        settings = self._current_workspace.settings
        custom = self.overrides.session_dir or session_dir_from_settings(settings, cwd)
        location = location_for(self.machine, cwd, settings, custom)
        return location if self.overrides.persistent else replace(location, directory=None)

    def _move_legacy_sessions(self) -> None:
        """Move sessions that very old versions stored in the agent directory itself."""
        if any(path.suffix == ".jsonl" for path in entries_of(self.machine.agent_dir)):
            # Deferred: such files are rare.
            from pi.coding.session.file_operations import move_legacy_sessions

            move_legacy_sessions(self.machine.agent_dir)

    # The next three methods are also called before the workspace and the model client exist.

    def _variables(self) -> Mapping[str, str]:
        return (
            self._current_workspace.environment.values
            if hasattr(self, "workspace")
            else self.machine.environ
        )

    def _provider_rows(self) -> Iterable[Provider]:
        return (
            self.model_client.registry.models.get_providers()
            if hasattr(self, "model_client")
            else ()
        )

    def _oauth_clients(self) -> Mapping[str, Json]:
        return (
            self._current_workspace.settings.values.oauth_clients
            if hasattr(self, "workspace")
            else {}
        )

    @property
    def _current_workspace(self) -> Workspace:
        return self.workspace if self._live is None else self._live.workspace

    def _new_hosting(self) -> ExtensionHosting:
        hosting = ExtensionHosting(
            self.contributions,
            self._new_host,
            ExtensionSources(self.machine, self.options.extensions),
            self.bus,
            self.options,
            mode=self.overrides.mode,
        )
        if self.overrides.ui is not None:
            hosting.attach(self.overrides.ui, self.overrides.mode)
        if self.overrides.parent is not None:
            hosting.make_host()  # the guards of the parent session apply to this one
        return hosting

    def _new_host(self) -> ExtensionHost:
        from pi.coding.extension_host.host import ExtensionHost

        machine = self.machine
        return ExtensionHost(
            bus=self.bus,
            agent_dir=machine.agent_dir,
            cwd=self._cwd,
            environ=machine.environ,
            clock=machine.clock,
            report=machine.report,
            flags=self.options.extensions.flags,
            mode=self.overrides.mode,
            parent=self.overrides.parent,
            task=self.options.task,
            on_stall=self.overrides.on_stall,
        )

    async def _move_to(self, home: Path) -> None:
        if home == self._cwd or (self.overrides.stays_if_gone and not home.is_dir()):
            return
        from pi.coding.session.lookup import check_directory  # deferred: for stored sessions only

        try:
            check_directory(str(home), self.log.file, str(self._cwd))
        except PiError:
            self.log.close()
            raise
        await self.workspace.close()
        self.workspace = await self._first_workspace(home)

    async def _offer_agents(self, settings: Settings) -> None:
        """Ask about files of other agents in the home directory; not for nested sessions or RPC."""
        overrides = self.overrides
        if self._offers_agents and overrides.mode != "rpc":
            reports = overrides.reports_skipped
            await offer_agents(self.machine, settings, overrides.ui, reports=reports)

    @property
    def _offers_agents(self) -> bool:
        overrides = self.overrides
        return overrides.settings is None and overrides.parent is None and overrides.trust is None

    def offer_agents_over_rpc(self) -> None:
        """Ask an RPC client in the background, because clients need not answer such questions."""
        if self._offers_agents and self.overrides.mode == "rpc":
            self._current_workspace.jobs.start(self._ask_client(), name="files of other agents")

    async def _ask_client(self) -> None:
        settings, ui = own_settings(self.machine, self.options), self.hosting.ui
        if await offer_agents(self.machine, settings, ui, reports=True):
            await self.hosting.read_resources_again()

    async def _first_workspace(self, cwd: Path) -> Workspace:
        return await self.open_workspace(cwd, await self.decide_trust(cwd))

    def _default_role(self) -> tuple[str, ...]:
        raw = self.workspace.settings.raw
        if not raw.get("modelRoles"):
            return ()
        from pi.coding.models.roles import DEFAULT, configured_roles  # deferred: few have roles

        return configured_roles(raw, {}, {}).patterns(DEFAULT)

    def _model_preferences(self) -> ModelPreferences:
        options, values = self.options, self.workspace.settings.values
        chosen = chosen_model(self.log)
        return ModelPreferences(
            model=self.overrides.model,
            pattern=options.model,
            provider=options.provider,
            thinking=options.thinking,
            scope=options.models if options.models is not None else values.enabled_models or (),
            session=(chosen.provider, chosen.model_id) if chosen else None,
            session_thinking=chosen_thinking_level(self.log) if chosen else None,  # type: ignore[arg-type]
            default=(values.default_provider, values.default_model),
            default_role=self._default_role(),
            default_thinking=values.default_thinking_level,
            model_thinking=values.model_thinking_levels,
            names=options.names,
        )
