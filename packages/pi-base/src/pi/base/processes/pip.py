"""Runs pip so that it cannot run the code of a package: wheels only, and no child processes.

Everything that pi downloads from a package index goes through ``pip_command`` and
``pip_environment``: packages, their dependencies, the embedded model.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pi.base.files import expand_home
from pi.base.processes import pip_guard
from pi.base.processes.environment import allow_listed
from pi.base.records import Record

_PASSED_ON = (
    r"(?i)PIP_((EXTRA_)?INDEX_URL|NO_INDEX|FIND_LINKS|CONSTRAINT|CONFIG_FILE|KEYRING_PROVIDER"
    r"|(CLIENT_)?CERT|PROXY|TRUSTED_HOST|(DEFAULT_)?TIMEOUT|RETRIES|RESUME_RETRIES"
    r"|(NO_)?CACHE_DIR|USE_FEATURE|USE_DEPRECATED|PRE|UPLOADED_PRIOR_TO"
    r"|USER|BREAK_SYSTEM_PACKAGES)"
)
"""The pip variables that configure where wheels come from and where they may go.

Others (``PIP_REQUIREMENT``, ``PIP_EDITABLE``, ``PIP_PYTHON``, …) change what is installed, or which
program installs it.
"""

_UNATTENDED = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

_STEP = re.compile(
    r"^(?:Processing|Collecting|Obtaining) (?P<what>.+?)(?: \(from (?P<by>.+)\))?$", re.MULTILINE
)


class Refusal(Record):
    """A requirement that pip would have had to build or clone."""

    requirement: str
    required_by: str = ""
    """The distribution that requires it; empty if the command line does."""


class ReportedWheel(Record):
    """A distribution that pip would install."""

    name: str
    version: str
    url: str
    sha256: str = ""
    """The digest stated by the index; empty if it states none."""
    from_index: bool = True
    """Whether it is a wheel found by name, not a URL or a path."""
    requires: tuple[str, ...] = ()


def pip_command(arguments: Sequence[str]) -> list[str]:
    """Return the command line for ``pip arguments…``, with wheels only and no programs."""
    # -P: modules in the current folder are not imported.
    guard = [sys.executable, "-P", str(Path(pip_guard.__file__))]
    return [*guard, arguments[0], "--only-binary", ":all:", *arguments[1:]]


def has_pip() -> bool:
    """Whether ``pip_command`` works: this Python has pip, or its standard library brings one."""
    return importlib.util.find_spec("pip") is not None or _bundled_pip() is not None


def reports_progress() -> bool:
    """Whether pip writes its progress as numbers: since 24.1, and Python 3.11 brings 23."""
    if importlib.util.find_spec("pip") is not None:
        from importlib.metadata import version  # lazy: few runs install anything

        text = version("pip")
    else:
        wheel = _bundled_pip()
        text = wheel.name.split("-")[1] if wheel is not None else "0"
    numbers = tuple(int(part) for part in re.findall(r"\d+", text)[:2])
    return numbers >= (24, 1)


def _bundled_pip() -> Path | None:
    """Return the wheel of pip in the standard library, which runs without being installed.

    Environments of `uv tool` have no pip of their own.
    """
    spec = importlib.util.find_spec("ensurepip")
    folders = [] if spec is None or spec.origin is None else [Path(spec.origin).parent / "_bundled"]
    # Debian and Fedora keep the wheels of ensurepip in a folder of the system.
    if folder := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        folders.append(Path(folder))
    wheels = (wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl")))
    return next(wheels, None)


def pip_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip; indexes, credentials, proxies and certificates are kept."""
    passed_on = {
        name: _from_any_folder(name, value)
        for name, value in environ.items()
        if re.fullmatch(_PASSED_ON, name)
    }
    path = {}
    if importlib.util.find_spec("pip") is None and (wheel := _bundled_pip()) is not None:
        path = {"PYTHONPATH": str(wheel)}
    return allow_listed(environ) | passed_on | _UNATTENDED | path


def refusal_in(output: str, errors: str) -> Refusal | None:
    """Return the requirement that pip was kept from building; ``None`` if that was not it."""
    if pip_guard.REFUSED not in errors:
        return None
    steps = list(_STEP.finditer(output))
    if not steps:
        return Refusal(requirement="a requirement")
    return Refusal(
        requirement=steps[-1]["what"], required_by=(steps[-1]["by"] or "").partition("->")[0]
    )


def read_report(report: bytes) -> list[ReportedWheel]:
    """Return the distributions of pip's report; raises ``msgspec.MsgspecError`` if it is
    invalid."""
    return [
        ReportedWheel(
            name=item.metadata.name,
            version=item.metadata.version,
            url=item.download_info.url,
            sha256=item.download_info.archive_info.hashes.get("sha256", ""),
            from_index=not item.is_direct and _is_wheel(item.download_info.url),
            requires=item.metadata.requires_dist,
        )
        for item in msgspec.json.decode(report, type=_Report).install
    ]


def _is_wheel(url: str) -> bool:
    return url.partition("#")[0].partition("?")[0].endswith(".whl")


def _from_any_folder(name: str, value: str) -> str:
    """Return a pip variable for use in another folder: relative wheelhouses become absolute."""
    if name.upper() != "PIP_FIND_LINKS":
        return value
    return " ".join(
        location if "://" in location else str(expand_home(location, strict=False).absolute())
        for location in value.split()
    )


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _DownloadInfo(msgspec.Struct):
    url: str
    archive_info: _Archive = msgspec.field(default_factory=_Archive)


class _Metadata(msgspec.Struct):
    name: str = ""
    version: str = ""
    requires_dist: tuple[str, ...] = ()


class _Item(msgspec.Struct):
    download_info: _DownloadInfo
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    is_direct: bool = False


class _Report(msgspec.Struct):
    install: list[_Item]
