"""``pi install``, ``remove``, ``update``, ``list``, ``config``: packages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.installation import Installation
from pi.cli.arguments import Arguments, UsageError
from pi.cli.session_setup import approval
from pi.cli.signals import run_until_signal
from pi.cli.standard_streams import print_error
from pi.coding.bus import EventBus
from pi.coding.packages.discovery import (
    Configured,
    Layer,
    Package,
    configured_packages,
    find_packages,
    layers_of,
    open_package,
)
from pi.coding.packages.entries import Kind, PackageEntry, matches
from pi.coding.packages.listing import (
    arrival_lines,
    config_lines,
    list_lines,
    resource_note,
    source_name,
    update_line,
)
from pi.coding.packages.source import (
    InstallDeclined,
    LocalSource,
    NoMatchingPackage,
    PackageProblem,
    parse_source,
    without_password,
)
from pi.coding.packages.staging import Approve, Arrival
from pi.coding.packages.store import PackageStore
from pi.coding.resources.sources import Scope
from pi.coding.runtime.agent_offer import switched_off
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.models import discover_models
from pi.coding.runtime.packages_here import stores_here
from pi.coding.settings.files import SettingsFile
from pi.coding.settings.settings import Settings
from pi.coding.trust import Trust, TrustStore, decide_trust
from pi.version import __version__


class PackageContext:
    """The settings and packages of the user and, if it is trusted, of the project."""

    def __init__(self, host: Machine, cwd: Path, settings: Settings) -> None:
        self.host, self.cwd = host, cwd
        self.may_change_project = False
        """Whether the project is trusted, or has nothing that needs trust."""
        self._settings = settings

    @classmethod
    async def open(cls, host: Machine, cwd: Path, *, approve: bool | None) -> PackageContext:
        """Decide about trust, then read the settings of the user and of a trusted project."""
        settings = Settings.of(host.agent_dir, cwd, clock=host.clock)
        context = cls(host, cwd, settings)
        trust = await context.decide(approve=approve)
        context.may_change_project = trust.trusted or trust.source == "nothing to trust"
        if trust.trusted:
            settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=host.clock))
        for warning in settings.warnings:
            warn(warning)
        return context

    async def decide(self, *, approve: bool | None) -> Trust:
        """Return whether the project with its current content is trusted."""
        return await decide_trust(
            self.cwd,
            TrustStore(self.host.agent_dir / "trust.json", clock=self.host.clock),
            home=self.host.home,
            bus=EventBus(),
            flag=approve,
            default=self._settings.values.default_project_trust,
            use=switched_off(self._settings),
        )

    def store(self, scope: Scope) -> PackageStore:
        """Return the store of a scope."""
        stores = stores_here(self.cwd, self.host, self._settings, offline=self.host.offline)
        return stores.store(scope)

    def configured(self) -> list[Configured]:
        """Return every package in effect."""
        layers = layers_of(self._settings, self.host.agent_dir, self.cwd)
        return configured_packages(layers, warn)

    def find(self, text: str) -> Configured:
        """Return the package of a source. Raises ``NoMatchingPackage`` if there is none."""
        identity = parse_source(text, self.cwd).identity
        for configured in self.configured():
            if configured.entry.source == text or configured.source.identity == identity:
                return configured
        raise NoMatchingPackage(without_password(text))

    def offers_anything(self, text: str, scope: Scope) -> bool:
        """Return whether the installed package of a source has resources."""
        source = parse_source(text, self.cwd)
        entry = PackageEntry(source=str(source.path) if isinstance(source, LocalSource) else text)
        discovered = find_packages([Layer(location=self.store(scope).location, entries=(entry,))])
        return any(package.offered for package in discovered.packages)


def warn(text: str) -> None:
    """Print a warning."""
    print_error(f"Warning: {text}")


ITSELF = ("self", "pi")


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run the subcommand and return the exit code."""
    host = Machine.from_environ(environ, report=print_error)
    try:
        return run_until_signal(_run(arguments, host, Path.cwd()))
    except NoMatchingPackage as error:
        print_error(error.message)
        return 1


