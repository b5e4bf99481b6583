from __future__ import annotations

import pytest

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Call, StreamOptions, user_id

MODEL = Model(id="m", name="M", api="a", provider="p")


@pytest.mark.parametrize(
    ("metadata", "user"),
    [(None, None), ({}, None), ({"user_id": "u", "x": 1}, "u"), ({"user_id": 7}, None)],
)
def test_the_user_id_is_read_from_the_metadata_of_the_caller(
    metadata: Json | None, user: str | None
) -> None:
    call = Call(model=MODEL, messages=(), options=StreamOptions(metadata=metadata))

    assert user_id(call) == user
