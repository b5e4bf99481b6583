from __future__ import annotations

import msgspec

from pi.ai.provider import Provider


def test_a_provider_is_one_row_of_data() -> None:
    row = Provider(id="x", name="X", base_url="https://x.test/v1", key_variables=("X_API_KEY",))

    assert msgspec.json.decode(msgspec.json.encode(row), type=Provider) == row
    assert row.needs_key
