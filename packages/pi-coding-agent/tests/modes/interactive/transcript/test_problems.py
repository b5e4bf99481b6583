from __future__ import annotations

import pytest

from pi.modes.interactive.transcript.provider_errors import describe_provider_error


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        ('429: {"message":"Slow down","type":"rate_limit"}', "Slow down (HTTP 429)"),
        (
            '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "Overloaded (HTTP 529)",
        ),
        ('500: {"error":"it broke"}', "it broke (HTTP 500)"),
        (
            'The summary failed: 429: {"message":"Slow down"}',
            "The summary failed: Slow down (HTTP 429)",
        ),
        ('422: {"detail":"no such field"}', "no such field (HTTP 422)"),
        (
            '401: {"message":"Incorrect API key"}',
            "Incorrect API key (HTTP 401)\nCheck the API key; /login stores another one.",
        ),
        (
            "401: a web page titled 'Unauthorized'",
            "The key was refused (HTTP 401): a web page titled 'Unauthorized'\n"
            "Check the API key; /login stores another one.",
        ),
        ("529: a web page titled 'Error response'", "Overloaded (HTTP 529)"),
        ("502: a web page without a title", "Bad gateway (HTTP 502)"),
        ("503: the server gave no reason", "Service unavailable (HTTP 503)"),
        (
            "403: a web page titled 'Attention Required!'",
            "Access was refused (HTTP 403): a web page titled 'Attention Required!'\n"
            "Check what the key may do; a firewall or a blocked region answers 403 too.",
        ),
        ("418: a web page titled 'Teapot'", "418: a web page titled 'Teapot'"),
        ("404: {}", "Not found (HTTP 404)\nCheck the model's name and the provider's base URL."),
        (
            'The summary failed: 429: {"message":"You exceeded your current quota"}',
            "The summary failed: You exceeded your current quota (HTTP 429)\n"
            "Check the plan and the billing of this account, or choose another model.",
        ),
    ],
)
def test_a_provider_error_is_shown_without_its_json_and_with_advice(
    error: str, reported: str
) -> None:
    assert describe_provider_error(error) == reported


@pytest.mark.parametrize(
    "error",
    [
        '500: {"message": torn',
        '500: {"code": 7}',
        '500: {"message": ""}',
        '500: {"error": {"message": 7}}',
        pytest.param("500: " + '{"error":' * 9_000 + "1" + "}" * 9_000, id="far too deep"),
    ],
)
def test_json_without_a_message_is_named_by_its_status(error: str) -> None:
    assert describe_provider_error(error) == "Server error (HTTP 500)"


def test_the_beginning_of_a_long_message_is_shown() -> None:
    assert describe_provider_error('500: {"message":"It is…') == "It is… (HTTP 500)"


@pytest.mark.parametrize(
    "error",
    [
        "Stream ended without finish_reason",
        "500: <html>Bad gateway</html>",
        'item 42429: {"message": "no status"}',
    ],
)
def test_an_error_of_another_form_is_shown_unchanged(error: str) -> None:
    assert describe_provider_error(error) == error
