from pi.ai.images.catalog import IMAGE_MODELS
from pi.ai.images.formats import SHAPES
from pi.ai.providers.rows import BUILT_IN


def test_every_row_names_a_known_shape_and_a_known_provider() -> None:
    providers = {row.id for row in BUILT_IN}

    assert {model.api for model in IMAGE_MODELS} == set(SHAPES)
    assert {model.provider for model in IMAGE_MODELS} <= providers
