from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pi.ai import Context, UserMessage, compat
from pi.ai.testing import ScriptedProvider, says

HELLO = Context(messages=(UserMessage(content="hello"),))


async def test_the_module_level_functions_use_one_shared_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    provider = ScriptedProvider(says("one"), says("two"))
    try:
        compat.register_provider(provider)
        model = compat.get_model("faux", "faux")
        assert model is not None

        assert (await compat.complete(model, HELLO)).text == "one"
        assert (await compat.complete_simple(model, HELLO)).text == "two"
        assert "anthropic" in compat.get_providers()
        assert compat.get_models("faux") == (model,)
    finally:
        await compat.reset()

    assert compat.get_model("faux", "faux") is None
    await compat.reset()


def test_the_old_names_of_the_package_resolve_here_with_one_warning() -> None:
    script = (
        "import pi.ai.collection\n"  # no module of the package hides an old name
        "from pi.ai import get_model, stream, EventStream\n"
        "from pi.ai import complete_simple, compat\n"
        "assert (get_model, stream, complete_simple)"
        " == (compat.get_model, compat.stream, compat.complete_simple)\n"
        "from pi.ai.event_stream import EventStream as same\n"
        "assert EventStream is same\n"
        "from pi.ai import nothing\n"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    lines = [line for line in ran.stderr.splitlines() if "Warning" in line]
    assert lines == [
        "<string>:2: FutureWarning: get_model of pi.ai is now in pi.ai.compat;"
        " better use create_models"
    ]
    assert "ImportError: cannot import name 'nothing' from 'pi.ai'" in ran.stderr
