from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import pi.version
from tests.files import put

MODULE = '"""pi."""\n\n__version__ = "0.1.0"\n'


def release(root: Path, checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a separate checkout."""
    for name in ("scripts/release", "scripts/news"):
        put(checkout / name, (root / name).read_text(encoding="utf-8"))
    return subprocess.run(
        [sys.executable, checkout / "scripts/release", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Write a small package with the build configuration of pi."""
    checkout = tmp_path / "checkout"
    put(checkout / "packages/pi-base/src/pi/version/__init__.py", MODULE)
    put(checkout / "docs/README.md", "# Docs\n")
    put(checkout / "changes/tabs.added.md", "Tabs.\n")
    put(checkout / "CHANGELOG.md", "# Changelog\n\n## [0.1.0] - 2026-11-17\n\n### Added\n\n- pi.\n")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, checkout / name)
    return checkout


@pytest.mark.full
def test_release_writes_version_changelog_tag_message_and_wheel(root: Path, checkout: Path) -> None:
    finished = release(root, checkout, "0.2.0", "2026-12-01")

    assert finished.returncode == 0, finished.stderr
    assert (
        '__version__ = "0.2.0"'
        in (checkout / "packages/pi-base/src/pi/version/__init__.py").read_text()
    )
    assert (
        "## [0.2.0] - 2026-12-01\n\n### Added\n\n- Tabs.\n"
        in (checkout / "CHANGELOG.md").read_text()
    )
    assert (checkout / "dist/tag-message.txt").read_text() == "pi 0.2.0\n\nAdded:\n\n- Tabs.\n"
    with zipfile.ZipFile(checkout / "dist/pi_harness-0.2.0-py3-none-any.whl") as wheel:
        assert b"- Tabs." in wheel.read("pi/docs/CHANGELOG.md")
    assert "git tag -a v0.2.0" in finished.stdout

    assert release(root, checkout, "0.2.0", "2026-12-02").returncode == 0
    assert (checkout / "CHANGELOG.md").read_text().count("## [0.2.0] - 2026-12-01") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two"], "release: 'two' is not a version like 0.2.0 or 0.2.0rc1."),
        (["0.2.0", "soon"], "release: 'soon' is not a date like 2026-12-01."),
        (["0.1.0"], "release: CHANGELOG.md has 0.1.0 already, but changes/ has news."),
    ],
)
def test_a_rejected_release_changes_nothing(
    root: Path, checkout: Path, arguments: list[str], message: str
) -> None:
    finished = release(root, checkout, *arguments)

    assert (finished.returncode, finished.stderr) == (1, f"{message}\n")
    assert (checkout / "packages/pi-base/src/pi/version/__init__.py").read_text() == MODULE
    assert not (checkout / "dist").exists()


def test_the_changelog_has_a_section_for_this_version(root: Path) -> None:
    assert f"\n## [{pi.version.__version__}] - 20" in (root / "CHANGELOG.md").read_text(
        encoding="utf-8"
    )


# The wheel in an empty environment ---------------------------------------------------------------


def dependencies(name: str) -> Iterator[Distribution]:
    """Yield the installed distributions that ``name`` requires, without optional ones."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield distribution(requirement.name)
            yield from dependencies(requirement.name)


def pack(installed: Distribution, wheelhouse: Path) -> None:
    """Make a wheel from an installed distribution, so that tests need no package index."""
    name = installed.metadata["Name"].replace("-", "_").replace(".", "_")
    stem = f"{name}-{installed.version}"
    lines = (installed.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    tag = "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))
    record = []
    with zipfile.ZipFile(wheelhouse / f"{stem}-{tag}.whl", "w") as wheel:
        for file in installed.files or ():
            source = Path(str(installed.locate_file(file)))
            if file.suffix == ".pyc" or file.name in {"RECORD", "INSTALLER", "REQUESTED"}:
                continue
            is_script = file.parts[0] == ".."
            if is_script and file.name in {each.name for each in installed.entry_points}:
                continue  # pip rewrites it
            inside = f"{stem}.data/scripts/{file.name}" if is_script else file.as_posix()
            wheel.write(source, inside)
            record.append(f"{inside},,")
        folder = next(line.split("/")[0] for line in record if line.endswith("/METADATA,,"))
        wheel.writestr(f"{folder}/RECORD", "\n".join([*record, f"{folder}/RECORD,,", ""]))


@pytest.mark.full
@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_without_an_index(
    root: Path, tmp_path: Path
) -> None:
    wheelhouse, home, project = (tmp_path / name for name in ("wheelhouse", "home", "project"))
    for folder in (wheelhouse, home, project):
        folder.mkdir()
    for needed in {each.metadata["Name"]: each for each in dependencies("pi-harness")}.values():
        pack(needed, wheelhouse)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PI_OFFLINE": "1"}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)),
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )

    copy = tmp_path / "source"  # a build writes into its source folder
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(root / name, copy / name)
    for name in ("src", "docs"):
        shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheelhouse)
    subprocess.run(build, cwd=copy, env=environment, check=True, capture_output=True)
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty")
    python = tmp_path / "empty/bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-index", "--find-links", wheelhouse, "pi-harness")

    installed = tmp_path / "empty/bin/pi"
    assert run(installed, "--version").stdout.strip() == pi.version.__version__
    assert "That was the tour" in run(installed, "--model", "demo/tour", "-p", "hi").stdout
    where = run(python, "-c", "import pi.docs; print(*pi.docs.__path__)").stdout.strip()
    assert Path(where, "CHANGELOG.md").read_bytes() == (root / "CHANGELOG.md").read_bytes()
    assert Path(where).is_relative_to(tmp_path / "empty")
