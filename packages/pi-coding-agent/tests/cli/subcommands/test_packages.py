from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.cli.main import main
from tests.ai.loopback import NOWHERE
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.coding.packages.making import (
    FakeNpm,
    Repository,
    make_package,
    make_wheel,
    snapshot,
)
from tests.sampling import sampled
from tests.screens.terminal_user import needs_pty, terminal_user

Captured = pytest.CaptureFixture[str]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".pi" / "agent"


@pytest.fixture
def npm(tmp_path: Path, agent: Path) -> FakeNpm:
    """A registry that the settings name."""
    fake = FakeNpm(tmp_path / "npm")
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text(json.dumps({"npmCommand": [str(fake.program)]}))
    return fake


@pytest.fixture
def pi(tmp_path: Path, site: Path, capsys: Captured) -> Run:
    """What ``pi`` answers: its exit code, output and errors."""

    def run(*arguments: str, **environ: str) -> tuple[int, str, str]:
        home = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        code = main(arguments, home | NOWHERE | environ)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_no_installed_packages_are_reported_as_such(pi: Run, tmp_path: Path) -> None:
    for command in ("list", "config"):
        assert pi(command) == (0, "No packages installed.\n", "")
    assert pi("update", "--extensions") == (0, "No packages installed.\n", "")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "arguments", [["install"], ["remove"], ["uninstall"], ["install", "a", "b"]]
)
def test_a_source_is_needed(arguments: list[str], pi: Run) -> None:
    code, out, err = pi(*arguments)

    assert (code, out) == (1, "")
    assert err.startswith(f"Error: `pi {arguments[0]}` needs one package source\n")