async def _run(arguments: Arguments, host: Machine, cwd: Path) -> int:
    context = await PackageContext.open(host, cwd, approve=approval(arguments))
    match arguments.command:
        case "install":
            await _install(context, arguments)
        case "remove" | "uninstall":
            await _remove(context, arguments)
        case "update":
            return await _update(context, arguments)
        case "list":
            _print_lines(list_lines(context.configured()))
        case "config":
            await _configure(context, arguments)
    return 0


# Installing and removing --------------------------------------------------------------------------


async def _install(context: PackageContext, arguments: Arguments) -> None:
    text = _only_source(arguments)
    scope = _scope(arguments)
    _print_lines([f"Installing {without_password(text)}..."])
    await context.store(scope).install(text, context.cwd, _approval(arguments))
    _print_lines([f"Installed {without_password(text)}"])
    if not context.offers_anything(text, scope):
        warn("it has no extensions, skills, prompts or themes")
    # Checked again: the new files may be the first here that need trust.
    if scope == "project" and not (await context.decide(approve=approval(arguments))).trusted:
        print_error(
            "The project is not trusted: its packages are used once it is, or with --approve."
        )


async def _remove(context: PackageContext, arguments: Arguments) -> None:
    text = _only_source(arguments)
    await context.store(_scope(arguments)).remove(text, context.cwd, warn)
    _print_lines([f"Removed {without_password(text)}"])


def _only_source(arguments: Arguments) -> str:
    if len(arguments.messages) != 1:
        raise UsageError(
            f"`pi {arguments.command}` needs one package source",
            hint="Such as npm:name, pypi:name, git:host/owner/name or ./folder.",
        )
    return arguments.messages[0]


def _scope(arguments: Arguments) -> Scope:
    return "project" if "local" in arguments.options else "user"


def _approval(arguments: Arguments) -> Approve:
    """Return a function that lists all packages of an installation and, on a terminal, asks.

    A new version of an installed package needs no confirmation.
    """

    async def approve(arrivals: Sequence[Arrival]) -> None:
        if len(arrivals) > 1 or not arrivals[0].before:  # a single update is reported at its end
            _print_lines(f"  {line}" for line in arrival_lines(arrivals))
        all_known = all(arrival.before for arrival in arrivals)
        if all_known or "approve" in arguments.options or not _is_at_a_terminal():
            return
        from pi.ai.auth.terminal_ui import TypedLines  # deferred: few installations ask

        sys.stdout.write("Extensions run with your permissions. Trust and install these? [y/N] ")
        sys.stdout.flush()
        answer = await TypedLines().next()
        if (answer or "").strip().lower() not in ("y", "yes"):
            raise InstallDeclined("Not installed: not confirmed.")

    return approve


def _is_at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


# Updating -----------------------------------------------------------------------------------------


async def _update(context: PackageContext, arguments: Arguments) -> int:
    everything = "all" in arguments.options
    named = arguments.text("extension") or next(iter(arguments.messages), "")
    packages = everything or "extensions" in arguments.options
    models = everything or "models" in arguments.options
    nothing_else = not (packages or models or named)
    went_well = []
    if everything or "self" in arguments.options or named in ITSELF or nothing_else:
        _print_lines(_how_to_update())
    chosen = context.configured() if packages else []
    if packages and not chosen:
        _print_lines(["No packages installed."])
    elif not packages and named and named not in ITSELF:
        chosen = [context.find(named)]
    for configured in chosen:
        went_well.append(await _update_one(context, configured, arguments))
    if models:
        went_well.append(await _refresh_models(context))
    return 0 if all(went_well) else 1


def _how_to_update() -> list[str]:
    return [
        f"This is pi {__version__}. To update it, run: {Installation.current().update_command()}"
    ]


