"""Converts the command line to session options, prompts and the session to open."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pi.agent.tools.names import are_changes
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.cli.arguments import OPENS_STORED, Arguments, ExtensionOption
from pi.cli.options import LEVELS
from pi.coding.extension_host.contributions.flags import FollowingWord
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.resources.discovery import ResourceOptions
from pi.coding.runtime.options import SessionOptions, ToolFilter
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import (
    Breadcrumb,
    SessionLocation,
    find_breadcrumb,
    leave_breadcrumb,
    new_session,
    terminal_key,
)
from pi.modes.headless import PromptInput
from pi.modes.stdio import in_daemon_thread
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.port.extensions import ExtensionInfo
    from pi.coding.runtime.assemble import AssembledSession
    from pi.coding.session.lookup import SavedSessions


def session_options(arguments: Arguments) -> SessionOptions:
    """Return the options of a session; invalid ones are left out, see ``warnings``."""
    options = arguments.options
    level = options.get("thinking")
    return SessionOptions(
        model=options.get("model"),
        provider=options.get("provider"),
        api_key=options.get("api_key"),
        thinking=cast("ThinkingLevel | None", level if level in LEVELS else None),
        models=options.get("models"),
        tools=ToolFilter(
            only=None if are_changes(names := options.get("tools", ())) else options.get("tools"),
            changes=names if are_changes(names) else (),
            without=options.get("exclude_tools", ()),
            built_in="no_builtin_tools" not in options,
            any="no_tools" not in options,
        ),
        resources=ResourceOptions(
            context_files="no_context_files" not in options,
            skills="no_skills" not in options,
            skill_paths=options.get("skill", ()),
            prompts="no_prompt_templates" not in options,
            prompt_paths=options.get("prompt_template", ()),
            system_prompt=options.get("system_prompt"),
            append_system_prompt=options.get("append_system_prompt", ()),
        ),
        extensions=ExtensionOptions(
            discover="no_extensions" not in options,
            keeps_guards=True,
            paths=options.get("extension", ()),
            flags={option.name: _flag_value(option) for option in arguments.extension_options},
        ),
        approve=approval(arguments),
        config_files=options.get("config", ()),
        name=options.get("name"),
        offline="offline" in options,
        settings={"batteries": options["batteries"]} if "batteries" in options else {},
    )


def warnings(arguments: Arguments) -> Iterator[str]:
    """Yield warnings about options that are ignored."""
    level = arguments.options.get("thinking")
    if level is not None and level not in LEVELS:
        yield f'Warning: Invalid thinking level "{level}". Valid values: {", ".join(LEVELS)}'


def approval(arguments: Arguments) -> bool | None:
    """Return whether the project is trusted for this run; ``None`` without an option.

    ``--no-approve`` wins over ``--approve``.
    """
    if "no_approve" in arguments.options:
        return False
    return True if "approve" in arguments.options else None


def _flag_value(option: ExtensionOption) -> bool | str:
    if option.value is None:
        return True
    return option.value if option.is_attached else FollowingWord(option.value)


# First prompt -------------------------------------------------------------------------------------


LARGEST = 64 * 1024 * 1024
"""Maximum size of an attached file in bytes."""


class FileMissing(PiError):
    """A file on the command line cannot be read: missing, unreadable or too large."""


class Attached(PromptInput):
    """The text, images and notes that one file adds to the prompt."""

    notes: tuple[str, ...] = ()


class AttachedFiles:
    """Reads the files of the command line, each once: ``@<(command)`` is a pipe."""

    def __init__(self, cwd: Path, home: Path) -> None:
        self._cwd = cwd
        self._home = home
        self._read: dict[str, Attached] = {}

    async def read(self, names: Sequence[str]) -> list[Attached]:
        """Return the text and images of the files for the prompt. Raises ``FileMissing``.

        A named pipe without a writer blocks this until pi ends.
        """
        for name in names:
            if name not in self._read:
                path = self._cwd / _expand_path(name, self._home)
                # A pipe can wait for ever, and a large picture takes long to decode.
                self._read[name] = await in_daemon_thread(partial(_read_attachment, path))
        return [self._read[name] for name in names]


def build_prompts(
    messages: Sequence[str], attached: Sequence[Attached], piped: str
) -> list[PromptInput]:
    """Return all prompts in order; the first includes piped input and attached files."""
    first, *later = messages or ("",)
    parts = (piped.strip(), "".join(prompt.text for prompt in attached) + first)
    notes = "".join(note for prompt in attached for note in prompt.notes)
    text = "\n\n".join(part for part in parts if part) + notes
    images = tuple(image for prompt in attached for image in prompt.images)
    if not text and not images:
        return [PromptInput(text=message) for message in later]
    return [
        PromptInput(text=text, images=images),
        *(PromptInput(text=message) for message in later),
    ]


def _read_attachment(path: Path) -> Attached:
    # Deferred: few command lines attach files.
    from pi.coding.mentions import file_block
    from pi.coding.tools.images import ImageLimits, image_type, prepare_image

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileMissing(f"File not found: {path}") from None
    except OSError as error:
        raise FileMissing(f"Cannot read {path}: {error.strerror}") from error
    if len(data) > LARGEST:
        raise FileMissing(f"Cannot read {path}: larger than {LARGEST >> 20} MiB.")
    kind = image_type(data)
    if kind is None:
        text = data.decode("utf-8", "replace")
        return Attached(text=file_block(path, text))
    prepared = prepare_image(data, kind, ImageLimits())
    images = () if prepared.image is None else (prepared.image,)
    notes = tuple(f"\n\n{note}" for note in prepared.notes)
    return Attached(text=file_block(path, None), images=images, notes=notes)


def _expand_path(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)


# Requested session --------------------------------------------------------------------------------


class OpenCancelled(PiError):
    """The user cancelled opening the session."""


class SessionResolver:
    """Opens the requested session in the location given by the settings.

    With ``can_pick``, a ``--resume`` that matches no session sets ``must_pick``: the user picks one
    on the screen. Otherwise it raises ``NoMatchingSession``.
    """

    def __init__(
        self,
        arguments: Arguments,
        environ: Mapping[str, str],
        *,
        agent_dir: Path,
        confirm: Callable[[str], bool],
        can_pick: bool = False,
    ) -> None:
        self.must_pick = False
        self._arguments = arguments
        self._environ = environ
        self._agent_dir = agent_dir
        self._confirm = confirm
        self._can_pick = can_pick

    @property
    def reads_stored(self) -> bool:
        """Whether a stored session is requested."""
        return any(name in self._arguments.options for name in OPENS_STORED)

    def open(self, location: SessionLocation) -> SessionLog:
        """Open the session; a new one, unless another is requested."""
        return self._open_stored(location) if self.reads_stored else new_session(location)

    def remember(self, log_file: Path | None, cwd: Path, clock: Clock) -> None:
        """Record the session for ``--continue`` in this terminal."""
        key = self._terminal()
        if key is not None and log_file is not None:
            crumb = Breadcrumb(cwd=str(cwd), session=str(log_file))
            leave_breadcrumb(self._agent_dir, key, crumb, clock)

    def _open_stored(self, location: SessionLocation) -> SessionLog:
        # Deferred: few command lines search for a session.
        from pi.coding.session.lookup import SavedSessions, check_persistent

        arguments = self._arguments
        for name in ("session", "session_id", "continue", "resume"):
            if name in arguments.options:
                check_persistent(location.directory, f"--{name.replace('_', '-')}")
        sessions = SavedSessions(self._agent_dir, location)
        if (query := arguments.text("resume")) is not None:
            if resumed := self._find_resumed(sessions, query):
                return resumed
            self.must_pick = True
        if (query := arguments.text("fork")) is not None:
            return sessions.forked(query, id=arguments.text("session_id"))
        if (query := arguments.text("session")) is not None:
            return self._find_named(sessions, query)
        if (id := arguments.text("session_id")) is not None:
            return sessions.by_id(id, location.report)
        if "continue" not in arguments.options:
            return new_session(location)  # shown until another one is picked
        return sessions.last(self._breadcrumb())

    def _find_resumed(self, sessions: SavedSessions, query: str) -> SessionLog | None:
        """Return the session that ``--resume`` names; ``None`` if the user is to pick one."""
        if not query:
            return None
        try:
            return self._find_named(sessions, query, must_exist=True)
        except NoMatchingSession:
            if self._can_pick:
                return None
            raise NoMatchingSession(
                query,
                hint="Picking one needs a terminal. Use --continue for the latest one,"
                " or --session <id>; `pi sessions` lists them.",
            ) from None

    def _find_named(
        self, sessions: SavedSessions, query: str, *, must_exist: bool = False
    ) -> SessionLog:
        session_log = sessions.named(query, self._confirm, must_exist=must_exist)
        if session_log is None:
            raise OpenCancelled("")
        return session_log

    def _breadcrumb(self) -> Breadcrumb | None:
        key = self._terminal()
        return None if key is None else find_breadcrumb(self._agent_dir, key)

    def _terminal(self) -> str | None:
        tty = None
        if sys.stdin is not None and sys.stdin.isatty() and hasattr(os, "ttyname"):
            with suppress(OSError):  # in a container a terminal may have no name
                tty = os.ttyname(sys.stdin.fileno())
        return terminal_key(self._environ, tty=tty, shell_pid=os.getppid())


# Report -------------------------------------------------------------------------------------------


def verbose_report(built: AssembledSession) -> Iterator[str]:
    """Yield the lines of ``--verbose``: where everything was loaded from."""
    state, workspace = built.session.info.state(), built.session.workspace
    yield f"pi {__version__}"
    yield f"folder: {workspace.cwd} ({_trust(built)})"
    model = f"{state.model.provider}/{state.model.id}" if state.model else "none"
    yield f"model: {model}, thinking {state.thinking_level}"
    yield f"session: {state.session_file or 'in memory only'}"
    for title, names in (
        ("instructions", [file.path for file in workspace.resources.context.files]),
        ("skills", [skill.skill.name for skill in workspace.resources.skills]),
        ("prompt templates", [prompt.name for prompt in workspace.resources.prompts]),
        ("extensions", [_extension(info) for info in built.session.extensions.infos()]),
        ("variables from .env files", sorted(workspace.environment.from_files)),
    ):
        if names:
            yield f"{title}: {', '.join(names)}"


def _extension(info: ExtensionInfo) -> str:
    """Return the name of an extension, and its load time or why it was not loaded."""
    loaded = f"{info.milliseconds:.1f} ms" if info.state == "loaded" else "loaded on first use"
    return f"{info.name} ({info.problem or loaded})"


def _trust(built: AssembledSession) -> str:
    trust = built.session.workspace.trust
    if trust.source == "nothing to trust":
        return trust.source
    return f"{'trusted' if trust.trusted else 'not trusted'}: {trust.source}"
