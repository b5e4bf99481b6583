from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Call, host_of, is_within, read_flags
from pi.base.records import Record


class Flags(Record):
    likes_tools: bool = False
    likes_pictures: bool = False


def model(compat: Json | None = None, base_url: str = "") -> Model:
    return Model(id="m", name="M", api="a", provider="p", base_url=base_url, compat=compat or {})


def test_flags_of_the_model_override_known_flags_and_those_the_defaults() -> None:
    known = {"likesTools": True, "likesPictures": True}

    compat: Json = {"likesTools": False, "likesPictures": None, "flagOfAnotherWire": 1}
    assert read_flags(model(compat), Flags, known) == Flags(likes_pictures=True)
    assert read_flags(model(), Flags, known) == Flags(likes_tools=True, likes_pictures=True)
    assert read_flags(model(), Flags) == Flags()


def test_a_flag_of_the_wrong_type_raises_with_model_and_flag() -> None:
    with pytest.raises(BadRequest, match=r"flags of model 'm' cannot be read.*likesTools") as found:
        read_flags(model({"likesTools": "yes"}), Flags)

    assert "models.json" in found.value.hint


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("https://API.x.test:8443/v1", "api.x.test"),
        ("http://[::1]:1/", "::1"),
        ("http://[::1", ""),
        ("", ""),
    ],
)
def test_the_host_is_read_from_the_base_url(base_url: str, host: str) -> None:
    assert host_of(Call(model=model(base_url=base_url), messages=())) == host


def test_a_domain_contains_itself_and_its_subdomains() -> None:
    hosts = ("x.test", "eu.x.test", "notx.test", "x.test.evil", "")

    assert [is_within(host, "x.test") for host in hosts] == [True, True, False, False, False]
