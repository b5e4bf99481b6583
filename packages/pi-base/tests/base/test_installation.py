from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pi.base.installation import Installation, extra_command
from pi.base.libraries import (
    _required_lines,
    bundled_metadata,
    library_folder,
    missing_requirements,
    requirements_of,
    use_library_folder,
)
from pi.base.records import replace
from scripts.workspace import ROOT, link_sources

HOME = Path("/home/me")
VENV = Installation(
    kind="venv",
    python=Path("/venv/bin/python"),
    prefix=Path("/venv"),
    source=Path("/venv/lib/python3.11/site-packages/pi"),
    libraries=HOME / ".pi/agent/libraries/cpython-311-linux-x86_64",
)
REQUIREMENT = "ast-grep-py>=0.40"
PIP = f"/venv/bin/python -m pip install '{REQUIREMENT}'"
TARGET = f"--upgrade --target {VENV.libraries}"


@pytest.mark.parametrize(
    ("installation", "command"),
    [
        (VENV, PIP),
        (replace(VENV, kind="checkout"), PIP),
        (
            replace(VENV, kind="pipx", prefix=Path("/p/venvs/pi-harness"), pipx="/bin/pipx"),
            f"pipx inject pi-harness '{REQUIREMENT}'",
        ),
        (replace(VENV, kind="pipx"), PIP),
        (
            replace(VENV, has_pip=False, uv="/bin/uv"),
            f"uv pip install --python /venv/bin/python '{REQUIREMENT}'",
        ),
        (
            replace(VENV, has_pip=False),
            f"/venv/bin/python -m ensurepip && {PIP}",
        ),
        (
            replace(VENV, kind="system", keeps_libraries=False),
            f"/venv/bin/python -m pip install {TARGET} '{REQUIREMENT}'",
        ),
        (
            replace(VENV, keeps_libraries=False, has_pip=False, uv="/bin/uv"),
            f"uv pip install --python /venv/bin/python --target {VENV.libraries} '{REQUIREMENT}'",
        ),
    ],
)
def test_the_command_for_a_library_fits_the_installation(
    installation: Installation, command: str
) -> None:
    assert installation.command([REQUIREMENT]) == command


@pytest.mark.parametrize(
    ("installation", "command"),
    [
        (
            replace(VENV, kind="uv tool", prefix=Path("/t/pi-harness")),
            "uv tool upgrade --no-build pi-harness",
        ),
        (
            replace(VENV, kind="pipx", prefix=Path("/p/pi-harness")),
            "pipx upgrade --pip-args='--only-binary=:all:' pi-harness",
        ),
        (VENV, "/venv/bin/python -m pip install --only-binary :all: --upgrade pi-harness"),
        (replace(VENV, kind="checkout", source=Path("/c/src/pi")), "git -C /c/src/pi pull"),
    ],
)
def test_the_command_that_updates_pi_fits_its_installer(
    installation: Installation, command: str
) -> None:
    assert installation.update_command() == command


def test_the_hint_names_libraries_and_never_pi_itself() -> None:
    command = extra_command("share", "relay")

    assert "pi-harness" not in command
    assert command.endswith(" ".join(f"'{text}'" for text in requirements_of("share", "relay")))


def declare(folder: Path, name: str, *lines: str, entry_points: str = "") -> None:
    """Write the metadata of an installed distribution."""
    metadata = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    fields = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 0.1.0", *lines]
    (metadata / "METADATA").write_text("\n".join(fields) + "\n")
    (metadata / "entry_points.txt").write_text(entry_points)


def test_requirements_of_an_extra_are_found_in_the_parts_of_pi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = ("collab", "guard")
    lines = [f"Requires-Dist: pi-harness-{part}==0.1.0" for part in parts]
    lines += [f"Requires-Dist: pi-harness-{part}[sealed]; extra == 'sealed'" for part in parts]
    declare(tmp_path, "pi-harness", *lines)
    declare(tmp_path, "pi-harness-collab", "Requires-Dist: sealing>=2; extra == 'sealed'")
    declare(tmp_path, "pi-harness-guard", "Requires-Dist: wax; extra == 'sealed'")
    monkeypatch.syspath_prepend(tmp_path)
    _required_lines.cache_clear()

    assert missing_requirements("sealed") == ("sealing>=2", "wax")
    _required_lines.cache_clear()


def test_a_battery_that_is_installed_alone_finds_its_extras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = "[pi.extensions]\nsealing = pi.batteries.sealing:extension\n"
    needs = ("Requires-Dist: pi-ai", "Requires-Dist: wax; extra == 'sealed'")
    declare(tmp_path, "pi-harness-sealing", *needs, entry_points=point)
    declare(tmp_path, "pi-ai", "Requires-Dist: ink>=2; extra == 'sealed'")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("pi.base.libraries.DISTRIBUTION", "pi-not-installed")
    _required_lines.cache_clear()

    assert requirements_of("sealed") == ("wax", "ink>=2")
    _required_lines.cache_clear()


def test_an_installed_checkout_has_the_metadata_of_its_distributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[pi.distributions]\npi-ai = pi.ai\npi-tui = pi.tui\n"
    declare(tmp_path, "pi-harness", "Requires-Dist: msgspec", entry_points=points)
    monkeypatch.syspath_prepend(tmp_path)

    metadata = bundled_metadata()

    assert list(metadata) == ["pi-ai", "pi-tui"]
    assert "\nName: pi-tui\nVersion: 0.1.0\nRequires-Dist: msgspec\n" in metadata["pi-tui"]


def test_libraries_of_the_agent_directory_are_importable_after_all_others(tmp_path: Path) -> None:
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    folder = library_folder(environ)
    before = list(sys.path)

    use_library_folder(environ)
    assert sys.path == before  # nothing is there yet

    folder.mkdir(parents=True)
    try:
        use_library_folder(environ)
        use_library_folder(environ)
        assert sys.path == [*before, str(folder)]
    finally:
        sys.path[:] = before


@pytest.mark.parametrize(
    ("file", "kind"),
    [("", "venv"), ("uv-receipt.toml", "uv tool"), ("pipx_metadata.json", "pipx")],
)
def test_an_environment_is_known_by_the_files_of_its_installer(
    tmp_path: Path, file: str, kind: str
) -> None:
    # A real environment whose site-packages has pi: only there sys.prefix is the environment.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    packages = next(tmp_path.glob("lib/python3*/site-packages"))
    link_sources(ROOT, packages)
    dependencies = Path(sys.prefix, *packages.relative_to(tmp_path).parts)
    (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    if file:
        (tmp_path / file).write_text("")
    code = "from pi.base.installation import *; i = Installation.current({'PATH': ''});"
    code += "print(i.kind, i.keeps_libraries, i.prefix)"
    ran = subprocess.run(
        [tmp_path / "bin" / "python", "-c", code], capture_output=True, text=True, check=True
    )

    # `uv tool upgrade` would remove libraries that it has not installed.
    keeps_libraries = str(kind != "uv tool")
    assert ran.stdout.split() == [*kind.split(), keeps_libraries, str(tmp_path)]
