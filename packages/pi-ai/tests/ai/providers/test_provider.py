from __future__ import annotations

import msgspec

from pi.ai.provider import Provider


def test_a_provider_row_can_be_encoded_and_decoded_as_json() -> None:
    row = Provider(id="x", name="X", base_url="https://x.test/v1", key_variables=("X_API_KEY",))

    assert msgspec.json.decode(msgspec.json.encode(row), type=Provider) == row
    assert row.needs_key
