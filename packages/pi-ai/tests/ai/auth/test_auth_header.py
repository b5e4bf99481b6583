from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import create_models
from pi.ai.models.custom import CustomModels, CustomProvider


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_key_of_a_provider_can_also_be_sent_as_a_bearer_token(
    wanted: bool, tmp_path: Path
) -> None:
    own = CustomProvider(
        id="mine",
        base_url="http://127.0.0.1:9",
        api="anthropic-messages",
        api_key="KEY",
        auth_header=wanted,
        headers={"authorization": "mine", "X-Team": "a"},
        models=({"id": "m"},),
    )
    models = create_models(
        environ={},
        storage=AuthStorage(tmp_path / "auth.json"),
        folder=tmp_path,
        custom=CustomModels(providers=(own,)),
    )

    access = await models.access("mine")
    await models.close()

    assert access is not None
    assert access.api_key == "KEY"
    assert access.headers == {
        "X-Team": "a",
        **({"Authorization": "Bearer KEY"} if wanted else {"authorization": "mine"}),
    }
