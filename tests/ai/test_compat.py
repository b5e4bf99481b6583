from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai import Context, UserMessage, compat
from pi.testing import ScriptedProvider, says

HELLO = Context(messages=(UserMessage(content="hello"),))


async def test_the_flat_functions_work_on_one_shared_collection(
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
