from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import pi.version
from scripts.workspace import members
from tests.architecture.test_docs_run import program
from tests.files import put

VERSION = "packages/pi-base/src/pi/version/__init__.py"
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
    """Write two small packages with the build configuration of pi."""
    checkout = tmp_path / "checkout"
    put(checkout / VERSION, MODULE)
    put(checkout / "packages/pi-coding-agent/src/pi/cli/__init__.py", "")
    put(checkout / "docs/README.md", "# Docs\n")
    put(checkout / "changes/tabs.added.md", "Tabs.\n")
    put(checkout / "CHANGELOG.md", "# Changelog\n\n## [0.1.0] - 2026-11-17\n\n### Added\n\n- pi.\n")
    for package in ("packages/pi-base", "packages/pi-coding-agent"):
        for file in (root / package).glob("*.*"):
            shutil.copy(file, checkout / package / file.name)
        shutil.copy(root / "LICENSE", checkout / package / "LICENSE")
    return checkout


@pytest.mark.full
def test_release_writes_versions_changelog_tag_message_and_wheels(
    root: Path, checkout: Path
) -> None:
    finished = release(root, checkout, "0.2.0", "2026-12-01")

    assert finished.returncode == 0, finished.stderr
    assert '__version__ = "0.2.0"' in (checkout / VERSION).read_text()
    assert (
        "## [0.2.0] - 2026-12-01\n\n### Added\n\n- Tabs.\n"
        in (checkout / "CHANGELOG.md").read_text()
    )
    assert (checkout / "dist/tag-message.txt").read_text() == "pi 0.2.0\n\nAdded:\n\n- Tabs.\n"
    assert sorted(path.name for path in (checkout / "dist").glob("*.whl")) == [
        "pi_harness_base-0.2.0-py3-none-any.whl",
        "pi_harness_core-0.2.0-py3-none-any.whl",
    ]
    with zipfile.ZipFile(checkout / "dist/pi_harness_core-0.2.0-py3-none-any.whl") as wheel:
        assert b"- Tabs." in wheel.read("pi/docs/CHANGELOG.md")
        metadata = wheel.read("pi_harness_core-0.2.0.dist-info/METADATA")
    assert b"Requires-Dist: pi-harness-base==0.2.0" in metadata
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
    assert (checkout / VERSION).read_text() == MODULE
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


@dataclass(frozen=True)
class Machine:
    """A user's machine without a package index: a home, a project, and a folder of wheels."""

    folder: Path
    wheels: Path

    @property
    def bin(self) -> Path:
        """The programs of its only environment."""
        return self.folder / "empty/bin"

    def run(self, *command: str | Path) -> str:
        """Run a program in the project; returns its output."""
        for name in ("home", "project"):
            (self.folder / name).mkdir(exist_ok=True)
        environ = {"HOME": str(self.folder / "home"), "PATH": os.environ["PATH"], "PI_OFFLINE": "1"}
        ended = subprocess.run(
            list(map(str, command)),
            cwd=self.folder / "project",
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def install(self, requirement: str | Path) -> None:
        """Install into a new environment."""
        self.run(sys.executable, "-m", "venv", "--without-pip", self.bin.parent)
        pip = (sys.executable, "-m", "pip", "--python", self.bin / "python", "install", "--quiet")
        self.run(*pip, "--no-index", "--find-links", self.wheels, requirement)

    def check_pi(self, root: Path) -> None:
        """Run the program, a battery, and look at the documentation."""
        assert self.run(self.bin / "pi", "--version").strip() == pi.version.__version__
        assert "That was the tour" in self.run(self.bin / "pi", "--model", "demo/tour", "-p", "hi")
        example = program((root / "batteries/everyday/README.md").read_text(encoding="utf-8"))
        self.run(self.bin / "python", "-P", "-c", example)
        folder = self.run(
            self.bin / "python", "-P", "-c", "import pi.docs as d; print(*d.__path__)"
        )
        docs = Path(folder.strip())
        assert docs.is_relative_to(self.bin.parent)
        assert (docs / "CHANGELOG.md").read_bytes() == (root / "CHANGELOG.md").read_bytes()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of what pi requires."""
    folder = tmp_path_factory.mktemp("wheels")
    for needed in {each.metadata["Name"]: each for each in dependencies("pi-harness")}.values():
        pack(needed, folder)
    return folder


def build(project: Path, wheels: Path) -> Path:
    """Build a wheel as ``pip install`` does."""
    before = {*wheels.glob("*.whl")}
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels)
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (wheel,) = {*wheels.glob("*.whl")} - before
    return wheel


def test_pipx_and_uv_tool_find_the_program_in_the_package_that_the_readme_names(
    root: Path, tmp_path: Path
) -> None:
    # Both link only the programs of that package, and refuse one without any.
    assert "pipx install pi-harness  " in (root / "README.md").read_text(encoding="utf-8")

    for name in ("pi-harness", "pi-coding-agent"):
        with zipfile.ZipFile(build(root / "packages" / name, tmp_path)) as wheel:
            (entry_points,) = (n for n in wheel.namelist() if n.endswith("/entry_points.txt"))
            text = wheel.read(entry_points).decode()
        assert "[console_scripts]\npi = pi.cli.main:main\n" in text


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_installed_checkout_works_after_the_checkout_is_deleted(
    root: Path, wheels: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(root / name, checkout / name)
    for name in ("packages", "batteries", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(root / name, checkout / name, ignore=ignored)
    (tmp_path / "built").mkdir()
    wheel = build(checkout, tmp_path / "built")
    shutil.rmtree(checkout)
    machine = Machine(tmp_path, wheels)
    machine.install(wheel)

    machine.check_pi(root)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["pi-harness", "pi-ai"])
def test_the_packages_of_pi_are_installed_from_their_wheels(
    name: str, root: Path, wheels: Path, tmp_path: Path
) -> None:
    released = Path(shutil.copytree(wheels, tmp_path / "released"))
    for member in members(root):
        if member != root:
            build(member, released)
    machine = Machine(tmp_path, released)
    machine.install(name)

    if name == "pi-harness":
        machine.check_pi(root)
    else:
        example = program((root / "packages/pi-ai/README.md").read_text(encoding="utf-8"))
        assert machine.run(machine.bin / "python", "-P", "-c", example) == "Take an umbrella.\n"
