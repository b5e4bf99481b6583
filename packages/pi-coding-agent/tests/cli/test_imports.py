"""Modules that a start of pi must not load: each one makes it slower."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.modules import inside
from tests.sampling import sampled

PROBE = """
import json, sys
from pi.cli.main import main
code = main(sys.argv[1:])
json.dump(sorted(sys.modules), sys.stderr)
sys.exit(code)
"""

NEVER = (
    "PIL",
    "dataclasses",
    "difflib",
    "email",
    "encodings.idna",
    "importlib.metadata",
    "jiter",
    "pi.agent.tools.coercion",
    "pi.agent.compaction.prepare",
    "pi.agent.compaction.summarise",
    "pi.agent.tools.signatures",
    "pi.agent.tool_calls",
    "pi.agent.tools.define",
    "pi.ai.auth.oauth",
    "pi.ai.auth.refresh",
    "pi.ai.auth.sign_in",
    "pi.base.fuzzy",
    "pi.base.processes",
    "pi.batteries",
    "pi.cli.timing",
    "pi.coding.compaction.execution",
    "pi.coding.compaction.strategies",
    "pi.coding.export",
    "pi.coding.extension_host.api.api",
    "pi.coding.extension_host.host",
    "pi.coding.packages.discovery",
    "pi.coding.runtime.session.switching",
    "pi.coding.runtime.session.tree",
    "pi.coding.session.catalog",
    "pi.coding.session.file_operations",
    "pi.coding.shell.locating",
    "pi.coding.shell.output",
    "pi.coding.tools.bash",
    "pi.coding.tools.diff",
    "pi.coding.tools.edit",
    "pi.coding.tools.file_tools",
    "pi.coding.tools.local_env",
    "pi.coding.tools.search_tools",
    "pi.tui",
    "pygments",
    "pyromark",
    "shlex",
    "shutil",
    "tempfile",
    "unicodedata",
    "wcwidth",
    "yaml12",
    "zlib",
)
"""Packages count with everything inside."""


def loaded(cli: Program, *arguments: str, stdin: str = "") -> list[str]:
    """The modules that are loaded when the program ends; it must succeed."""
    finished = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=cli.cwd,
        env=cli.variables,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    modules: list[str] = json.loads(finished.stderr)
    return modules


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    sampled(
        [
            (("-p", "hi"), ""),
            (("--mode", "json", "-p", "hi"), ""),
            (("--mode", "rpc"), '{"type": "get_state"}\n'),
        ],
        keep=1,
    ),
)
def test_a_headless_start_does_not_load_unneeded_modules(
    cli: Program, arguments: tuple[str, ...], stdin: str
) -> None:
    model = ("--model", "mock/echo-1")
    loaded(cli, *model, *arguments, stdin=stdin)  # the first start of all makes indexes

    modules = loaded(cli, *model, *arguments, stdin=stdin)

    assert "pi.coding.runtime.assemble" in modules
    assert [module for module in modules if inside(module, NEVER)] == []


@pytest.mark.full
def test_a_session_without_requests_loads_no_http_client(cli: Program) -> None:
    modules = loaded(cli, "--mode", "rpc", "--model", "mock/echo-1", stdin='{"type":"get_state"}\n')

    assert [module for module in modules if inside(module, ("pi.ai.http", "pi.ai.wire"))] == []


def test_opening_a_new_session_does_not_load_the_session_catalog() -> None:
    code = "import json, sys, pi.cli.opening; json.dump(sorted(sys.modules), sys.stdout)"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=TIMEOUT_SECONDS
    )

    deferred = ("pi.coding.session.catalog", "pi.coding.session.lookup")
    assert [module for module in json.loads(child.stdout) if inside(module, deferred)] == []


@pytest.mark.full
def test_the_first_frame_needs_no_agent_no_model_and_no_session() -> None:
    code = "import json, sys, pi.cli.interactive; json.dump(sorted(sys.modules), sys.stdout)"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=TIMEOUT_SECONDS
    )

    modules = json.loads(child.stdout)

    behind = (
        "PIL",
        "pi.agent",
        "pi.ai",
        "pi.base.fuzzy",
        "pi.coding",
        "pi.tui.widgets.markdown",
        "pi.tui.widgets.settings_list",
        "pygments",
        "pyromark",
        "wcwidth",
    )
    assert "pi.modes.interactive.app" in modules
    assert [module for module in modules if inside(module, behind)] == []
