from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.config_values import used_secrets
from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage
from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.contributions.credentials import AuthUnavailable
from pi.extension import (
    Access,
    AuthenticationFailed,
    ExtensionAPI,
    ExtensionError,
    LoginCancelled,
    OAuthClient,
    OAuthConfig,
    StoredCredential,
    replace,
)
from tests.ai.auth.authorization_server import AuthorizationServer, authorization_server
from tests.ai.auth.scripted_ui import ScriptedUI, never, obedient_browser
from tests.coding.extension_host.extension_session import FakeUI, extension_session


async def test_a_stored_key_takes_precedence_over_the_environment(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis
        assert await pi.auth.get("search", env=("NOPE", "LANG")) == "C.UTF-8"
        assert await pi.auth.get("search") is None

        await pi.auth.set("search", "$LANG")
        assert await pi.auth.get("search", env=("HOME",)) == "C.UTF-8"
        await pi.auth.set("search", "literal")
        assert await pi.auth.get("search") == "literal"


async def test_a_source_takes_precedence_over_the_store_until_it_is_removed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis
        await pi.auth.set("search", "stored")
        source = pi.auth.add_source(lambda name: f"vault/{name}")
        first = await pi.auth.get("search")
        source.remove()

        assert (first, await pi.auth.get("search")) == ("vault/search", "stored")


async def test_a_source_makes_models_available_before_one_is_chosen(tmp_path: Path) -> None:
    def vault(pi: ExtensionAPI) -> None:
        pi.auth.add_source(lambda name: "k", names=["anthropic"])

    async with extension_session(tmp_path, vault, model=None) as hosted:
        access = await hosted.fixture.registry.models.access("anthropic")

        assert access is not None
        assert access.api_key == "k"
        assert hosted.session.model is not None
        assert hosted.fixture.registry.has_auth("anthropic")
    assert not hosted.fixture.registry.has_auth("anthropic")  # the source ended with its session


async def test_an_unavailable_exclusive_source_stops_a_request(tmp_path: Path) -> None:
    def vault(pi: ExtensionAPI) -> None:
        def refuse(name: str) -> str:
            raise AuthUnavailable("The vault is closed.")

        pi.auth.add_source(refuse, names=["faux"])

    async with extension_session(tmp_path, vault, steps=(says("never"),)) as hosted:
        answer = await hosted.session.prompt("hello")

        assert isinstance(answer, AssistantMessage)
        assert answer.error_message == "The vault is closed."


async def test_a_user_can_log_in_to_a_service_with_a_key(tmp_path: Path) -> None:
    def search(pi: ExtensionAPI) -> None:
        pi.auth.add_login("tavily", label="Tavily")

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, search, apis.append) as hosted:
        accounts = hosted.session.accounts
        await accounts.store_key("tavily", ScriptedUI("k1"))

        assert await apis[0].auth.get("tavily") == "k1"
        (row,) = [account for account in await accounts.all() if account.provider.id == "tavily"]
        assert (row.provider.name, row.has_key) == ("Tavily", True)
        assert await accounts.storage.get("tavily") == ApiKeyCredential(key="k1")
        await hosted.host.unload()
        with pytest.raises(PiError, match="Unknown provider"):
            await accounts.store_key("tavily", ScriptedUI("k2"))


async def test_a_login_to_a_service_is_renewed_before_it_expires(tmp_path: Path) -> None:
    renewed: list[str] = []

    def service(pi: ExtensionAPI) -> None:
        def tokens(name: str) -> dict[str, Any]:
            now = pi.scope.clock.now_ms()
            return {"access": name, "refresh": "r", "expires": now + 3_600_000}

        async def login(callbacks: Any) -> dict[str, Any]:
            return tokens("first")

        async def refresh(credential: OAuthCredential) -> dict[str, Any]:
            renewed.append(credential.access)
            return tokens("second")

        flow = {"name": "Mail", "login": login, "refresh_token": refresh}
        pi.auth.add_login("mail", oauth=flow)

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, service, apis.append) as hosted:
        await hosted.session.accounts.log_in("mail", ScriptedUI())
        first = await apis[0].auth.get("mail")
        await hosted.fixture.clock.advance(3_500)

        assert (first, await apis[0].auth.get("mail")) == ("first", "second")
    assert renewed == ["first"]


