"""Web search and fetch: keys from the store, rendered citations, and pages that a model chose."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.http.errors import TimedOut
from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.port.extensions import ViewOptions
from pi.extension import BodyTooLarge, ExtensionAPI, HttpError, Timeouts, ToolFailed, ToolResult
from pi.extension.guards import AddressPolicy
from tests.ai.loopback import site
from tests.coding.extension_host.extension_session import extension_session


def search(url: str) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        for name in ("first", "second"):
            pi.auth.add_login(name)

        async def asked(service: str, query: str) -> list[dict[str, str]] | None:
            key = await pi.auth.get(service, env=(f"{service.upper()}_KEY",))
            if key is None:
                return None
            response = await pi.http.request(
                f"{url}/{service}", headers={"Authorization": f"Bearer {key}"}
            )
            return response.json() if response.status == 200 else None

        @pi.tool
        async def web_search(query: str) -> ToolResult:
            """Look on the web."""
            for service in ("first", "second"):
                if pages := await asked(service, query):
                    text = "\n".join(page["title"] for page in pages)
                    return ToolResult.of(text, details={"citations": pages})
            raise ToolFailed("No service is available.")

        def citations(call: ToolView, options: Any, theme: Any) -> list[str]:
            return [f"[{page['url']}]" for page in (call.details or {}).get("citations", ())]

        pi.add_view("tool", "web_search", citations)

    return extension


@pytest.mark.parametrize(
    ("keys", "text", "services"),
    [
        ((), "No service is available.", []),
        (("first",), "No service is available.", ["/first"]),
        (("first", "second"), "A page", ["/first", "/second"]),
    ],
)
async def test_search_services_are_tried_in_order(
    tmp_path: Path, keys: tuple[str, ...], text: str, services: list[str]
) -> None:
    pages = {
        "/first": (429, {"error": "busy"}),
        "/second": [{"title": "A page", "url": "https://example.org"}],
    }
    steps = (calls("web_search", query="x"), says("ok"))
    async with (
        site(pages) as web,
        extension_session(tmp_path, search(web.url), steps=steps) as hosted,
    ):
        for name in keys:
            await hosted.session.accounts.storage.set(name, _key(name))
        await hosted.session.prompt("look")

        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        view = ToolView(
            id="1",
            name="web_search",
            arguments={},
            state="done",
            details=result.details or None,
        )
        drawn = hosted.session.extensions.views.rows(
            "tool", "web_search", view, ViewOptions(), None, 80
        )

    assert result.content[0].text == text  # type: ignore[union-attr]
    assert [path for _, path, _, _ in web.asked] == services
    assert drawn == (["[https://example.org]"] if text == "A page" else [])
    assert all(headers["authorization"].startswith("Bearer k-") for _, _, headers, _ in web.asked)


def _key(name: str) -> Any:
    from pi.ai.auth.credentials import ApiKeyCredential

    return ApiKeyCredential(key=f"k-{name}")


def fetch(pi: ExtensionAPI) -> None:
    @pi.tool
    async def web_fetch(url: str) -> str:
        """Read a page."""
        policy = AddressPolicy(allow_hosts=tuple(pi.settings.get("web.allowHosts") or ()))
        try:
            page = await pi.http.request(url, redirects=5, limit=1000, allow_address=policy)
        except HttpError as error:
            raise ToolFailed(error.message) from error
        return f"{page.url}: {page.text}"


async def test_a_page_that_a_model_chose_is_fetched_within_limits(tmp_path: Path) -> None:
    """Redirects are followed and checked, large bodies are refused, the final URL is returned."""
    pages = {
        "/moved": (302, "/page"),
        "/page": b"text",
        "/inward": (302, "http://169.254.169.254/latest"),
        "/large": b"x" * 2000,
    }
    async with site(pages) as web:
        host = web.url.removeprefix("http://")
        urls = [f"{web.url}/{path}" for path in ("moved", "inward", "large")]
        steps = (*(calls("web_fetch", url=url) for url in urls), says("ok"))
        settings = {"web": {"allowHosts": [host]}}
        async with extension_session(tmp_path, fetch, steps=steps, settings=settings) as hosted:
            await hosted.session.prompt("look")
            results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    texts = [result.content[0].text for result in results]  # type: ignore[union-attr]
    assert texts[0] == f"{web.url}/page: text"
    assert "metadata service" in texts[1]
    assert texts[2] == f"The body from {host} is larger than 1000 bytes."


async def test_a_request_to_this_machine_is_refused_by_default(tmp_path: Path) -> None:
    async with site({"/": b"secret"}) as web:
        steps = (calls("web_fetch", url=web.url), says("ok"))
        async with extension_session(tmp_path, fetch, steps=steps) as hosted:
            await hosted.session.prompt("look")
            (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    assert "it is this machine" in result.content[0].text  # type: ignore[union-attr]
    assert web.asked == []


async def test_a_stream_has_the_same_limits(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/"
    pages = {"/moved": (301, "/page"), "/page": b"x" * 2000}
    async with site(pages) as web, extension_session(tmp_path, apis.append):
        http = apis[0].http
        with pytest.raises(BodyTooLarge, match="larger than 1500 bytes"):
            async with http.stream(f"{web.url}/moved", redirects=1, limit=1500) as response:
                assert response.url == f"{web.url}/page"
                async for _ in response:
                    pass
        async with silent:
            with pytest.raises(TimedOut):
                async with http.stream(address, timeouts=Timeouts(first_byte=0.01)):
                    pass
