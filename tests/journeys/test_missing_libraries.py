"""Libraries that an installation lacks: pi installs them, or names the command that does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.installation import install_pi, write_wheel
from tests.journeys.program import Journey
from tests.journeys.terminal import ESCAPE

LIBRARIES = ("ast-grep-py", "ast_grep_py"), ("google-re2", "re2")
QUESTION = "Install the 2 libraries that ast-tools needs"
LIMITED = "ast_grep and ast_edit are not offered to the model"
PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R
/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 43>>stream
BT /F1 12 Tf 10 50 Td (Herons wade) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
"""
CRYPTOGRAPHY = """
import sys
from types import ModuleType

__path__ = []
CIPHERS = "cryptography.hazmat.primitives.ciphers"
for name in ("cryptography.exceptions", f"{CIPHERS}.aead"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].InvalidTag = sys.modules[name].AESGCM = ValueError
"""
"""What sharing imports of it."""
KINDS = ["uv tool", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("pipx", "venv"))]


@pytest.fixture(params=KINDS)
def plain(request: pytest.FixtureRequest, journey: Journey) -> Journey:
    """A user whose pi was installed without optional libraries, and who has an index with them."""
    journey.program = str(install_pi(journey.folder / "environment", request.param))
    wheels = journey.folder / "wheels"
    for name, module in LIBRARIES:
        write_wheel(wheels, name, "9999.0", module=module, size=1_200_000)
    journey.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return journey


def target(journey: Journey) -> Path:
    """Where libraries go: `uv tool upgrade` would remove them from its environment."""
    environment = journey.folder / "environment"
    if (environment / "uv-receipt.toml").exists():
        return journey.home.agent_dir / "libraries"
    return environment


def test_a_session_installs_what_a_battery_needs_and_uses_it_at_once(plain: Journey) -> None:
    with plain.terminal() as user:
        user.shows("Ask anything")
        user.submits("/extensions on ast-tools")
        user.shows(QUESTION, "(2.4 MB)", "• ast-grep-py 9999.0 (1.2 MB)", "• google-re2 9999.0")
        assert str(target(plain)) in user.screen.replace("\n ", "")
        user.types("y")
        user.shows("ast-tools is on")
        user.submits("hello")
        user.sees("All is well.")
        user.leaves()
    assert {"ast_grep", "ast_edit"} <= {*plain.model.tools_of()}
    assert list(target(plain).glob("**/ast_grep_py.py"))
    assert plain.pi("-p", "hello").err == ""
    assert "ast_grep" in plain.model.tools_of()


@pytest.mark.full
def test_the_shell_installs_what_a_battery_needs(plain: Journey) -> None:
    with plain.terminal("extensions", "on", "ast-tools") as user:
        user.shows(QUESTION, "• ast-grep-py 9999.0 (1.2 MB)", "[y/N]")
        user.submits("y")
        assert user.ends() == 0
        assert "Installed ast-grep-py 9999.0" in user.tape
        assert "ast-tools is on" in user.tape
    assert plain.pi("-p", "hello").err == ""
    assert "ast_grep" in plain.model.tools_of()


def test_a_battery_without_a_switch_is_ready_once_its_library_is_installed(plain: Journey) -> None:
    wheels = plain.folder / "wheels"
    write_wheel(wheels, "mermaid-term", "0.1.0", module="mermaid_term", size=30_000)
    with plain.terminal() as user:
        user.shows("Ask anything")
        user.submits("/extensions on diagrams")
        user.shows("Install the library that diagrams needs (", " kB)?")
        user.types("y")
        user.shows("diagrams is on: it loads when it is used.")
        user.leaves()
    ended = plain.pi("extensions", "on", "diagrams")
    assert (ended.code, ended.out) == (0, "diagrams is on: it loads when it is used.\n")


def test_a_command_offers_the_libraries_that_it_lacks_and_runs(plain: Journey) -> None:
    wheels = plain.folder / "wheels"
    write_wheel(wheels, "websockets", "9999.0", module="websockets", size=200_000)
    write_wheel(
        wheels, "cryptography", "9999.0", module="cryptography", size=5000, content=CRYPTOGRAPHY
    )
    with plain.terminal() as user:
        user.shows("Ask anything")
        user.submits("/collab status")
        user.shows("Install the 2 libraries that collab needs (", "• cryptography 9999.0")
        user.types("n")
        user.sees("Sharing needs cryptography, which is not installed.")
        user.submits("/collab status")
        user.shows("Install the 2 libraries", "• websockets 9999.0")
        user.types("y")
        user.sees("This session is not shared.")
        user.submits("/extensions")
        user.shows("Type to search")
        user.types("collab")
        user.shows("→ ○ collab", "  off\n")
        user.types(ESCAPE + ESCAPE)
        user.shows("Ask anything")
        user.leaves()


