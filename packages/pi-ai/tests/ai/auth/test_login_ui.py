from __future__ import annotations

import msgspec

from pi.ai.auth.login import AuthUrl, DeviceCode, LoginChoice, LoginInfo, LoginProgress, LoginPrompt


def test_notices_and_prompts_have_the_names_of_the_contract() -> None:
    notices = (
        LoginInfo(message="m"),
        AuthUrl(url="u", instructions="i"),
        DeviceCode(user_code="c", url="u", expires_in=9),
        LoginProgress(message="m"),
    )
    prompt = LoginPrompt(kind="select", message="m", choices=(LoginChoice(id="a", label="A"),))

    assert [msgspec.to_builtins(notice)["kind"] for notice in notices] == [
        "info",
        "auth_url",
        "device_code",
        "progress",
    ]
    assert msgspec.json.encode(prompt) == (
        b'{"kind":"select","message":"m","placeholder":"","choices":[{"id":"a","label":"A"}]}'
    )
