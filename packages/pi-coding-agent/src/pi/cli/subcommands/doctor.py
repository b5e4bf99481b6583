"""``pi doctor``: checks the installation and prints what to do."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pi.ai.auth.errors import StoreDamaged
from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import weights_folder
from pi.ai.local.download import download_size
from pi.base.errors import PiError
from pi.base.files import FileAccessError, expand_home
from pi.base.processes import find_program
from pi.base.records import replace
from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments
from pi.cli.command_context import is_trusted, with_project
from pi.cli.settings_check import SettingsCheck
from pi.cli.standard_streams import print_error
from pi.cli.update_check import UpdateCheck, index_page
from pi.coding.export.redaction import Redactor
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.models.registry import ModelRegistry
from pi.coding.models.starting import NOT_AUTOMATIC
from pi.coding.port.extensions import CheckLevel, CheckResult
from pi.coding.runtime.agent_offer import switched_off
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.extensions.sources import ExtensionSources, gates_in, strategies_in
from pi.coding.runtime.local_tools import environment_rules
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.models import discover_models, own_models
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.workspace import own_settings
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.writing import session_directory
from pi.coding.settings.files import SettingsFile
from pi.coding.settings.settings import Settings
from pi.coding.shell.environment import service_environment, withheld_variables
from pi.coding.shell.locating import NoShell, find_shell
from pi.coding.tools.programs import SearchPrograms
from pi.coding.trust import BadTrustFile, Trust, needing_trust
from pi.version import __version__

# The checks never show the value of a variable or a credential.


REASONS = {"credential": "credentials", "dotenv": "from a .env file", "git": "places of git"}


_OPTIONS = SessionOptions(unreadable_settings="strictest")
"""A settings file that cannot be read is a finding, and no reason to check nothing else."""


async def run_checks(host: Machine, cwd: Path) -> list[CheckResult]:
    """Run all checks; only the update check, if allowed, uses the network."""
    findings = [_check_python(), *_agent_dir(host)]
    there = os.access(host.agent_dir, os.F_OK)
    if there and not os.access(host.agent_dir, os.R_OK | os.X_OK):
        return findings  # nothing else can be checked
    settings, trusted, of_trust = _check_settings(host, cwd)
    findings += of_trust
    if trusted:
        host = with_project(host, cwd)
    findings += await _settings_problems(host, cwd, settings, trusted=trusted)
    findings += await _check_models(host, cwd, settings)
    findings += [_check_shell(host, settings), *_check_programs(host), _check_terminal(host)]
    findings.append(_check_withheld(host, settings))
    findings.append(_check_sessions(host, cwd, settings))
    findings += await _check_extensions(host, cwd, settings, trusted=trusted)
    findings.append(await _check_update(host))
    return findings


# One function for each topic ----------------------------------------------------------------------


def _check_python() -> CheckResult:
    version = ".".join(map(str, sys.version_info[:3]))
    return CheckResult(level="good", topic="pi", text=f"{__version__}, Python {version}")


def _agent_dir(host: Machine) -> Iterator[CheckResult]:
    folder, topic = host.agent_dir, "agent folder"
    if not os.access(folder, os.F_OK):  # Path.exists raises without permission
        text = f"{folder} does not exist yet; it is created when needed"
        yield CheckResult(level="note", topic=topic, text=text)
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = "Change its permissions, or set PI_CODING_AGENT_DIR to another folder."
        yield CheckResult(
            level="broken", topic=topic, text=f"{folder} is not accessible", advice=advice
        )
        return
    yield CheckResult(level="good", topic=topic, text=str(folder))
    auth = folder / "auth.json"
    if os.name == "posix" and auth.exists() and stat.S_IMODE(auth.stat().st_mode) & 0o077:
        yield CheckResult(
            level="broken",
            topic="permissions",
            text=f"{auth} is readable by other users",
            advice=f"chmod 600 {auth}",
        )


def _check_settings(host: Machine, cwd: Path) -> tuple[Settings, bool, list[CheckResult]]:
    """Return the settings a session would use, and the check of trust."""
    topic = "trust"
    try:
        decided = is_trusted(host, cwd)
    except BadTrustFile as error:
        settings = own_settings(host, _OPTIONS)
        broken = CheckResult(level="broken", topic=topic, text=error.message, advice=error.hint)
        return settings, False, [broken]
    settings = own_settings(host, _OPTIONS)
    if decided:
        settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=host.clock))
    gates, use = gates_in(host, cwd, settings), switched_off(settings)
    gated = needing_trust(cwd, home=host.home, gates=gates, use=use)
    if not gated:
        finding = CheckResult(
            level="good", topic=topic, text=f"{cwd} has no resources that need trust"
        )
    elif decided:
        finding = CheckResult(level="good", topic=topic, text=f"{cwd} is trusted")
    else:
        names = ", ".join(str(path) for path in gated)
        finding = CheckResult(
            level="missing",
            topic=topic,
            text=f"not trusted, so not loaded by pi itself: {names}",
            advice="Read them, then use --approve for one run.",
        )
    return settings, decided, [finding]


async def _settings_problems(
    host: Machine, cwd: Path, settings: Settings, *, trusted: bool
) -> list[CheckResult]:
    # Errors in models.json are reported with the models.
    quiet = replace(host, report=lambda text: None)
    registry = discover_models(quiet, cwd, values=settings.values)
    check = SettingsCheck(
        settings,
        registry,
        agent_dir=host.agent_dir,
        cwd=cwd,
        trusted=trusted,
        strategies=strategies_in(host, cwd, settings),
    )
    results = [
        CheckResult(
            level=problem.severity, topic="settings", text=problem.text, advice=problem.advice
        )
        for problem in check.problems()
    ]
    await registry.models.close()
    fits = f"{check.count} value{'s' * (check.count != 1)}, all valid"
    return results or [CheckResult(level="good", topic="settings", text=fits)]


async def _check_models(host: Machine, cwd: Path, settings: Settings) -> list[CheckResult]:
    problems: list[str] = []
    storage = AuthStorage(host.agent_dir / "auth.json", clock=host.clock)
    findings = await _check_stored(storage)
    quiet = replace(host, report=problems.append)
    registry = discover_models(quiet, cwd, values=settings.values, storage=storage)
    findings += [
        CheckResult(level="broken", topic="models.json", text=text, advice="Correct it.")
        for problem in problems
        for text in [" ".join(problem.removeprefix("Warning: ").split())]
    ]
    if unused := own_models(quiet).unused:
        text = f"these fields have no effect: {', '.join(map(one_line, unused))}"
        findings.append(CheckResult(level="note", topic="models.json", text=text))
    unreadable = await _unreadable_clouds(registry, host.environ)
    findings.append(_check_providers(registry, without=unreadable))
    findings += [
        CheckResult(level="broken", topic="credentials", text=f"{id}: {why}")
        for id, why in unreadable.items()
    ]
    findings += [
        CheckResult(
            level="broken", topic="credentials", text=text, advice="Set it, or correct the key."
        )
        for text in registry.key_problems()
    ]
    pulled = not download_size(weights_folder(host.agent_dir))
    embedded = (
        "the embedded model is installed" if pulled else "the embedded model is not installed"
    )
    findings.append(
        CheckResult(
            level="good" if pulled else "note",
            topic="local",
            text=embedded,
            advice="" if pulled else "`pi models pull` downloads it; it needs no key.",
        )
    )
    await registry.models.close()
    return findings


async def _check_stored(storage: AuthStorage) -> list[CheckResult]:
    try:
        stored = await storage.list()
    except StoreDamaged as error:
        broken = CheckResult(
            level="broken", topic="credentials", text=error.message, advice=error.hint
        )
        return [broken]
    except PiError as error:
        return [CheckResult(level="broken", topic="credentials", text=error.explain())]
    names = ", ".join(stored) or "nothing"
    return [CheckResult(level="note", topic="stored", text=f"{names} in {storage.where}")]


async def _unreadable_clouds(registry: ModelRegistry, environ: Mapping[str, str]) -> dict[str, str]:
    """Return clouds whose credentials cannot be read, and why, e.g. for lack of a package.

    Their variables alone count as credentials, so that a start need not look for packages.
    """
    clouds = [row.id for row in registry.models.get_providers() if row.ambient]
    usable = [id for id in clouds if registry.has_auth(id)]
    if not usable:
        return {}
    from pi.cli.credentials import Credentials  # deferred: few users have a cloud

    credentials = Credentials.of(environ, report=lambda text: None)
    reasons = {}
    for id in usable:
        check, why = await credentials.check(id, refresh=False, show_source=False)
        if check.status != "ready":
            reasons[id] = why
    await credentials.models.close()
    return reasons


def _check_providers(registry: ModelRegistry, *, without: Collection[str]) -> CheckResult:
    usable = [
        row
        for row in registry.models.get_providers()
        if row.id not in NOT_AUTOMATIC
        and row.id not in without
        and row.needs_key
        and registry.has_auth(row.id)
    ]
    if not usable:
        return CheckResult(
            level="missing",
            topic="credentials",
            text="for no provider",
            advice="Set a variable such as ANTHROPIC_API_KEY, or run `pi auth login`."
            " `pi -p --model demo/tour hello` needs no key.",
        )
    counts = ((row.id, len(registry.models.get_models(row.id))) for row in usable)
    names = ", ".join(f"{name} ({count} model{'s' * (count != 1)})" for name, count in counts)
    return CheckResult(level="good", topic="credentials", text=names)


def _check_shell(host: Machine, settings: Settings) -> CheckResult:
    path = settings.values.shell_path or ""
    try:
        shell = find_shell(path, environ=host.environ, platform=sys.platform)
    except NoShell as error:
        return CheckResult(level="broken", topic="shell", text=error.message, advice=error.hint)
    return CheckResult(level="good", topic="shell", text=shell)


def _check_programs(host: Machine) -> Iterator[CheckResult]:
    programs = SearchPrograms(
        lambda: service_environment(host.environment.of_process), agent_bin=host.agent_dir / "bin"
    )
    git = find_program("git", host.environ)
    for name, program, without in (
        ("rg", programs.rg, "searching is slower without it"),
        ("fd", programs.fd, "ripgrep or the built-in search is used instead"),
        ("git", git, "branches are not shown, and git packages cannot be installed"),
    ):
        text = program or f"not found: {without}"
        yield CheckResult(level="good" if program else "note", topic=name, text=text)


def _check_terminal(host: Machine) -> CheckResult:
    names = ("TERM", "COLORTERM", "TERM_PROGRAM")
    variables = " ".join(f"{name}={host.environ[name]}" for name in names if host.environ.get(name))
    ends = [name for name in ("stdin", "stdout") if getattr(sys, name).isatty()]
    streams = f"terminal at {' and '.join(ends)}" if ends else "no terminal"
    return CheckResult(level="note", topic="terminal", text=f"{streams}; {variables}".rstrip("; "))


def _check_withheld(host: Machine, settings: Settings) -> CheckResult:
    rules = environment_rules(settings, host.environment, KnownSecrets.of(host))
    withheld = withheld_variables(host.environ, rules)
    if not withheld:
        return CheckResult(level="good", topic="variables", text="commands see all of them")
    names = ", ".join(
        f"{variable.name} ({REASONS.get(variable.reason, variable.reason)})"
        for variable in withheld
    )
    return CheckResult(
        level="note",
        topic="variables",
        text=f"commands do not see {names}",
        advice='"shell": {"env": {"allow": ["NAME"]}} in settings.json lets some through.',
    )


def _check_sessions(host: Machine, cwd: Path, settings: Settings) -> CheckResult:
    named = host.environ.get("PI_CODING_AGENT_SESSION_DIR") or settings.values.session_dir
    try:
        custom = cwd / expand_home(named) if named else None
    except FileAccessError as error:
        return CheckResult(level="broken", topic="sessions", text=error.message, advice=error.hint)
    folder = session_directory(host.agent_dir, str(cwd), custom=custom)
    count = len(SessionCatalog(host.agent_dir, custom=custom).in_directory(str(cwd)))
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        advice = "Change its permissions, or use --session-dir."
        return CheckResult(
            level="broken", topic="sessions", text=f"{folder} is not accessible", advice=advice
        )
    return CheckResult(level="good", topic="sessions", text=f"{count} of this folder, in {folder}")


async def _check_extensions(
    host: Machine, cwd: Path, settings: Settings, *, trusted: bool
) -> list[CheckResult]:
    """Load extensions in a session that is not saved, and run their checks."""
    if not _has_checks(host, cwd, settings, trusted=trusted):
        return []
    problems: list[str] = []
    trust = Trust(trusted=trusted, source="flag")
    parts = SessionOverrides(persistent=False, trust=trust)
    try:
        quiet = replace(host, report=problems.append)
        session = (await assemble(cwd, quiet, _OPTIONS, parts)).session
    except PiError as error:
        return [CheckResult(level="broken", topic="extensions", text=error.message)]
    try:
        results = await session.extensions.run_doctor_checks()
        failed = [
            CheckResult(level="broken", topic="extensions", text=f"{info.name}: {info.problem}")
            for info in session.extensions.infos()
            if info.state == "failed"
        ]
    finally:
        await session.close()
    return [*failed, *results]


def _has_checks(host: Machine, cwd: Path, settings: Settings, *, trusted: bool) -> bool:
    """Whether an extension may have checks; bundled ones declare that."""
    if settings.raw.get("packages") or (trusted and os.access(cwd / ".pi/extensions", os.F_OK)):
        return True
    return any(
        candidate.rank != "bundled" or (not candidate.problem and candidate.declared().doctor)
        for candidate in ExtensionSources(host, ExtensionOptions()).own(cwd, settings)
    )


async def _check_update(host: Machine) -> CheckResult:
    check, topic = UpdateCheck(host), "update"
    if not check.allowed:
        return CheckResult(level="note", topic=topic, text="not checked: disabled")
    if index_page(host.environ, host.home) is None:
        text = "not checked: pip is configured without an index"
        return CheckResult(level="note", topic=topic, text=text)
    await check.look()
    if newer := check.newer():
        advice = "Update it with the tool it was installed with, such as pip or uv."
        return CheckResult(
            level="missing", topic=topic, text=f"pi {newer} is available", advice=advice
        )
    return CheckResult(level="good", topic=topic, text="up to date")


SIGNS: dict[CheckLevel, str] = {"good": "✓", "note": "·", "missing": "○", "broken": "✗"}


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Print the results; returns 1 if something is broken, 0 if something is only missing."""
    host = Machine.from_environ(environ, report=print_error)
    findings = asyncio.run(run_checks(host, Path.cwd()))
    # The message of a file error quotes that file, which may contain a key.
    redactor = Redactor(KnownSecrets.of(host).values())
    sys.stdout.writelines(map(redactor.text, _format_findings(findings)))
    return 1 if any(finding.level == "broken" for finding in findings) else 0


def _format_findings(findings: list[CheckResult]) -> list[str]:
    width = max(len(finding.topic) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{SIGNS[finding.level]} {finding.topic:{width}}  {finding.text}\n")
        if finding.advice:
            lines.append(f"  {'':{width}}  → {finding.advice}\n")
    return lines
