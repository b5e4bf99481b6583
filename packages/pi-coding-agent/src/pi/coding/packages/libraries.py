"""Installs optional libraries of pi: names and sizes first, then the user's Yes, then progress.

The requirements are those of the distribution's metadata. pip installs wheels only and runs no code
of them.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest
from pi.ai.http.tls import TlsSettings
from pi.base.errors import PiError
from pi.base.installation import Installation
from pi.base.libraries import is_installed, use_library_folder
from pi.base.locks import FileLock
from pi.base.processes.pip import ReportedWheel, has_pip, read_report
from pi.base.processes.pip_run import PipFailed, run_pip
from pi.base.records import UNREADABLE, Record
from pi.base.terminal_text import one_line
from pi.coding.packages.programs import requirement_name

Report: TypeAlias = Callable[[str], None]
"""Shows the progress in one line, replacing the line before."""

REDIRECTS = 5


class LibrariesNotInstalled(PiError):
    """Libraries could not be installed; the hint is the command that installs them."""


class Library(Record):
    """A distribution that an installation adds."""

    name: str
    version: str
    size: int | None = None
    """Bytes of the download; ``None`` if the index does not state it."""

    @property
    def text(self) -> str:
        """Name, version and size."""
        size = "" if self.size is None else f" ({megabytes(self.size)})"
        return f"{one_line(self.name)} {one_line(self.version)}{size}"


def megabytes(size: int) -> str:
    """Return a size in megabytes, with one decimal if it is small, or in kilobytes."""
    value = size / 1_000_000
    if value < 0.1:
        return f"{size / 1000:.0f} kB"
    return f"{value:.1f} MB" if value < 10 else f"{value:.0f} MB"


class LibraryPlan(Record):
    """What an installation adds and where, for the question; ``install_planned`` does it."""

    purpose: str
    requirements: tuple[str, ...]
    installation: Installation
    libraries: tuple[Library, ...]

    @property
    def title(self) -> str:
        """The question, with the size of all downloads."""
        total = f" ({megabytes(self.size)})" if self.size else ""
        count = len(self.libraries)
        noun = "library" if count == 1 else f"{count} libraries"
        return f"Install the {noun} that {self.purpose} needs{total}?"

    @property
    def text(self) -> str:
        """The libraries with versions and sizes, and the folder."""
        installation = self.installation
        folder = installation.prefix if installation.keeps_libraries else installation.libraries
        return "\n".join(
            [*(f"• {library.text}" for library in self.libraries), f"With pip, into {folder}"]
        )

    @property
    def size(self) -> int:
        """Bytes of all downloads; 0 if one is not known."""
        sizes = [library.size for library in self.libraries]
        return sum(size or 0 for size in sizes) if None not in sizes else 0


async def plan_libraries(
    requirements: Sequence[str],
    environ: Mapping[str, str],
    *,
    purpose: str,
    offline: bool = False,
    installation: Installation | None = None,
) -> LibraryPlan:
    """Return what would be installed; nothing is changed.

    ``requirements`` are those of ``ExtensionInfo.needs`` or ``missing_requirements``. ``purpose``
    names what needs them, e.g. ``ast-tools``. The installation is the running one.

    Raises ``LibrariesNotInstalled`` if pi cannot install them: the hint is the command for this
    installation.
    """
    installation = installation or Installation.current(environ)
    names = ", ".join(requirement_name(text) for text in requirements)
    if (reason := _obstacle(installation, offline=offline)) is not None:
        hint = f"Install it: {installation.command(requirements)}"
        if not _can_install(installation):  # the command would fail, too
            hint = f"Make {installation.libraries} writable, and try again."
        raise LibrariesNotInstalled(f"{purpose} needs {names}, and {reason}.", hint=hint)
    try:
        libraries = await _find_libraries(installation, requirements, environ)
    except (PiError, OSError) as error:
        raise _failure(installation, requirements, error) from error
    return LibraryPlan(
        purpose=purpose,
        requirements=tuple(requirements),
        installation=installation,
        libraries=libraries,
    )


async def install_planned(plan: LibraryPlan, environ: Mapping[str, str], report: Report) -> None:
    """Install the libraries, and make them importable in this process.

    Raises ``LibrariesNotInstalled``. Reload the session afterwards, so that batteries are found.
    """
    installation = plan.installation
    arguments = [*installation.pip_words, *plan.requirements]
    progress = _Progress(plan, report)
    try:
        if installation.keeps_libraries:
            await run_pip(arguments, environ, progress.count, progress.read)
        else:
            installation.libraries.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Two sessions must not replace files of the same folder at the same time.
            async with FileLock(installation.libraries.with_name(".lock")):
                await run_pip(arguments, environ, progress.count, progress.read)
    except (PiError, OSError) as error:
        raise _failure(installation, plan.requirements, error) from error
    use_library_folder(environ)
    importlib.invalidate_caches()
    if not all(is_installed(requirement_name(text)) for text in plan.requirements):
        absent = PiError("pip has finished, and it cannot be found.")
        raise _failure(installation, plan.requirements, absent)


def _failure(
    installation: Installation, requirements: Sequence[str], error: Exception
) -> LibrariesNotInstalled:
    message = error.message if isinstance(error, PiError) else str(error)
    names = ", ".join(requirement_name(text) for text in requirements)
    return LibrariesNotInstalled(
        f"{names}: not installed. {message}",
        hint=f"Install it: {installation.command(requirements)}",
    )


def _obstacle(installation: Installation, *, offline: bool) -> str | None:
    """Return why pi cannot install libraries itself; ``None`` if it can."""
    if offline:
        return "pi is offline"
    if not has_pip():
        return "this Python has no pip"
    if not _can_install(installation):
        return f"neither {installation.prefix} nor {installation.libraries} can be written"
    return None


def _can_install(installation: Installation) -> bool:
    return installation.keeps_libraries or _can_write(installation.libraries)


def _can_write(folder: Path) -> bool:
    """Whether a folder, or the nearest one above it that exists, can be written."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)


