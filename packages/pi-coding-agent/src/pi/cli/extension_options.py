"""Options and subcommands of extensions.

Most options are declared in manifests, which are read without running code. Others are known only
after the extensions are loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from pi.base.clock import SystemClock
from pi.base.errors import PiError
from pi.base.files import agent_directory
from pi.base.records import Record, replace
from pi.cli.arguments import Arguments, ExtensionOption, UsageError, parse_arguments
from pi.cli.options import Flag
from pi.cli.subcommand_rows import HELP, CommandUsage, SubcommandRow
from pi.coding.extension_host.contributions.flags import ExtensionFlag, checked_flags, declared_flag
from pi.coding.extension_host.discovery import finding
from pi.coding.extension_host.discovery.entry_points import installed
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.discovery.manifest import ALWAYS, Subcommand
from pi.coding.resources.sources import Place
from pi.coding.resources.tolerant_files import path_exists
from pi.coding.settings.files import SettingsFile

LOADING_NOTHING = frozenset({"list_models", "export"})
"""Options that load no extension."""


class ManifestOptions(Record):
    """Flags and subcommands declared in manifests."""

    flags: tuple[Flag, ...] = ()
    subcommands: dict[str, Subcommand] = field(default_factory=dict)
    bundled: frozenset[str] = frozenset()
    """The subcommands of bundled extensions."""
    is_complete: bool = True
    """Whether all flags of the extensions found here are declared."""
    commands: dict[str, str] = field(default_factory=dict)
    """Slash commands with their descriptions."""


def resolve_options(arguments: Arguments, flags: Iterable[tuple[str, ExtensionFlag]]) -> Arguments:
    """Return the arguments, parsed with ``flags``: pairs of an extension's name and its flag.

    Raises ``UsageError`` for an unknown option or a missing value.
    """
    if not arguments.unresolved_words:
        return arguments
    return _parsed_again(arguments, [extension_flag(owner, flag) for owner, flag in flags])


def resolve_options_from_manifests(
    arguments: Arguments, environ: Mapping[str, str], cwd: Path
) -> Arguments:
    """Like ``resolve_options``, but with the flags in manifests: no extension is loaded.

    Returns ``arguments`` unchanged if an option may belong to an extension that must be loaded.
    """
    if not arguments.unresolved_words:
        return arguments
    declared = read_manifest_options(arguments, environ, cwd)
    declared_names = {flag.name.removeprefix("--") for flag in declared.flags}
    is_complete = declared.is_complete or arguments.options.keys() & LOADING_NOTHING
    if is_complete or declared_names.issuperset(o.name for o in arguments.extension_options):
        return _parsed_again(arguments, declared.flags)
    return arguments


def parse_extension_subcommand(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path
) -> Arguments | None:
    """Parse ``argv`` if the first is a subcommand of an extension; otherwise ``None``."""
    try:
        arguments = _parse_subcommand_words(argv)
    except UsageError:  # an option of pi that the subcommand may define in another way
        arguments = None
    declared = read_manifest_options(arguments or Arguments(), environ, cwd)
    subcommand = declared.subcommands.get(argv[0])
    if subcommand is None:
        return None
    if subcommand.raw and not _asks_for_help(argv):
        arguments = Arguments(messages=tuple(argv[1:]))
    elif subcommand.flags or arguments is None or not subcommand.session:
        arguments = _parsed_with_own(argv, subcommand, declared.flags)
    options = {"print": True} if subcommand.mode == "print" else {}
    if not subcommand.session:
        options |= dict.fromkeys(WITHOUT_SESSION, True)
    elif subcommand.session == "continue" and arguments.options.keys().isdisjoint(CHOOSING_SESSION):
        options["continue"] = True
    return replace(
        arguments,
        command=argv[0],
        is_bundled=argv[0] in declared.bundled,
        options=arguments.options | options,
    )


def _asks_for_help(argv: Sequence[str]) -> bool:
    """Whether ``--help`` is among the words before ``--``."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    return "--help" in words or "-h" in words


CHOOSING_SESSION = ("continue", "resume", "session", "session_id", "fork", "no_session")
"""Options that choose the session; they override ``"session": "continue"`` of a manifest."""

WITHOUT_SESSION = ("print", "no_session", "no_approve", "without_session")
"""Options of a subcommand that needs no conversation."""


def _parse_subcommand_words(
    argv: Sequence[str],
    flags: Sequence[Flag] | None = None,
    *,
    own: Sequence[Flag] = (),
    attach: bool = True,
) -> Arguments:
    """Parse the words after the first. Those after ``--`` stay as they are, also with ``@``:

    ``pi mcp add fs -- npx -y @scope/server .``
    """
    following = [*argv[1:]]
    end = following.index("--") if "--" in following else len(following)
    arguments = parse_arguments(following[:end], flags, own=own, attach=attach)
    return replace(
        arguments,
        messages=(*arguments.messages, *following[end + 1 :]),
        unresolved_words=tuple(following) if arguments.unresolved_words else (),
    )