async def test_stored_credentials_can_be_listed_and_removed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        auth = apis[0].auth
        await auth.set("search", "k")
        await auth.put("mcp:a", {"access": "t", "refresh": "r", "expires": 10**15, "team": "x"})

        assert await auth.list() == [
            StoredCredential(name="search", kind="api_key"),
            StoredCredential(name="mcp:a", kind="oauth", expires=10**15),
        ]
        stored = await hosted.session.accounts.storage.get("mcp:a")
        assert isinstance(stored, OAuthCredential)
        assert stored.extra == {"team": "x"}
        assert await auth.access("mcp:a") == Access(api_key="t", kind="oauth")
        assert "t" in used_secrets()
        assert [await auth.remove("search"), await auth.remove("search")] == [True, False]
        assert await auth.access("search") is None
        with pytest.raises(ExtensionError, match="lacks 'refresh'"):
            await auth.put("mcp:a", {"access": "t"})


async def test_an_expired_token_without_a_login_is_not_used(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        auth, now = apis[0].auth, hosted.fixture.clock.now_ms()
        await auth.put("x", {"access": "t", "refresh": "r", "expires": now + 60_000})

        assert await auth.access("x", min_expiry=30) is not None
        assert await auth.access("x", min_expiry=90) is None
        assert await auth.refresh("x") is None


async def test_a_token_is_renewed_if_it_expires_too_early_or_on_request(tmp_path: Path) -> None:
    """``min_expiry`` renews early, ``refresh`` always; a second process does not renew twice."""
    made = 0

    def service(pi: ExtensionAPI) -> None:
        async def renew(credential: Any) -> dict[str, Any]:
            nonlocal made
            made += 1
            expires = pi.scope.clock.now_ms() + 3_600_000
            return {"access": f"token {made}", "refresh": "r", "expires": expires}

        pi.auth.add_login("mail", oauth={"name": "Mail", "login": renew, "refresh_token": renew})

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, service, apis.append) as hosted:
        auth = apis[0].auth
        await hosted.session.accounts.log_in("mail", ScriptedUI())

        keys = [await auth.get("mail")]
        for access in (
            await auth.access("mail", min_expiry=3000),
            await auth.access("mail", min_expiry=7200),
            await auth.refresh("mail"),
        ):
            keys.append(access.api_key if access else None)

    assert keys == ["token 1", "token 1", "token 2", "token 3"]


class SecretStore:
    """A source that rotates its tokens when a server refuses one."""

    def __init__(self, *tokens: str, helps: bool = True) -> None:
        self.tokens = list(tokens)
        self.helps = helps
        self.refused: list[str | None] = []

    def find(self, name: str) -> Access:
        headers = {"X-Team": "blue", "Authorization": f"Bearer {self.tokens[0]}"}
        return Access(api_key=self.tokens[0], headers=headers, kind="oauth")

    async def rejected(self, name: str, access: Access) -> bool:
        self.refused.append(access.api_key)
        self.tokens.pop(0)
        return self.helps