def test_a_client_is_asked_for_the_libraries_of_a_command(plain: Journey) -> None:
    for name in ("websockets", "cryptography"):
        write_wheel(plain.folder / "wheels", name, "9999.0", module=name, size=200)
    with plain.rpc() as client:
        client.answers["confirm"] = {"confirmed": False}
        client.request("prompt", message="/collab status")
        asked = [each["title"] for each in client.events("extension_ui_request") if "title" in each]
    assert [title.partition(" (")[0] for title in asked] == [
        "Install the 2 libraries that collab needs"
    ]


def test_the_relay_offers_the_libraries_that_it_lacks(plain: Journey) -> None:
    write_wheel(plain.folder / "wheels", "aiohttp", "9999.0", module="aiohttp", size=2000)
    with plain.terminal("relay", "serve", "--bind", "127.0.0.1:0") as user:
        user.shows("Install the library that the relay needs", "[y/N]")
        user.submits("n")
        assert user.ends() == 1
    ended = plain.pi("relay", "serve")
    assert ended.code == 1
    assert "Install it: " in ended.err


@pytest.mark.full
def test_no_installs_nothing(plain: Journey) -> None:
    with plain.terminal("extensions", "on", "ast-tools") as user:
        user.shows(QUESTION)
        user.submits("n")
        user.ends()
    assert not list(target(plain).glob("**/ast_grep_py.py"))
    assert "astTools" not in plain.home.settings


@pytest.mark.full
def test_without_a_terminal_the_command_for_this_installation_is_printed(plain: Journey) -> None:
    ended = plain.pi("extensions", "on", "ast-tools")

    assert ended.code == 1
    assert "pi-harness[" not in ended.err
    command = ended.err.split("Install it: ")[1].strip()
    assert str(plain.folder / "environment") in command
    assert "'ast-grep-py>=0.40' 'google-re2>=" in command
    assert "astTools" not in plain.home.settings


def test_tools_without_their_library_are_not_declared_and_every_mode_says_why(
    plain: Journey,
) -> None:
    plain.home.use_settings(astTools={"enabled": True})

    for words in (["-p", "hi"], ["--mode", "json", "hi"], ["-p", "--tools", "read,ast_grep", "hi"]):
        ended = plain.pi(*words)
        assert (ended.code, ended.err.count(LIMITED), ended.err.count("\n")) == (0, 1, 1)
        assert "Install it: " in ended.err
    with plain.rpc() as client:
        client.prompts("hi")
        client.prompts("hi")
    assert sum(LIMITED in line for line in client.lines) == 1
    with plain.terminal() as user:
        user.shows("Ask anything", "are not offered to the model")
        user.submits("hi")
        user.sees("All is well.")
        assert user.tape.count("are not offered to the model") == 1
        user.leaves()
    declared = {name for i in range(6) for name in plain.model.tools_of(i)}
    assert "read" in declared
    assert not declared & {"ast_grep", "ast_edit"}


def test_the_recommended_set_works_without_optional_libraries(plain: Journey) -> None:
    plain.home.use_recommended()
    (plain.home.cwd / "a.pdf").write_bytes(PDF)
    plain.home.write_work(
        ".pi/rules/x.md", "---\ncondition: heron\ndescription: no herons\n---\nSay stork.\n"
    )

    assert "Left out" not in plain.pi("-p", "--approve", "hello").err
    assert {"todo", "propose_plan", "task"} <= {*plain.model.tools_of()}
    plain.model.says("A heron wades.", "A stork wades.")
    ended = plain.pi("-p", "--approve", "hello")
    assert ended.out == "A stork wades.\n"
    plain.model.calls("read", path="a.pdf")
    plain.pi("-p", "--approve", "read it")
    assert "Herons wade" in plain.model.results_of()[0]


def test_a_command_in_a_terminal_names_the_library_that_draws_it(journey: Journey) -> None:
    journey.program = str(install_pi(journey.folder / "environment", "venv"))
    journey.home.use_settings(bash={"extended": True})
    journey.model.calls("bash", command="touch run", pty=True)
    with journey.terminal(columns=200) as user:
        user.submits("go")
        user.sees("All is well.", "Nothing was run: pty needs pyghostty", "pip install")
    assert not (journey.home.cwd / "run").exists()