async def _find_libraries(
    installation: Installation, requirements: Sequence[str], environ: Mapping[str, str]
) -> tuple[Library, ...]:
    """Return what pip would install, with the sizes that the index states."""
    with tempfile.TemporaryDirectory(prefix="pi-libraries-") as folder:
        path = Path(folder, "report.json")
        arguments = [*installation.pip_words, "--dry-run", "--quiet", "--report", str(path)]
        await run_pip([*arguments, *requirements], {**environ, "TMPDIR": folder}, lambda *_: None)
        try:
            wheels = read_report(path.read_bytes())
        except UNREADABLE as error:
            raise PipFailed("pip's report of the installation cannot be read.") from error
    tls = TlsSettings(extra_ca=environ.get("PIP_CERT", ""))
    async with HttpClient(environ=environ, proxy=environ.get("PIP_PROXY"), tls=tls) as http:
        return tuple(
            [
                Library(name=wheel.name, version=wheel.version, size=await _size(wheel, http))
                for wheel in wheels
            ]
        )


async def _size(wheel: ReportedWheel, http: HttpClient) -> int | None:
    if wheel.url.startswith("file:"):
        from urllib.request import url2pathname  # lazy: for indexes on this machine only

        path = Path(url2pathname(wheel.url.removeprefix("file://").partition("#")[0]))
        return path.stat().st_size if path.is_file() else None
    try:
        request = HttpRequest(url=wheel.url, method="HEAD", redirects=REDIRECTS)
        async with http.stream(request) as response:
            length = response.headers.get("content-length")
            return int(length) if response.status == 200 and length.isdecimal() else None
    except HttpError:  # the index needs credentials that only pip has: the size is a courtesy
        return None


class _Progress:
    """Adds the downloads of pip, which fetches one file after another."""

    def __init__(self, plan: LibraryPlan, report: Report) -> None:
        names = ", ".join(one_line(library.name) for library in plan.libraries)
        self._label = f"Installing {names}"
        self._total = plan.size
        self._finished = 0
        self._report = report
        report(f"{self._label}…")

    def count(self, done: int, total: int) -> None:
        """Show the progress of the current file."""
        size = self._finished + done
        if done == total:
            self._finished += total
        # Metadata of an index without a file of its own is a download as well.
        of_total = f" of {megabytes(self._total)}" if self._total >= size else ""
        self._report(f"{self._label}: {megabytes(size)}{of_total}")

    def read(self, line: bytes) -> None:
        """Show the file that an older pip downloads; it writes no numbers."""
        text = line.decode(errors="replace").strip()
        if text.startswith("Downloading "):
            self._report(f"{self._label}: {one_line(text.removeprefix('Downloading '))}")