async def test_a_source_returns_headers_and_replaces_a_rejected_token(tmp_path: Path) -> None:
    vault = SecretStore("old", "new")
    apis: list[ExtensionAPI] = []

    def broker(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.auth.add_source(vault.find, names=["mcp:a"], rejected=vault.rejected)

    async with extension_session(tmp_path, broker):
        auth = apis[0].auth
        first = await auth.access("mcp:a")
        assert first is not None
        assert (first.api_key, first.headers["X-Team"], first.kind) == ("old", "blue", "oauth")
        again = await auth.refresh("mcp:a")

        assert again is not None
        assert again.api_key == "new"
        assert vault.refused == ["old"]
        assert "Bearer new" in used_secrets()


@pytest.mark.parametrize(
    ("helps", "answer", "sent"),
    [(True, "hello", ["old", "new"]), (False, "", ["old"])],
)
async def test_a_refused_request_is_repeated_once_with_new_credentials(
    tmp_path: Path, helps: bool, answer: str, sent: list[str]
) -> None:
    vault = SecretStore("old", "new", helps=helps)
    seen: list[str | None] = []

    async def respond(call: Any, builder: Any, flush: Any) -> None:
        seen.append(call.access.api_key)
        if call.access.api_key != "new":
            raise AuthenticationFailed("The token has expired.", status=401)
        builder.start()
        builder.text(0, "hello")
        builder.finish("stop")

    def broker(pi: ExtensionAPI) -> None:
        pi.register_provider(
            "acme",
            {"models": ({"id": "m"},), "api": "x", "base_url": "http://x", "answer": respond},
        )
        pi.auth.add_source(vault.find, names=["acme"], rejected=vault.rejected)

    async with extension_session(tmp_path, broker, model="acme/m") as hosted:
        message = await hosted.session.prompt("hi")

        assert isinstance(message, AssistantMessage)
        assert "".join(getattr(block, "text", "") for block in message.content) == answer
        assert (message.error_message == "The token has expired.") is not helps
    assert seen == sent
    assert vault.refused == ["old"]


class LoginDialogs(FakeUI):
    """A user who answers dialogs from a script, and whose browser opens every URL."""

    def __init__(self, *answers: str | None) -> None:
        super().__init__()
        self.answers = list(answers)
        self.pages: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def input(
        self, title: str, placeholder: str = "", *, secret: bool = False, **how: Any
    ) -> str | None:
        self.seen.append(("secret" if secret else "input", title))
        return self.answers.pop(0) if self.answers else await never()

    def open_url(self, url: str) -> None:
        self.pages.append(url)
        self.tasks.append(asyncio.get_running_loop().create_task(self._browse(url)))

    async def _browse(self, url: str) -> None:
        async with HttpClient(environ={}) as http:
            await obedient_browser(http)(url)


async def test_a_login_requests_the_key_in_a_dialog(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    ui = LoginDialogs(" k1 ", None)

    def search(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.auth.add_login("tavily", label="Tavily")

    async with extension_session(tmp_path, search, ui=ui):
        auth = apis[0].auth
        await auth.login("tavily")
        assert await auth.get("tavily") == "k1"
        assert ui.seen[0] == ("secret", "API key for Tavily:")
        with pytest.raises(LoginCancelled):
            await auth.login("tavily")
        with pytest.raises(ExtensionError, match="no login for"):
            await auth.login("nothing")


async def test_without_a_user_a_login_raises_an_error_with_a_hint(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        with pytest.raises(ExtensionError, match="no user can answer") as error:
            await apis[0].auth.login("anthropic")

    assert "/login anthropic" in error.value.hint


async def test_a_browser_login_registers_a_client_and_is_renewed(
    tmp_path: Path,
) -> None:
    """As for MCP: PKCE, a registered client, ``resource``, a loopback callback."""
    apis: list[ExtensionAPI] = []
    redirects: list[str] = []
    ui = LoginDialogs()

    def mcp(server: AuthorizationServer) -> Any:
        def extension(pi: ExtensionAPI) -> None:
            apis.append(pi)
            client = OAuthClient(
                authorize_url=server.url("/authorize"),
                token_url=server.url("/token"),
                client_secret="shh",
                scope="tools",
                authorize_params={"resource": "https://mcp.example"},
                token_params={"resource": "https://mcp.example"},
            )

            async def register(redirect_uri: str) -> OAuthClient:
                redirects.append(redirect_uri)
                return replace(client, client_id="registered")

            async def login(callbacks: Any) -> OAuthCredential:
                return await pi.auth.browser_flow(callbacks, client, register=register)

            async def renew(credential: OAuthCredential) -> OAuthCredential:
                registered_client = replace(client, client_id=credential.extra["clientId"])
                return await pi.auth.renew(credential, registered_client)

            flow = OAuthConfig(name="Demo", login=login, refresh_token=renew)
            pi.auth.add_login("mcp:demo", oauth=flow)

        return extension

    async with (
        authorization_server() as server,
        extension_session(tmp_path, mcp(server), ui=ui),
        asyncio.timeout(30),
    ):
        auth = apis[0].auth
        await auth.login("mcp:demo")
        await asyncio.gather(*ui.tasks)
        first = await auth.get("mcp:demo")
        second = await auth.refresh("mcp:demo")

    assert (first, second and second.api_key) == ("access-1", "access-2")
    (page,) = server.visits_to("/authorize")
    assert page.fields["redirect_uri"] == redirects[0]
    assert page.fields["resource"] == "https://mcp.example"
    assert page.fields["client_id"] == "registered"
    exchange, renewal = server.visits_to("/token")
    assert exchange.fields["client_secret"] == renewal.fields["client_secret"] == "shh"
    assert renewal.fields["resource"] == "https://mcp.example"
    assert renewal.fields["client_id"] == "registered"
    assert any(ui.pages[0] in title for kind, title in ui.seen if kind == "input")


async def test_credentials_of_another_store_are_used_and_renewed_but_not_stored(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with (
        authorization_server() as server,
        extension_session(
            tmp_path, apis.append, settings={"oauthClients": {"anthropic": server.clients}}
        ) as hosted,
    ):
        auth, store = apis[0].auth, hosted.session.accounts.storage
        now = hosted.fixture.clock.now_ms()
        ended = OAuthCredential(access="old", refresh="refresh-0", expires=now)

        access = await auth.access_of("anthropic", ended)
        assert access is not None
        assert (access.api_key, access.kind) == ("old", "oauth")
        assert server.grants == 0  # not renewed

        new = await auth.refreshed("anthropic", ended)
        assert (new.access, server.grants) == ("access-1", 1)
        with pytest.raises(AuthenticationFailed):
            await auth.refreshed("anthropic", ended)
        literal = await auth.access_of("groq", ApiKeyCredential(key="!echo $HOME"))
        assert literal is not None
        assert literal.api_key == "!echo $HOME"
        service = await auth.access_of("unknown", ApiKeyCredential(key="k"))
        assert service == Access(api_key="k", kind="api_key")
        assert await store.list() == {}  # no credential is stored

        await auth.set("groq", "mine")
        assert await auth.stored("groq") == ApiKeyCredential(key="mine")
        assert await auth.stored("xai") is None
        auth.hide("a-secret-of-mine")
        assert {"a-secret-of-mine", "access-1", "refresh-1"} <= set(used_secrets())
        with pytest.raises(ExtensionError, match="no login"):
            await auth.refreshed("unknown", ended)


async def test_a_login_can_be_obtained_without_storing_it(tmp_path: Path) -> None:
    class Typing(FakeUI):
        async def input(self, title: str, placeholder: str = "", **more: Any) -> str:
            return "typed-key"

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, ui=Typing()) as hosted:
        got = await apis[0].auth.obtain("groq", with_key=True)

        assert got == ApiKeyCredential(key="typed-key")
        assert await hosted.session.accounts.storage.list() == {}


async def test_a_source_can_describe_where_credentials_come_from(tmp_path: Path) -> None:
    def vault(pi: ExtensionAPI) -> None:
        def describe(name: str) -> str:
            if name == "groq":
                raise ValueError("broken")
            return "the vault,\n40% left"

        names = ["anthropic", "groq"]
        pi.auth.add_source(lambda name: "k", names=names, describe=describe)

    async with extension_session(tmp_path, vault) as hosted:
        rows = {
            account.provider.id: account.source for account in await hosted.session.accounts.all()
        }

        assert rows["anthropic"] == "the vault, 40% left"
        assert rows["openai"] == rows["groq"] == ""
        assert hosted.session.info.credential_source() == ""
