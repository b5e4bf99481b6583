from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.models.model import Model
from pi.coding.models.registry import ResolvedModel, find_model
from pi.coding.models.roles import (
    RoleReference,
    RoleSettings,
    next_role,
    parse_role,
    resolve_role,
    role_overrides,
)


def model(name: str, *, sees: bool = False) -> Model:
    return Model(
        id=name, name=name, api="a", provider="p", reasoning=True,
        input=("text", "image") if sees else ("text",),
    )  # fmt: skip


BIG, SMALL, EYES, HERE = model("big"), model("small"), model("eyes", sees=True), model("here")
MODELS = (BIG, SMALL, EYES, HERE)
SESSION = ResolvedModel(model=HERE, thinking="medium")


def find(pattern: str) -> ResolvedModel | None:
    return find_model(pattern, MODELS, usable=lambda provider: True)


def names(role: str, settings: RoleSettings, **options: object) -> list[str]:
    answer = resolve_role(role, settings, find, current=SESSION, **options)  # type: ignore[arg-type]
    return [f"{role_model.model.id}:{role_model.thinking}" for role_model in answer.models]


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("@smol", RoleReference(role="smol")),
        ("pi/plan", RoleReference(role="plan")),
        ("@slow:high", RoleReference(role="slow", thinking="high")),
        ("pi/slow:inherit", RoleReference(role="slow")),
        (" @my-role ", RoleReference(role="my-role")),
        ("smol", None),
        ("p/big", None),
        ("@smol:hot", None),
        ("@", None),
        ("pi/", None),
    ],
)
def test_a_role_reference_starts_with_an_at_sign_or_pi(
    text: str, reference: RoleReference | None
) -> None:
    assert parse_role(text) == reference


def test_a_role_has_its_own_model_and_falls_back_to_that_of_the_session() -> None:
    settings = RoleSettings(roles={"smol": "small:low"})

    assert names("smol", settings) == ["small:low", "here:medium"]
    assert names("smol", settings, thinking="high") == ["small:high", "here:high"]


def test_a_role_without_a_model_uses_its_fallback_then_the_default() -> None:
    settings = RoleSettings(roles={"smol": "small", "default": "big:high"})

    assert names("tiny", settings) == ["small:None", "big:high", "here:medium"]
    assert names("task", settings) == ["big:high", "here:medium"]
    assert names("advisor", RoleSettings()) == ["here:medium"]


def test_role_references_are_followed_and_the_outer_level_wins() -> None:
    settings = RoleSettings(
        roles={"plan": "@slow:low", "slow": "pi/mine:high", "mine": "big:minimal"}
    )

    assert names("plan", settings)[0] == "big:low"
    assert names("slow", settings)[0] == "big:high"
    answer = resolve_role("plan", settings, find)
    assert answer.models[0].via == ("plan", "slow", "mine")


def test_several_patterns_are_candidates_in_order() -> None:
    assert names("smol", RoleSettings(roles={"smol": "nothing, small:low ,big"})) == [
        "small:low",
        "big:None",
        "here:medium",
    ]
    assert names("smol", RoleSettings(roles={"smol": ["big", "small"]}))[:2] == [
        "big:None",
        "small:None",
    ]


def test_unknown_patterns_are_reported_so_that_a_provider_can_be_queried() -> None:
    answer = resolve_role("smol", RoleSettings(roles={"smol": "ollama/q, small"}), find)

    assert answer.unknown == ("ollama/q",)
    assert [role_model.model.id for role_model in answer.models] == ["small"]


def test_circular_and_unknown_roles_are_reported() -> None:
    settings = RoleSettings(roles={"a": "@b", "b": "@a"})

    answer = resolve_role("a", settings, find, current=SESSION)

    assert answer.problem == "The roles refer to each other: a → b → a."
    assert [role_model.model.id for role_model in answer.models] == ["here"]
    assert resolve_role("nope", RoleSettings(), find).problem == "There is no role 'nope'."


def test_the_vision_role_uses_only_models_with_image_input() -> None:
    settings = RoleSettings(roles={"vision": "big, eyes"})

    assert names("vision", settings) == ["eyes:None"]
    assert names("vision", RoleSettings()) == []


def test_a_flag_wins_over_a_variable_and_both_over_the_settings() -> None:
    environ = {"PI_SMOL_MODEL": "big", "PI_PLAN_MODEL": "big", "PI_SLOW_MODEL": ""}
    overrides = role_overrides({"smol": "eyes", "slow": ""}, environ)
    settings = RoleSettings(roles={"smol": "small", "slow": "small"}, overrides=overrides)

    assert overrides == {"smol": "eyes", "plan": "big"}
    assert names("smol", settings)[0] == "eyes:None"
    assert names("slow", settings)[0] == "small:None"


def test_cycling_goes_through_the_order_and_keeps_levels() -> None:
    settings = RoleSettings(
        roles={"smol": "small:low", "slow": "big:high", "plan": "gone"},
        cycle_order=("smol", "default", "slow", "advisor", "plan"),
    )

    seen, role = [], "default"
    for _ in range(4):
        chosen = next_role(settings, role, find, session=SESSION)
        assert chosen is not None
        role = chosen.role
        seen.append(f"{role}={chosen.model.id}:{chosen.thinking}")

    assert seen == ["slow=big:high", "plan=big:high", "smol=small:low", "default=here:medium"]
    back = next_role(settings, "smol", find, step=-1, session=SESSION)
    assert back is not None
    assert back.role == "plan"
    assert next_role(RoleSettings(), "default", find, session=SESSION) is None


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "smol", "slow", "default"]),
        st.sampled_from(["@a", "@b:low", "pi/smol", "@slow", "@default", "big", "zzz", "", ","]),
    ),
    st.sampled_from(["a", "b", "smol", "default", "vision", "x"]),
)
def test_resolution_of_any_role_settings_terminates(roles: dict[str, str], role: str) -> None:
    answer = resolve_role(role, RoleSettings(roles=roles), find, current=SESSION)

    assert answer.models or answer.problem or role == "vision"