async def _update_one(
    context: PackageContext, configured: Configured, arguments: Arguments
) -> bool:
    """Update a package; returns whether that succeeded. Errors are printed, not raised."""
    try:
        outcome = await context.store(configured.scope).update(
            configured, force="force" in arguments.options, approve=_approval(arguments)
        )
    except PiError as error:
        print_error(f"Error: {source_name(configured)}: {error.explain()}")
        return False
    _print_lines([update_line(configured, outcome)])
    return True


async def _refresh_models(context: PackageContext) -> bool:
    if context.host.offline:
        print_error("Error: Cannot update the model list while offline.")
        return False
    registry = discover_models(context.host, context.cwd)
    try:
        problems = await registry.models.refresh()
        for provider, error in problems.items():
            if registry.has_auth(provider):
                warn(f"{provider}: {error.message}")
        _print_lines(
            [f"{len(registry.get_available())} models are available; `pi models` lists them."]
        )
    finally:
        await registry.models.close()
    return True


# Choosing -----------------------------------------------------------------------------------------


async def _configure(context: PackageContext, arguments: Arguments) -> None:
    match arguments.messages:
        case ():
            there = [configured for configured in context.configured() if configured.installed]
            packages = [open_package(configured, warn) for configured in there]
            if not packages:
                _print_lines(["No packages installed."])
            elif _is_at_a_terminal():
                await _choose_on_screen(context, arguments, packages)
            else:
                _print_lines(config_lines(packages))
        case ("on" | "off" as action, text, *names) if names:
            package = open_package(context.find(text), warn)
            for name in names:
                await _switch(context, arguments, package, name, on=action == "on")
        case _:
            raise UsageError(
                "Usage: `pi config`, or `pi config on|off <source> <resource>...`",
                hint="`pi config` lists the resources of every package.",
            )


async def _choose_on_screen(
    context: PackageContext, arguments: Arguments, packages: list[Package]
) -> None:
    # Lazy: `pi config` on a terminal only.
    from pi.modes.interactive.resource_config import PackageResource, choose_resources
    from pi.tui.terminals import own_terminal

    offered = [(package, kind, path) for package in packages for kind, path in package.resources]

    def row(package: Package, kind: Kind, path: str) -> PackageResource:
        about = f"{kind} of {source_name(package.configured)} ({package.configured.scope})"
        about += resource_note(kind, path)
        return PackageResource(path=path, about=about, is_on=path in package.chosen.get(kind, ()))

    async def switch(index: int, *, on: bool) -> None:
        package, kind, path = offered[index]
        await _toggle(context, arguments, package, kind, path, on=on)

    await choose_resources(
        [row(*resource) for resource in offered],
        switch,
        own_terminal(context.host.environ, platform=sys.platform),
        environ=context.host.environ,
        agent_dir=context.host.agent_dir,
    )


async def _switch(
    context: PackageContext, arguments: Arguments, package: Package, name: str, *, on: bool
) -> None:
    matching = [(kind, path) for kind, path in package.resources if matches(name, path)]
    if not matching:
        raise PackageProblem(f"The package has no {name}.", hint="`pi config` lists what it has.")
    for kind, path in matching:
        await _toggle(context, arguments, package, kind, path, on=on)
        _print_lines([f"[{'x' if on else ' '}] {kind:10} {path}"])


async def _toggle(
    context: PackageContext,
    arguments: Arguments,
    package: Package,
    kind: Kind,
    path: str,
    *,
    on: bool,
) -> None:
    scope = "project" if "local" in arguments.options else package.configured.scope
    if scope == "project" and not context.may_change_project:
        raise PackageProblem("The project is not trusted.", hint="Trust it, or use --approve.")
    await context.store(scope).toggle(package, kind, path, on=on)


# --------------------------------------------------------------------------------------------------


def _print_lines(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()  # the next step may take a while
