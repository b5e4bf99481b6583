from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.auth.errors import LoginCancelled, LoginFailed
from pi.ai.auth.login import AuthUrl, LoginPrompt
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.browser import LOGIN_SECONDS, browser_login, page_url, read_pasted
from pi.ai.auth.oauth.loopback import CallbackListener, ExpectedIssuer
from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest
from pi.base.clock import SystemClock
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser

CLOCK = SystemClock()


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    return LoginSettings(
        client_id="client",
        scope="a b",
        authorize_url=server.url("/authorize"),
        authorize_params={"code": "true"},
        token_url=server.url("/token"),
        token_state=True,
    )


async def test_the_callback_code_is_exchanged_for_tokens_with_the_pkce_verifier(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    ui = ScriptedUI(browser=obedient_browser(http))

    tokens = await browser_login(ui, http, CLOCK, settings)

    assert tokens.access_token == "access-1"
    asked, traded = (visit.fields for visit in server.visits)
    assert asked == {
        "code": "true",
        "client_id": "client",
        "response_type": "code",
        "redirect_uri": asked["redirect_uri"],
        "scope": "a b",
        "code_challenge": asked["code_challenge"],
        "code_challenge_method": "S256",
        "state": asked["state"],
    }
    assert asked["redirect_uri"].startswith("http://localhost:")
    assert traded == {
        "client_id": "client",
        "grant_type": "authorization_code",
        "code": "code-1",
        "redirect_uri": asked["redirect_uri"],
        "code_verifier": traded["code_verifier"],
        "state": asked["state"],
    }
    assert traded["code_verifier"] != asked["state"]


@pytest.mark.behaviour("callback-listener-is-strict")
async def test_a_request_with_a_wrong_state_does_not_end_the_login(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    async def browse(url: str) -> None:
        target = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        evil = await http.request(HttpRequest(url=f"{target}?code=evil&state=guessed"))
        assert evil.status == 400
        await obedient_browser(http)(url)

    tokens = await browser_login(ScriptedUI(browser=browse), http, CLOCK, settings)

    assert tokens.access_token == "access-1"
    assert server.visits_to("/token")[0].fields["code"] == "code-1"


async def test_the_address_can_be_pasted_from_a_browser_on_another_machine(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    pastes = ["nonsense with spaces", "http://localhost/?code=x&state=other"]

    async def browse(url: str) -> str:
        if pastes:
            return pastes.pop(0)
        page = await http.request(HttpRequest(url=url))
        return page.headers.get("location")

    ui = ScriptedUI(browser=browse)
    tokens = await browser_login(ui, http, CLOCK, settings)

    assert tokens.access_token == "access-1"
    assert ui.shown == [
        "There is no code in it. Paste the whole address, or the code that was shown.",
        "This belongs to another or older login. Paste the address of this one.",
    ]
    assert [prompt.kind for prompt in ui.prompts] == ["manual_code"] * 3


async def test_a_code_can_be_pasted_when_the_callback_port_is_in_use(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    async def browse(url: str) -> str:
        page = await http.request(HttpRequest(url=url))
        query = parse_qs(urlsplit(page.headers.get("location")).query)
        return f"{query['code'][0]}#{query['state'][0]}"

    async with CallbackListener(path="/", state="s") as taken:
        settings = LoginSettings(
            authorize_url=settings.authorize_url,
            token_url=settings.token_url,
            redirect_port=taken._port,
        )
        ui = ScriptedUI(browser=browse)
        tokens = await browser_login(ui, http, CLOCK, settings)

    assert tokens.access_token == "access-1"
    assert ui.shown == [
        f"http://localhost:{taken._port}/callback cannot be used: another program has it."
    ]
    (shown,) = (notice for notice in ui.notices if isinstance(notice, AuthUrl))
    assert "then paste the address" in shown.instructions


async def test_cancelling_the_prompt_ends_the_login(
    http: HttpClient, settings: LoginSettings
) -> None:
    class Reluctant(ScriptedUI):
        async def ask(self, prompt: LoginPrompt) -> str:
            raise LoginCancelled("Never mind.")

    with pytest.raises(LoginCancelled):
        await browser_login(Reluctant(), http, CLOCK, settings)


async def test_a_login_times_out(http: HttpClient, settings: LoginSettings) -> None:
    clock, ui = FakeClock(), ScriptedUI()
    waiting = asyncio.create_task(browser_login(ui, http, clock, settings))
    async with asyncio.timeout(30):
        await ui.prompted.wait()

    await clock.advance(LOGIN_SECONDS)

    with pytest.raises(LoginFailed, match="Login timed out"):
        await waiting


async def test_cancelling_closes_the_listener(http: HttpClient, settings: LoginSettings) -> None:
    ui = ScriptedUI()
    waiting = asyncio.create_task(browser_login(ui, http, CLOCK, settings))
    async with asyncio.timeout(30):
        await ui.prompted.wait()
    (shown,) = (notice for notice in ui.notices if isinstance(notice, AuthUrl))
    port = urlsplit(parse_qs(urlsplit(shown.url).query)["redirect_uri"][0]).port

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("http://localhost:1455/auth/callback?code=abc&state=s", "abc"),
        ("  http://localhost:1455/cb?state=s&code=a%2Bb  ", "a+b"),
        ("?code=abc&state=s", "abc"),
        ("code=abc&state=s", "abc"),
        ("abc#s", "abc"),
        ("abc", "abc"),
        ("http://localhost/?code=abc", "abc"),
        ("abc#t", ""),
        ("http://localhost/?code=abc&state=t", ""),
        ("http://localhost/?error=access_denied&state=s", ""),
        ("http://localhost/", ""),
        ("two words", ""),
        ("", ""),
    ],
)
def test_a_code_is_read_from_pasted_text(text: str, code: str) -> None:
    found, problem = read_pasted(text, "s")

    assert (found, bool(problem)) == (code, not code)


@pytest.mark.parametrize(
    ("text", "is_required", "is_accepted"),
    [
        ("http://localhost/?code=abc&iss=https%3A%2F%2Fa", True, True),
        ("http://localhost/?code=abc&iss=https%3A%2F%2Fb", True, False),
        ("http://localhost/?code=abc&iss=https%3A%2F%2Fb", False, False),
        ("http://localhost/?code=abc", True, False),
        ("http://localhost/?code=abc", False, True),
        ("abc#s", True, False),
        ("abc#s", False, True),
    ],
)
def test_a_pasted_url_must_contain_the_expected_issuer(
    text: str, *, is_required: bool, is_accepted: bool
) -> None:
    issuer = ExpectedIssuer(name="https://a", is_required=is_required)

    code, problem = read_pasted(text, "s", issuer)

    assert (code == "abc", "https://a" in problem) == (is_accepted, not is_accepted)


@given(st.text() | st.text().map(lambda text: f"http://[{text}?code={text}"))
def test_any_pasted_text_results_in_either_a_code_or_a_problem(text: str) -> None:
    code, problem = read_pasted(text, "s")

    assert bool(code) is not bool(problem)


def test_parameters_are_appended_to_the_existing_query_of_a_login_page() -> None:
    assert page_url("https://a/b?c=d", {"e": "f g", "x": ""}) == "https://a/b?c=d&e=f+g"
    assert page_url("https://a/b", {"e": "f"}) == "https://a/b?e=f"
