"""``./pi`` and ``./test`` in a fresh copy of the checkout."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pi.version


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Copy the files that ./pi needs into a folder with a space in its name."""
    copy = tmp_path / "my checkout"
    copy.mkdir()
    files = ("pi", "test", "pyproject.toml", "hatch_build.py", "constraints.txt")
    for name in (*files, "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy2(root / name, copy / name)
    for name in ("docs", "scripts", "packages", "batteries"):
        shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def environment(tmp_path: Path, **changes: str) -> dict[str, str]:
    """Return the environment of a fresh login shell, including access to the package index."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "UV_", "SSL_", "REQUESTS_")) or name.lower().endswith("_proxy")
    }
    python = Path(sys.executable).resolve().parent
    return {**kept, "HOME": str(home), "PATH": f"{python}:/usr/bin:/bin", **changes}


def run(
    command: list[str | Path], cwd: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=110
    )


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.full  # every CI run in a new clone is also a first run
@pytest.mark.timeout(240)
def test_the_first_run_installs_and_later_runs_only_run(checkout: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    link = tmp_path / "link to pi"
    link.symlink_to(checkout / "pi")

    first = run([checkout / "pi", "--version"], tmp_path, env)
    second = run([link, "--version"], tmp_path, env)

    assert (first.returncode, first.stdout) == (0, f"{pi.version.__version__}\n"), first.stderr
    assert first.stderr == "pi: installing into .venv (once; needs the package index)…\n"
    assert (second.returncode, second.stdout, second.stderr) == (
        0,
        f"{pi.version.__version__}\n",
        "",
    )

    # Changed dependencies are installed automatically.
    with (checkout / "constraints.txt").open("a") as constraints:
        constraints.write("# newer\n")
    third = run([checkout / "pi", "--version"], tmp_path, env)
    assert (third.returncode, third.stdout) == (0, f"{pi.version.__version__}\n"), third.stderr
    assert "installing" in third.stderr

    # An interrupted install cannot be trusted, so it starts over.
    for mark in checkout.glob(".venv/ready-*"):
        mark.unlink()
    shutil.rmtree(checkout / ".venv" / "lib")
    fourth = run([checkout / "pi", "--version"], tmp_path, env)
    assert (fourth.returncode, fourth.stdout) == (0, f"{pi.version.__version__}\n"), fourth.stderr


def test_a_finished_install_is_recognised_without_cmp(checkout: Path, tmp_path: Path) -> None:
    folder = checkout / ".venv" / "bin"
    folder.mkdir(parents=True)
    program(folder, "python", "exit 9")
    program(folder, "pi", 'echo "runs $1"')
    parts = (
        f"{checkout}\n",
        *((checkout / n).read_text() for n in ("pyproject.toml", "constraints.txt")),
        (checkout / "hatch_build.py").read_text(),
        *(file.read_text() for file in sorted(checkout.glob("packages/*/pyproject.toml"))),
        *(file.read_text() for file in sorted(checkout.glob("batteries/*/pyproject.toml"))),
    )
    (checkout / ".venv" / "ready-core").write_text("".join(parts))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "readlink"):
        (tools / name).symlink_to(str(shutil.which(name)))

    ran = run([checkout / "pi", "--version"], tmp_path, {"PATH": str(tools)})

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "runs --version\n", "")


def test_an_interrupted_install_is_reported_in_one_line_and_not_marked_complete(
    checkout: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    program(tools, "uv", "echo started >&2; sleep 60")
    env = environment(tmp_path)
    env["PATH"] = f"{tools}:{env['PATH']}"
    child = subprocess.Popen(
        [checkout / "pi", "--version"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    assert [child.stderr.readline(), child.stderr.readline()][1] == "started\n"

    os.killpg(child.pid, signal.SIGINT)  # what Ctrl+C does

    output, errors = child.communicate(timeout=20)
    assert (output, errors) == ("", "\npi: interrupted; the next ./pi starts the install over.\n")
    assert child.returncode != 0
    assert list(checkout.glob(".venv/ready-*")) == []


@pytest.mark.full
def test_the_launcher_falls_back_to_the_next_installer_after_a_failure(
    checkout: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    program(tools, "uv", 'echo "uv: no such index" >&2; exit 2')
    env = environment(tmp_path)
    env["PATH"] = f"{tools}:{env['PATH']}"

    finished = run([checkout / "pi", "--version"], tmp_path, env)

    assert (finished.returncode, finished.stdout) == (0, f"{pi.version.__version__}\n"), (
        finished.stderr
    )
    assert "uv: no such index" in finished.stderr


@pytest.mark.full
@pytest.mark.slow
def test_a_missing_package_index_is_reported_in_one_line(checkout: Path, tmp_path: Path) -> None:
    env = environment(
        tmp_path,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path),
        PIP_CONFIG_FILE=os.devnull,
        UV_OFFLINE="1",
        UV_CACHE_DIR=str(tmp_path / "empty cache"),
    )

    finished = run([checkout / "pi", "--version"], tmp_path, env)

    assert (finished.returncode, finished.stdout) == (1, "")
    installers = "uv and pip" if shutil.which("uv", path=env["PATH"]) else "pip"
    assert finished.stderr.splitlines()[-1] == (
        f"pi: {installers} could not install the dependencies (the reason is above); "
        "check the network or the package index, then run again."
    )


def test_a_missing_python_is_reported_in_one_line_with_a_hint(
    checkout: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    for name in ("python3", "python"):
        program(tools, name, "exit 1")
    for name in ("cat", "cmp", "dirname", "readlink"):
        (tools / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")

    finished = run([checkout / "pi", "--version"], tmp_path, {"PATH": str(tools)})

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == (
        "pi: needs Python 3.11 or newer on PATH; install it, "
        "or name one: PI_PYTHON=/path/to/python3 ./pi\n"
    )


def test_an_unwritable_lock_file_is_reported_in_one_line(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv.lock").mkdir()  # works for root too, unlike a read-only folder

    finished = run([checkout / "test"], tmp_path, environment(tmp_path))

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == f"test: cannot write {checkout}/.venv.lock: Is a directory\n"
