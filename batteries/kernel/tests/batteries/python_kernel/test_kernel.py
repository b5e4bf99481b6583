"""The Python kernel in a session: the model's calls, the user's ``$`` code, and the process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image
from pi.ai.providers.faux import says
from pi.batteries.python_kernel.cells import display_text
from pi.batteries.python_kernel.config import tool_mode
from pi.batteries.python_kernel.process import (
    Interpreter,
    NoInterpreter,
    find_python,
    kernel_environment,
)
from pi.coding.session.entries import CustomMessage
from tests.base.processes.children import alive
from tests.batteries.python_kernel.kernel_session import (
    cells,
    details,
    results,
    session_of,
    texts,
)

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.mark.behaviour("failed-cell-is-an-error")
async def test_state_survives_between_calls_and_an_error_names_its_cell(tmp_path: Path) -> None:
    steps = (cells("x = 41"), cells("x + 1"), cells("y = 1", "1/0", "z = 1"), cells("y"), says("."))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("go")

        first, second, third, fourth = texts(session)
        assert (first, second, fourth) == ("(no output)", "42", "1")
        assert "ZeroDivisionError" in third
        assert third.endswith("Cell 2 of 3 failed. 1 did not run.")
        assert [result.is_error for result in results(session)] == [False, False, True, False]
        statuses = [cell["status"] for cell in details(session, 2)["cells"]]
        assert statuses == ["ok", "error", "pending"]


@pytest.mark.behaviour("tracebacks-start-at-user-code")
async def test_a_traceback_begins_with_the_code_of_the_cell(tmp_path: Path) -> None:
    steps = (cells("def half(n):\n    return n / 0\nhalf(4)"), says("."))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("go")

        (text,) = texts(session)
        frames = [line for line in text.splitlines() if line.lstrip().startswith("File ")]
        assert len(frames) == 2
        assert "line 3" in frames[0]
        assert "line 2, in half" in frames[1]


@pytest.mark.behaviour("tracebacks-start-at-user-code")
async def test_output_of_3_mb_is_complete_when_the_result_is_reported(tmp_path: Path) -> None:
    code = "import os\nfor n in range(30_000): print(f'{n:<99}')\nos.system('echo last')"
    async with session_of(tmp_path, cells(code), says(".")) as session:
        await session.prompt("go")

        (text,) = texts(session)
        path = Path(text.rpartition(": ")[2].rstrip("]"))
        lines = path.read_text().splitlines()
        assert [line.strip() for line in lines] == [*map(str, range(30_000)), "last", "0"]


@pytest.mark.full
@pytest.mark.behaviour("cell-timeout-interrupts")
async def test_a_timeout_interrupts_an_endless_loop_and_keeps_variables(tmp_path: Path) -> None:
    # The kernel is started before the short call: its limit covers the start, too.
    steps = (cells("x = 7"), cells("while True: pass", timeout=1), cells("x"), says("."))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("go")

        assert texts(session)[1].endswith("Command timed out after 1 seconds")
        assert texts(session)[2] == "7"
        assert details(session, 1)["cells"][0]["status"] == "interrupted"
        assert details(session, 1)["cancelled"] is True


async def test_an_abort_interrupts_the_cell_and_keeps_variables(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    code = f"x = 7\nwith open({str(begun)!r}, 'w') as file: file.write('x')\nwhile True: pass"
    steps = (cells(code, timeout=600), cells("x"), says("."))
    async with session_of(tmp_path, *steps) as session:
        run = asyncio.ensure_future(session.prompt("go"))
        await asyncio.to_thread(begun.read_text)
        await session.abort()
        await run
        await session.prompt("go on")

        assert texts(session)[-1] == "7"


@pytest.mark.behaviour("failed-cell-is-an-error")
async def test_a_dead_kernel_is_started_again_once(tmp_path: Path) -> None:
    die = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    steps = (cells(die), cells("1"), cells(die), cells(die), cells("2"), cells("3", reset=True))
    async with session_of(tmp_path, *steps, says(".")) as session:
        await session.prompt("go")

        first, second, _, fourth, fifth, sixth = texts(session)
        assert first == "The Python kernel died (signal 9); its variables are lost."
        assert (second, sixth) == ("1", "3")
        assert fourth.startswith("The Python kernel died")
        assert fifth == "The Python kernel has crashed repeatedly. Start a new one with reset."


@pytest.mark.behaviour("kernel-shutdown-is-complete")
async def test_keys_are_absent_and_input_fails(tmp_path: Path) -> None:
    code = "import os\nsorted(n for n in os.environ if 'KEY' in n or 'TOKEN' in n)"
    keys = {"OPENAI_API_KEY": "sk-1234567890", "PI_PYTHON_GATEWAY_TOKEN": "secret-token"}
    steps = (cells(code), cells("input('name? ')"), says("."))
    async with session_of(tmp_path, *steps, environ=keys) as session:
        await session.prompt("go")

        assert texts(session)[0] == "[]"
        assert texts(session)[1].startswith("[input() is not supported here")
        assert results(session)[1].is_error


async def test_a_png_is_an_image_and_markdown_is_preferred(tmp_path: Path) -> None:
    code = f"""
import base64
class Figure:
    def _repr_png_(self): return base64.b64decode({PNG!r})
    def _repr_markdown_(self): return "**figure**"
