"""Values of settings as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.settings.parsing import InvalidValue, parse_value
from pi.coding.settings.setting import Setting
from pi.coding.settings.table import SETTINGS
from pi.modes.interactive.dialogs.settings.values import (
    find_choice,
    for_editing,
    format_scalar,
    format_value,
)

ROWS = {setting.name: setting for setting in SETTINGS}


def test_defaults_are_shown_where_nothing_is_set() -> None:
    assert format_value(ROWS["quietStartup"], None) == "off"
    assert format_value(ROWS["httpProxy"], None) == "(not set)"
    assert format_value(ROWS["skills"], ["a"]) == '["a"]'
    assert format_value(ROWS["outputPad"], 0) == "0"


def test_numbers_out_of_range_are_rejected() -> None:
    row = ROWS["autocompleteMaxVisible"]
    assert parse_value(row, " 7 ") == 7
    for text in ("2", "21", "x", "-3", "1.5"):
        with pytest.raises(InvalidValue, match="at least 3 and at most 20"):
            parse_value(row, text)


def test_lists_are_json_or_words_between_commas() -> None:
    row = ROWS["enabledModels"]
    assert parse_value(row, "anthropic/*, gpt") == ["anthropic/*", "gpt"]
    assert parse_value(row, '["a,b"]') == ["a,b"]
    for text in ("[1]", "[x"):
        with pytest.raises(InvalidValue):
            parse_value(row, text)


def test_an_empty_text_is_parsed_as_unset() -> None:
    assert [parse_value(row, "  ") for row in SETTINGS if not row.choices] == [None] * len(
        [row for row in SETTINGS if not row.choices]
    )


@given(st.sampled_from([row for row in SETTINGS if row.choices]), st.data())
def test_every_choice_is_found_by_its_shown_text(row: Setting, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(row.choices))
    assert find_choice(row, format_scalar(value)) == value


@given(st.dictionaries(st.text(), st.integers()))
def test_a_value_shown_for_editing_is_parsed_to_the_same_value(value: dict[str, int]) -> None:
    row = ROWS["modelThinkingLevels"]
    assert parse_value(row, for_editing(row, value)) == value
