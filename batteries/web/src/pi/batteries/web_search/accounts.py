"""The accounts of the providers: from ``pi.auth``, variables and settings."""

from __future__ import annotations

from collections.abc import Mapping

from pi.batteries.web_search.search import Account, SearchFailed
from pi.extension import Access, AuthenticationFailed, ExtensionAPI, PiError, Record


class Key(Record):
    """Sources of a provider's key."""

    variables: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Providers and services of ``pi.auth``."""
    label: str = ""
    """The label of its row in ``/login``; empty if pi has one already."""


KEYS: dict[str, Key] = {
    "tavily": Key(variables=("TAVILY_API_KEY",), names=("tavily",), label="Tavily (web search)"),
    "perplexity": Key(
        variables=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        names=("perplexity",),
        label="Perplexity (web search)",
    ),
    "brave": Key(variables=("BRAVE_API_KEY",), names=("brave",), label="Brave (web search)"),
    "jina": Key(variables=("JINA_API_KEY",), names=("jina",), label="Jina (web search)"),
    "kimi": Key(
        variables=("MOONSHOT_SEARCH_API_KEY", "KIMI_SEARCH_API_KEY", "MOONSHOT_API_KEY"),
        names=("moonshotai", "moonshotai-cn"),
    ),
    "anthropic": Key(variables=("ANTHROPIC_SEARCH_API_KEY",), names=("anthropic",)),
    "gemini": Key(names=("google",)),
    "codex": Key(names=("openai-codex",)),
    "zai": Key(variables=("ZAI_API_KEY",), names=("zai",)),
    "exa": Key(variables=("EXA_API_KEY",), names=("exa",), label="Exa (web search)"),
    "parallel": Key(
        variables=("PARALLEL_API_KEY",), names=("parallel",), label="Parallel (web search)"
    ),
    "kagi": Key(variables=("KAGI_API_KEY",), names=("kagi",), label="Kagi (web search)"),
    "synthetic": Key(
        variables=("SYNTHETIC_API_KEY",), names=("synthetic",), label="Synthetic (web search)"
    ),
    "searxng": Key(),
}
VARIABLES_FIRST = frozenset({"kimi", "anthropic"})
"""Providers with variables for searches, which override the credentials of the models."""
MODEL_SERVERS = frozenset({"anthropic", "codex", "gemini", "kimi"})
"""Providers that search on the server of their models, which may be a gateway or other region."""


class Accounts:
    """Finds the account of each provider."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def configured(self) -> list[str]:
        """Names of providers that seem to have credentials; nothing is refreshed or decrypted."""
        stored = {credential.name for credential in await self._pi.auth.list()}
        stored |= {model.provider for model in self._pi.models.available()}
        names = [
            name
            for name, key in KEYS.items()
            if self._variable(*key.variables) or not stored.isdisjoint(key.names)
        ]
        if self._variable("PERPLEXITY_COOKIES") and "perplexity" not in names:
            names.append("perplexity")
        if not self._exa_allowed() and "exa" in names:
            names.remove("exa")
        return names + (["searxng"] if self._endpoint() else [])

    async def find(self, name: str, *, explicit: bool = False) -> Account | None:
        """The account for one search; ``None`` if there is none.

        ``explicit`` allows anonymous searches, as the user has chosen the provider. Raises
        ``SearchFailed`` if the configuration is invalid or a login has expired.
        """
        if name == "searxng":
            return self._searxng()
        if name == "exa" and not self._exa_allowed():
            return None
        try:
            account = await self._account(name)
        except AuthenticationFailed as error:
            raise SearchFailed(name, error.message, status=401) from error
        except PiError as error:
            raise SearchFailed(name, error.message) from error
        if account is None and explicit and name == "perplexity":
            account = Account(kind="anonymous", options={"requestId": _identifier()})
        if account is None and explicit and name == "exa":
            account = Account(kind="anonymous")
        return account if account is None else self._with_base_url(name, account)

    async def _account(self, name: str) -> Account | None:
        key = KEYS[name]
        cookies = self._variable("PERPLEXITY_COOKIES")
        if name == "perplexity" and cookies:
            options = {"requestId": _identifier()}
            return Account(key=cookies, kind="cookie", options=options)
        own = self._variable(*key.variables)
        if own and name in VARIABLES_FIRST:
            return Account(key=own)
        for key_name in key.names:
            access = await self._pi.auth.access(key_name)
            if access is not None and (access.api_key or access.headers):
                return self._account_from(name, access)
        return Account(key=own) if own else None

    def _account_from(self, name: str, access: Access) -> Account | None:
        is_login = access.kind == "oauth"
        if name == "codex" and not is_login:
            return None  # the servers of ChatGPT do not accept API keys
        options = dict(access.env) if name == "codex" else {}
        if name == "perplexity" and is_login:
            options = {"requestId": _identifier()}
        return Account(
            key=access.api_key or "",
            kind="oauth" if is_login else "api_key",
            # Other model servers, such as that of Z.AI, cannot search.
            base_url=(access.base_url or "") if name in MODEL_SERVERS else "",
            headers=access.headers,
            options=options,
        )

    def _with_base_url(self, name: str, account: Account) -> Account:
        """The account with the base URL and the model from variables and settings."""
        bases: Mapping[str, str] = self._pi.settings.get("webSearchBaseUrls")
        base = bases.get(name, "") or account.base_url
        options = dict(account.options)
        match name:
            case "kimi":
                base = self._variable("MOONSHOT_SEARCH_BASE_URL", "KIMI_SEARCH_BASE_URL") or base
            case "anthropic":
                base = self._variable("ANTHROPIC_SEARCH_BASE_URL") or base or self._gateway()
                options["model"] = self._variable("ANTHROPIC_SEARCH_MODEL")
            case "codex":
                options["model"] = self._variable("PI_CODEX_WEB_SEARCH_MODEL")
            case _:
                pass
        return Account(
            key=account.key,
            kind=account.kind,
            base_url=base.rstrip("/"),
            options=options,
            headers=account.headers,
        )

    def _gateway(self) -> str:
        """The base URL of a gateway for Anthropic's models; empty without one."""
        if self._variable("CLAUDE_CODE_USE_FOUNDRY").lower() in ("1", "true", "yes", "on"):
            return self._variable("FOUNDRY_BASE_URL", "ANTHROPIC_BASE_URL")
        return self._variable("ANTHROPIC_BASE_URL")

    def _searxng(self) -> Account | None:
        endpoint = self._endpoint()
        if not endpoint:
            return None
        if not endpoint.startswith(("http://", "https://")):
            raise SearchFailed(
                "searxng", "searxng.endpoint must start with http:// or https://; change it."
            )
        get = self._pi.settings.get
        options = {
            name: get(f"searxng.{name}")
            for name in ("categories", "language")
            if get(f"searxng.{name}")
        }
        user = get("searxng.basicUsername") or self._variable("SEARXNG_BASIC_USERNAME")
        password = get("searxng.basicPassword") or self._variable("SEARXNG_BASIC_PASSWORD")
        if user or password:
            check_basic(user, password)
            return Account(
                key=f"{user}:{password}", kind="basic", base_url=endpoint, options=options
            )
        token = get("searxng.token") or self._variable("SEARXNG_TOKEN")
        return Account(key=token, base_url=endpoint, options=options)

    def _endpoint(self) -> str:
        set_by_user: str = self._pi.settings.get("searxng.endpoint")
        return (set_by_user or self._variable("SEARXNG_ENDPOINT")).strip()

    def _exa_allowed(self) -> bool:
        get = self._pi.settings.get
        return bool(get("exa.enabled") and get("exa.enableSearch"))

    def _variable(self, *names: str) -> str:
        environ = self._pi.context.environ
        return next((environ[name].strip() for name in names if environ.get(name)), "")