def _parsed_with_own(
    argv: Sequence[str], subcommand: Subcommand, others: Sequence[Flag]
) -> Arguments:
    """Parse the words of a subcommand with its own options, and add their defaults.

    Without a session there is no prompt to which a word with ``@`` could attach a file.
    """
    own = checked_flags(subcommand.flags).values()
    rows = [extension_flag(argv[0], flag) for flag in own]
    arguments = _parse_subcommand_words(
        argv, [*others, *rows], own=rows, attach=bool(subcommand.session)
    )
    options = {option.name: option for option in arguments.extension_options}
    for flag in own:
        if flag.name not in options and flag.default not in (None, False):
            value = None if flag.default is True else str(flag.default)
            options[flag.name] = ExtensionOption(name=flag.name, value=value)
    return replace(arguments, extension_options=tuple(options.values()))


def subcommand_row(name: str, subcommand: Subcommand) -> SubcommandRow:
    """Convert a subcommand of an extension to a row, for help and completion."""
    usage = CommandUsage(usage=f"{name} {subcommand.usage}".rstrip(), help=subcommand.help)
    flags = (
        extension_flag(name, declared_flag(*declaration))
        for declaration in subcommand.flags.items()
    )
    return SubcommandRow(name=name, forms=(usage,), flags=(*flags, HELP))


def read_manifest_options(
    arguments: Arguments, environ: Mapping[str, str], cwd: Path
) -> ManifestOptions:
    """Read the manifests of all extensions except those of a project: trust is not decided yet."""
    agent_dir = agent_directory(environ)
    settings = _read_settings(agent_dir)
    explicit = arguments.texts("extension") or ()
    flags: list[Flag] = []
    is_complete = not (
        path_exists(cwd / ".pi")
        or settings.get("extensions")
        or any(not path_exists(cwd / path) for path in explicit)
    )
    subcommands: dict[str, Subcommand] = {}
    commands: dict[str, str] = {}
    bundled: set[str] = set()
    for candidate in _find_candidates(arguments, agent_dir, settings, cwd):
        try:
            manifest = candidate.declared()
        except PiError:  # reported when the extension is loaded
            continue
        name = manifest.name or candidate.name
        flags += (
            extension_flag(name, declared_flag(*declaration))
            for declaration in manifest.flags.items()
        )
        subcommands |= manifest.subcommands
        commands |= manifest.declared_commands()
        bundled -= manifest.subcommands.keys()
        bundled |= manifest.subcommands.keys() if candidate.rank == "bundled" else set()
        is_complete &= not any(trigger in ALWAYS for trigger in manifest.activate)
    return ManifestOptions(
        flags=tuple(flags),
        subcommands=subcommands,
        commands=commands,
        bundled=frozenset(bundled),
        is_complete=is_complete,
    )


def extension_flag(owner: str, flag: ExtensionFlag) -> Flag:
    """Convert the flag of an extension to a row of the command line."""
    return Flag(
        name=f"--{flag.name}",
        group=f"Extension {owner}",
        help=flag.description,
        kind="switch" if flag.kind == "boolean" else "value",
        value="" if flag.kind == "boolean" else "value",
    )


def _parsed_again(arguments: Arguments, flags: Sequence[Flag]) -> Arguments:
    argv = arguments.unresolved_words
    if arguments.command:
        again = _parse_subcommand_words((arguments.command, *argv), flags)
    else:
        again = parse_arguments(argv, flags)
    return replace(
        again,
        command=arguments.command,
        is_bundled=arguments.is_bundled,
        options=arguments.options | again.options,
    )


def _find_candidates(
    arguments: Arguments, agent_dir: Path, settings: dict[str, object], cwd: Path
) -> Iterator[Candidate]:
    if "no_extensions" not in arguments.options:
        yield from installed(agent_dir)
        yield from finding.find_candidates(
            [Place(path=agent_dir / "extensions")], "user", _ignore
        ).candidates
        if listed := settings.get("packages"):
            yield from _of_packages(listed, agent_dir)
    else:
        yield from (
            candidate for candidate in installed(agent_dir) if candidate.name in finding.GUARDS
        )
    yield from finding.explicit(arguments.texts("extension") or (), cwd, _ignore).candidates


def _of_packages(listed: object, agent_dir: Path) -> Iterator[Candidate]:
    # Deferred: most users have no packages, and --help should be quick.
    from pi.coding.packages.discovery import Layer, find_packages
    from pi.coding.packages.entries import read_entries
    from pi.coding.packages.source import PackageLocation

    location = PackageLocation(scope="user", base=agent_dir)
    packages = find_packages([Layer(location=location, entries=tuple(read_entries(listed)))])
    yield from finding.find_candidates(packages.places("extensions"), "package", _ignore).candidates


def _read_settings(agent_dir: Path) -> dict[str, object]:
    """Read the user's settings. Errors in them are reported when a session loads them."""
    file = SettingsFile(agent_dir / "settings.json", clock=SystemClock())
    return file.read_or_skip()


def _ignore(text: str) -> None:
    """Ignore errors: they are reported when the extension or the settings are loaded."""
