from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import ProviderError
from pi.ai.images.formats import SHAPES
from tests.sampling import sampled

KEYS = (
    "data b64_json candidates content parts inlineData mimeType text choices message images "
    "image_url url usage usageMetadata promptFeedback"
)
anything = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
json_values = st.recursive(
    anything,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=2)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, min_size=2, max_size=6)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("api", sampled(sorted(SHAPES), 1))
@given(body=st.dictionaries(st.sampled_from(KEYS.split()), json_values, min_size=3))
def test_an_unexpected_response_raises_nothing_but_a_provider_error(
    api: str, body: dict[str, object]
) -> None:
    try:
        SHAPES[api].decode(body)
    except ProviderError:
        return
