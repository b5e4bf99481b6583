"""Defaults of the settings file."""

from __future__ import annotations

import msgspec

from pi.coding.settings.table import SETTINGS
from pi.coding.settings.values import GLOBAL_ONLY, Values


def test_the_defaults_can_be_written_and_read_back() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Values()), type=Values) == Values()


def test_global_only_settings_exist() -> None:
    of_core = {field.encode_name for field in msgspec.structs.fields(Values)}
    of_batteries = {setting.name.partition(".")[0] for setting in SETTINGS}

    assert of_core | of_batteries >= GLOBAL_ONLY
