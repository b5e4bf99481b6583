from __future__ import annotations

import re
from pathlib import Path

from pi.ai.models.custom_schema import PROVIDER_FIELDS
from pi.ai.models.model import ImageLimits, ImageResize, InputLimits, Model, ModelCost, PriceTier
from pi.ai.models.model import PromptCache as Cache


def test_every_field_of_models_json_is_on_its_page(root: Path) -> None:
    """A field that is added to the code is added to the page too."""
    page = (root / "docs/reference/models-json.md").read_text()
    named = set(re.findall(r"`(\w+)`", page))
    records = (Model, ModelCost, PriceTier, InputLimits, ImageLimits, ImageResize, Cache)
    fields = {name for record in records for name in record.__struct_encode_fields__}

    assert set(PROVIDER_FIELDS) | fields <= named