Figure()"""
    async with session_of(tmp_path, cells(code), says(".")) as session:
        await session.prompt("go")

        (result,) = results(session)
        assert texts(session) == ["**figure**"]
        assert [image.mime_type for image in result.content if isinstance(image, Image)] == [
            "image/png"
        ]


async def test_text_after_a_display_belongs_to_its_cell(tmp_path: Path) -> None:
    code = "for n in range(50):\n    display(n)\n    print('after', n)"
    async with session_of(tmp_path, cells(code), says(".")) as session:
        await session.prompt("go")

        assert texts(session) == ["\n".join(f"{n}\nafter {n}" for n in range(50))]


async def test_code_of_the_user_shares_the_kernel(tmp_path: Path) -> None:
    async with session_of(tmp_path, cells("x + y"), says(".")) as session:
        assert await session.extensions.handle_input("$ x = 40")
        assert await session.extensions.handle_input("$$ y = 2")
        await session.prompt("go")

        assert texts(session) == ["42"]
        messages = [m for m in session.messages if isinstance(m, CustomMessage)]
        assert len(messages) == 1
        assert "x = 40" in repr(messages[0].content)


async def test_per_call_mode_starts_a_fresh_kernel_for_each_call(tmp_path: Path) -> None:
    python = {"interpreter": sys.executable, "kernelMode": "per-call"}
    settings = {"eval": {"py": True}, "python": python}
    steps = (cells("x = 1", "x"), cells("x"), says("."))
    async with session_of(tmp_path, *steps, settings=settings) as session:
        await session.prompt("go")

        assert "NameError" in texts(session)[1]


@pytest.mark.parametrize(
    ("environ", "settings", "active"),
    [
        ({}, {}, {"read", "bash", "edit", "write"}),
        ({"PI_PY": "1"}, {}, {"read", "bash", "edit", "write", "python"}),
        ({"PI_PY": "py"}, {}, {"read", "edit", "write", "python"}),
        ({"PI_PY": "bash"}, {"eval": {"py": True}}, {"read", "bash", "edit", "write"}),
    ],
)
async def test_the_tool_is_off_unless_enabled(
    tmp_path: Path, environ: dict[str, str], settings: dict[str, Any], active: set[str]
) -> None:
    async with session_of(tmp_path, settings=settings, environ=environ) as session:
        assert set(session.active_tools) == active
        assert (session.extensions.input_mode("$ 1") is not None) is ("python" in active)


@pytest.mark.parametrize(
    ("variable", "setting", "enabled", "mode"),
    [
        ("", "", False, "bash-only"),
        ("", "", True, "both"),
        ("", "ipy-only", False, "ipy-only"),
        ("0", "both", True, "bash-only"),
        ("bash", "both", True, "bash-only"),
        ("false", "both", True, "bash-only"),
        ("1", "", False, "both"),
        ("true", "bash-only", False, "both"),
        ("mix", "", False, "both"),
        ("both", "", False, "both"),
        ("py", "", False, "ipy-only"),
    ],
)
def test_pi_py_selects_the_tool_mode(variable: str, setting: str, enabled: bool, mode: str) -> None:
    assert tool_mode(variable, setting, enabled=enabled) == mode


def test_the_interpreter_of_a_project_needs_trust(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(0o755)
    environ = {"PATH": f".{os.pathsep}{Path(sys.executable).parent}"}

    assert find_python(tmp_path, environ, allows_project=True) == Interpreter(
        path=str(python), venv=str(tmp_path / ".venv"), is_project=True
    )
    assert not find_python(tmp_path, environ, allows_project=False).is_project
    active = {**environ, "VIRTUAL_ENV": str(tmp_path / ".venv")}
    assert not find_python(tmp_path, active, allows_project=False).is_project
    with pytest.raises(NoInterpreter):
        find_python(tmp_path, {"PATH": "."}, allows_project=False)


def test_the_environment_of_a_kernel_is_filtered() -> None:
    environ = {"PATH": "/bin", "PI_X": "1", "PI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "A": "b"}

    made = kernel_environment(environ, Interpreter(path="/v/bin/python", venv="/v"))

    assert made == {
        "PI_X": "1",
        "PYTHONUNBUFFERED": "1",
        "VIRTUAL_ENV": "/v",
        "PATH": "/v/bin:/bin",
    }


async def test_a_kernel_receives_only_variables_that_commands_receive(tmp_path: Path) -> None:
    key = "sk-0123456789abcdef"
    environ = {"OPENAI_API_KEY": key, "PI_WORK": key, "NODE_ENV": key, "PI_X": "1"}
    code = f"import os; print(os.environ.get('PI_X'), [*os.environ.values()].count({key!r}))"
    seen = cells(code)
    async with session_of(tmp_path, seen, says("."), environ=environ) as session:
        await session.prompt("go")

        assert texts(session) == ["1 0"]


def test_html_is_converted_to_text_if_there_is_no_plain_text() -> None:
    html = {"text/html": "<p>a <b>b</b></p><ul><li>c</li></ul>"}

    assert display_text(html) == "a **b**\n\n- c"
    assert display_text({**html, "text/plain": "plain"}) == "plain"


@pytest.mark.behaviour("kernel-shutdown-is-complete")
@pytest.mark.parametrize("ends", ["", "; os._exit(3)"], ids=["reset", "crash"])
async def test_child_processes_of_a_kernel_are_ended_with_it(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "pid"
    code = (
        "import os, subprocess; child = subprocess.Popen(['sleep', '600']);"
        f" file = open({str(path)!r}, 'w'); print(child.pid, file=file, flush=True)"
    )
    steps = (cells(f"{code}{ends}"), cells("1", reset=True), says("."))
    async with session_of(tmp_path, *steps) as session:
        await session.prompt("go")

        assert texts(session)[1] == "1"
        assert not alive(int(path.read_text()))