def _identifier() -> str:
    from uuid import uuid4  # deferred: few searches need one

    return str(uuid4())


def check_basic(user: str, password: str) -> None:
    """Raise ``SearchFailed`` unless both can be sent as Basic authentication (RFC 7617)."""
    if not user or not password:
        missing = "searxng.basicUsername" if not user else "searxng.basicPassword"
        raise SearchFailed("searxng", f"Basic authentication of SearXNG needs {missing} as well.")
    if ":" in user:
        raise SearchFailed("searxng", "searxng.basicUsername must not contain a colon.")
    if not (user + password).isprintable():
        raise SearchFailed(
            "searxng", "The user name or password of SearXNG contains a control character."
        )


def explain(failure: SearchFailed, label: str) -> str:
    """The message for the model about a failure of a provider."""
    if failure.provider == "anthropic" and failure.status == 404:
        return "Anthropic web search returned 404 (model or endpoint not found)."
    if failure.status in (401, 403) and failure.provider != "zai":
        login = f"check the key, or use /login {LOGINS.get(failure.provider, failure.provider)}"
        return f"{label} authorization failed ({failure.status}): {login}."
    return failure.message


LOGINS = {"gemini": "google", "codex": "openai-codex", "kimi": "moonshotai"}
"""Names of logins that differ from the name of the search provider."""
