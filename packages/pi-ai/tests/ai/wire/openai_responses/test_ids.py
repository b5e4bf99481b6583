from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.wire.openai_responses.identifiers import LONGEST, CallIds, item_id, short_key
from tests.ai.wire.openai_responses.talk import model, own

FOREIGN = own(model="other")
LONG = "x" * 300


@pytest.mark.behaviour("responses-ids-and-lost-state")
@given(st.text(st.characters(), max_size=200))
def test_keys_are_kept_or_hashed_to_at_most_64_characters(text: str) -> None:
    key = short_key(text)

    assert key == text or (len(text) > LONGEST and re.fullmatch(r"[0-9a-f]{64}", key))
    assert key == short_key(text)


@pytest.mark.behaviour("responses-replay-is-cleaned")
@pytest.mark.parametrize(
    ("identifier", "kind"),
    [("msg_1", "fc"), ("rs_1", "msg"), (LONG, "fc"), ("fc_a/b", "fc"), ("", "msg"), ("fc_", "fc")],
)
def test_foreign_item_ids_are_hashed_to_a_valid_form(identifier: str, kind: str) -> None:
    made = item_id(identifier, kind)

    assert re.fullmatch(rf"{kind}_[0-9a-f]{{32}}", made)
    assert made == item_id(identifier, kind)


@pytest.mark.parametrize(("identifier", "kind"), [("fc_1", "fc"), ("msg_0a-B", "msg")])
def test_valid_item_ids_stay_as_they_are(identifier: str, kind: str) -> None:
    assert item_id(identifier, kind) == identifier


def test_own_calls_keep_both_ids_and_foreign_calls_get_one() -> None:
    ids = CallIds(model())

    assert ids("call_1|fc_1", own()) == "call_1|fc_1"
    assert ids("call_A|fc_B", FOREIGN) == "call_A_fc_B"


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_call_ids_are_never_repeated() -> None:
    ids = CallIds(model())

    given = [ids(identifier, own()) for identifier in ("c|fc_1", "c|fc_1", "c|fc_2", "", "")]

    assert given == ["c|fc_1", "c_2", "c_3|fc_2", "call", "call_2"]


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_a_call_id_that_is_too_long_is_hashed() -> None:
    made = CallIds(model())(f"{LONG}|fc_1", own())

    assert re.fullmatch(r"call_[0-9a-f]{32}\|fc_1", made)


@pytest.mark.behaviour("tool-call-ids-are-valid")
@given(st.lists(st.tuples(st.text(max_size=90), st.booleans()), max_size=12))
def test_call_ids_are_unique_non_empty_short_and_of_the_alphabet(
    calls: list[tuple[str, bool]],
) -> None:
    ids = CallIds(model())

    made = [ids(identifier, own() if ours else FOREIGN) for identifier, ours in calls]

    call_ids = [identifier.partition("|")[0] for identifier in made]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", identifier) for identifier in call_ids)
    assert len(set(call_ids)) == len(calls)
