from __future__ import annotations

import json
from pathlib import Path

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import create_models
from pi.ai.messages import Context, UserMessage
from pi.ai.request import StreamOptions
from tests.ai.loopback import site


async def test_a_chat_model_of_azure_is_asked_at_the_users_own_resource(tmp_path: Path) -> None:
    async with site({}) as server:
        models = create_models(
            environ={
                "AZURE_OPENAI_API_KEY": "KEY",
                "AZURE_OPENAI_BASE_URL": f"{server.url}/openai/v1/",
                "AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "deepseek-v4-pro=mine",
            },
            storage=AuthStorage(tmp_path / "auth.json"),
            folder=tmp_path,
        )
        model = models.get_model("azure", "deepseek-v4-pro")
        assert model is not None
        assert model.api == "openai-completions"
        context = Context(messages=(UserMessage(content="hi"),))
        await models.complete(model, context, StreamOptions(max_tokens=10))
        await models.close()

    [(method, path, headers, body)] = server.asked
    assert method == "POST"
    # As recorded from version 1.5.2 of the original.
    assert path == "/openai/v1/chat/completions"
    assert headers["authorization"] == "Bearer KEY"
    assert "api-key" not in headers
    assert json.loads(body)["model"] == "mine"