def test_a_folder_is_installed_listed_and_removed(
    pi: Run, site: Path, agent: Path, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk" / "x", "skills/a/SKILL.md")

    assert pi("install", "../pk/x") == (0, "Installing ../pk/x...\nInstalled ../pk/x\n", "")
    assert json.loads((agent / "settings.json").read_text()) == {"packages": ["../../../pk/x"]}
    assert pi("list") == (
        0,
        f"User packages:\n  {tmp_path}/pk/x\n",
        "",
    )
    assert pi("remove", "../pk/x") == (0, "Removed ../pk/x\n", "")
    assert pi("uninstall", "../pk/x") == (1, "", "No matching package found for ../pk/x\n")


def test_a_source_that_does_not_exist_is_reported(pi: Run, agent: Path) -> None:
    code, out, err = pi("install", "./nowhere")

    assert (code, out) == (1, "Installing ./nowhere...\n")
    assert err.startswith("Error: ") and " does not exist." in err
    assert not (agent / "settings.json").exists()


@pytest.mark.behaviour("trust-uses-canonical-paths")
def test_a_projects_packages_are_read_only_when_it_is_trusted(
    pi: Run, site: Path, agent: Path, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")

    code, out, err = pi("install", "-l", "../pk", "-na")
    assert (code, out) == (0, "Installing ../pk...\nInstalled ../pk\n")
    assert err.startswith("The project is not trusted: ")
    assert json.loads((site / ".pi" / "settings.json").read_text()) == {"packages": ["../../pk"]}

    listing = f"Project packages:\n  {tmp_path}/pk\n"
    assert pi("list") == (0, "No packages installed.\n", "")
    assert pi("list", "-a") == (0, listing, "")
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "trust.json").write_text(json.dumps({str(site): True}))
    assert pi("list") == (0, listing, "")
    for careful in (["-na"], ["-a", "-na"]):
        assert pi("list", *careful) == (0, "No packages installed.\n", "")
    assert pi("remove", "../pk") == (1, "", "No matching package found for ../pk\n")
    assert pi("remove", "-l", "../pk") == (0, "Removed ../pk\n", "")


@pytest.mark.full
@pytest.mark.slow
def test_a_relative_wheelhouse_path_is_resolved_from_the_current_folder(
    pi: Run, site: Path
) -> None:
    make_wheel(site / "dist", "pi-tips", "1.0", "pi_tips/skills/x/SKILL.md")

    code, _, err = pi("install", "pypi:pi-tips", PIP_NO_INDEX="1", PIP_FIND_LINKS="./dist")

    assert (code, err) == (0, "")


def test_installing_a_package_without_resources_for_pi_prints_a_warning(
    pi: Run, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "src/code.py")

    code, out, err = pi("install", "../pk")

    assert (code, out) == (0, "Installing ../pk...\nInstalled ../pk\n")
    assert err == ("Warning: it has no extensions, skills, prompts or themes\n")


def test_installing_a_package_in_an_untrusted_project_reports_that_it_is_not_trusted(
    pi: Run, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")

    assert pi("install", "-l", "../pk")[2].startswith("The project is not trusted: ")
    assert pi("install", "-l", "../pk", "-a")[2] == ""


def test_packages_are_updated_despite_a_failure(pi: Run, npm: FakeNpm, tmp_path: Path) -> None:
    npm.publish("tips", "1.0.0")
    npm.publish("fixed", "1.0.0")
    repository = Repository(tmp_path / "repo")
    repository.commit("skills/a/SKILL.md")
    make_package(tmp_path / "pk", "prompts/p.md")
    for source in ("npm:tips", "npm:fixed@1.0.0", repository.source, str(tmp_path / "pk")):
        assert pi("install", source)[0] == 0
    npm.publish("tips", "1.1.0")
    repository.folder.rename(tmp_path / "gone")

    code, out, err = pi("update", "--extensions")

    assert (code, out.splitlines()) == (
        1,
        [
            "Updated npm:tips: 1.0.0 → 1.1.0",
            "Skipped npm:fixed@1.0.0: pinned at 1.0.0",
            f"{tmp_path}/pk is used where it is",
        ],
    )
    assert err.startswith(f"Error: {repository.source}: git ls-remote failed: ")


@pytest.mark.parametrize("arguments", sampled([["npm:tips"], ["--extension", "npm:tips"]], keep=1))
def test_one_package_is_updated(arguments: list[str], pi: Run, npm: FakeNpm) -> None:
    npm.publish("tips", "1.0.0")
    pi("install", "npm:tips")

    assert pi("update", *arguments) == (0, "npm:tips is up to date: 1.0.0\n", "")
    assert pi("update", *arguments, "--force") == (0, "Updated npm:tips: 1.0.0 → 1.0.0\n", "")
    assert pi("update", "npm:other") == (1, "", "No matching package found for npm:other\n")


@pytest.mark.parametrize("arguments", [[], ["self"], ["pi"], ["--self"]])
def test_update_prints_how_to_update_pi_itself(arguments: list[str], pi: Run) -> None:
    code, out, err = pi("update", *arguments)

    assert (code, err) == (0, "")
    assert out.startswith("This is pi ")
    assert "To update it, run: " in out


def test_offline_no_request_is_sent(pi: Run) -> None:
    assert pi("update", "--models", PI_OFFLINE="1") == (
        1,
        "",
        "Error: Cannot update the model list while offline.\n",
    )
    code, _, err = pi("install", "git:h.dev/o/r", PI_OFFLINE="1")
    assert code == 1
    assert err.startswith("Error: https://h.dev/o/r has to be fetched, and pi is offline.\n")


def test_update_models_fetches_the_available_models(pi: Run) -> None:
    code, out, err = pi("update", "--models", GROQ_API_KEY="k")

    assert (code, err) == (0, "")
    assert out.endswith(" models are available; `pi models` lists them.\n")


def test_everything_can_be_updated_at_once(pi: Run, npm: FakeNpm) -> None:
    npm.publish("tips", "1.0.0")
    pi("install", "npm:tips")

    code, out, _ = pi("update", "--all")

    assert code == 0
    assert [line.split()[0] for line in out.splitlines()][:2] == ["This", "npm:tips"]
    assert "models are available" in out


def test_resources_are_shown_and_switched(pi: Run, agent: Path, tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md prompts/p.md prompts/q.md")
    pi("install", "../pk")

    assert pi("config", "off", "../pk", "prompts", "skills/a") == (
        0,
        "[ ] prompts    prompts/p.md\n[ ] prompts    prompts/q.md\n"
        "[ ] skills     skills/a/SKILL.md\n",
        "",
    )
    assert pi("config", "on", "../../../pk", "prompts/q.md")[0] == 0
    assert pi("config") == (
        0,
        f"{tmp_path}/pk (user)\n  [ ] skills     skills/a/SKILL.md\n"
        "  [ ] prompts    prompts/p.md\n  [x] prompts    prompts/q.md\n",
        "",
    )
    assert json.loads((agent / "settings.json").read_text())["packages"] == [
        {
            "source": "../../../pk",
            "skills": ["-skills/a/SKILL.md"],
            "prompts": ["-prompts/p.md"],
        }
    ]


def test_a_project_can_switch_off_resources_of_user_packages(
    pi: Run, site: Path, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md skills/b/SKILL.md")
    pi("install", "../pk")

    assert pi("config", "-l", "-na", "off", "../pk", "skills/a")[0] == 1
    assert pi("config", "-l", "-a", "off", "../pk", "skills/a")[0] == 0

    assert json.loads((site / ".pi" / "settings.json").read_text())["packages"] == [
        {"source": "../../pk", "autoload": False, "skills": ["-skills/a/SKILL.md"]}
    ]
    assert "[ ] skills     skills/a/SKILL.md" in pi("config", "-a")[1]
    assert "[x] skills     skills/a/SKILL.md" in pi("config")[1]


@pytest.mark.parametrize("arguments", [["on"], ["on", "../pk"], ["list"], ["maybe", "../pk", "x"]])
def test_incomplete_config_arguments_print_the_usage(arguments: list[str], pi: Run) -> None:
    code, _, err = pi("config", *arguments)

    assert code == 1
    assert err.startswith("Error: Usage: `pi config`, or ")


def test_switching_a_resource_that_a_package_lacks_fails(pi: Run, tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")
    pi("install", "../pk")

    code, _, err = pi("config", "off", "../pk", "skills/z")

    assert (code, err.splitlines()[0]) == (1, "Error: The package has no skills/z.")


def test_a_broken_settings_file_is_reported_and_not_overwritten(
    pi: Run, agent: Path, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text("{oops")

    code, _, err = pi("install", "../pk")

    assert code == 1
    assert err.startswith("Error: Invalid settings file ")
    assert (agent / "settings.json").read_text() == "{oops"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes with names are of POSIX")
@pytest.mark.parametrize(
    ("number", "code"), sampled([(signal.SIGTERM, 143), (signal.SIGINT, -2)], keep=1)
)
def test_a_signal_ends_an_installation_without_changes(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    npm, cli = FakeNpm(tmp_path / "npm"), Program.below(tmp_path)
    npm.publish("tips", "1.0.0")
    cli.write("settings.json", json.dumps({"npmCommand": [str(npm.program)]}))
    before = snapshot(cli.agent_dir)
    hangs = npm.hang("install")

    with cli.start("install", "npm:tips") as program:
        hangs.read_text()
        program.send_signal(number)
        output = program.communicate(timeout=TIMEOUT_SECONDS)

    assert (program.returncode, output) == (code, (b"Installing npm:tips...\n", b""))
    assert snapshot(cli.agent_dir) == before | {".packages.lock": ""}


@pytest.mark.full
@pytest.mark.slow
def test_every_distribution_is_named_with_its_version_before_it_is_installed(
    pi: Run, site: Path
) -> None:
    wheels = site / "dist"
    make_wheel(wheels, "pi-tips", "1.0", "pi_tips/skills/x/SKILL.md", requires=("pi-inner",))
    make_wheel(wheels, "pi-inner", "2.0")
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}

    assert pi("install", "pypi:pi-tips", **pip) == (
        0,
        "Installing pypi:pi-tips...\n  pi-tips 1.0\n  pi-inner 2.0\nInstalled pypi:pi-tips\n",
        "",
    )
    make_wheel(wheels, "pi-tips", "1.1", "pi_tips/skills/x/SKILL.md", requires=("pi-new",))
    make_wheel(wheels, "pi-new", "3.0")
    assert pi("update", "pypi:pi-tips", **pip) == (
        0,
        "  pi-tips 1.0 → 1.1\n  pi-new 3.0\nUpdated pypi:pi-tips: 1.0 → 1.1\n",
        "",
    )


def test_a_dependency_that_is_a_path_is_rejected(pi: Run, agent: Path, tmp_path: Path) -> None:
    folder = make_package(tmp_path / "pk", "skills/a/SKILL.md")
    (folder / "pyproject.toml").write_text("[project]\nname='x'\ndependencies=['../evil']\n")

    code, _, err = pi("install", "../pk")

    assert (code, err.splitlines()[0]) == (
        1,
        f'Error: {folder} requires "../evil", which is not a name and version of a package index;'
        " nothing was installed.",
    )
    assert not (agent / "settings.json").exists()


def test_a_package_that_start_would_warn_of_is_refused(
    pi: Run, agent: Path, tmp_path: Path
) -> None:
    folder = make_package(tmp_path / "pk", manifest={"skills": ["/etc"]})

    code, _, err = pi("install", "../pk")

    assert (code, err.splitlines()[0]) == (
        1,
        f'Error: {folder} is not a usable package: its manifest: "/etc" of skills leads out of the'
        " package and is not used.",
    )
    assert not (agent / "settings.json").exists()


@pytest.mark.slow
@needs_pty
@pytest.mark.parametrize(("answer", "code"), sampled([("y\r", 0), ("\r", 1)], keep=1))
def test_installing_on_a_terminal_asks_for_confirmation(
    tmp_path: Path, answer: str, code: int
) -> None:
    npm, cli = FakeNpm(tmp_path / "npm"), Program.below(tmp_path)
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    cli.write("settings.json", json.dumps({"npmCommand": [str(npm.program)]}))
    before = snapshot(cli.agent_dir)

    with terminal_user(cli, "install", "npm:tips") as user:
        user.sees("Trust and install these? [y/N]")
        assert "  tips 1.0.0\n" in user.tape
        assert snapshot(cli.agent_dir / "npm") == {}
        user.types(answer)
        assert user.ends() == code
        ending = "Installed npm:tips" if code == 0 else "Error: Not installed: "
        assert ending in user.tape

    if code:
        assert snapshot(cli.agent_dir) == before | {".packages.lock": ""}
    with terminal_user(cli, "install", "npm:tips", "--approve") as user:
        assert user.ends() == 0
