"""``generate_image`` in real sessions, with a provider on the loopback interface."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image, Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.image_tool.adapter import extension, slug
from pi.batteries.image_tool.views import generate_image as view
from pi.coding.port.drawing import PlainTheme
from pi.extension import Access, ExtensionAPI, ToolView, ViewOptions
from tests.ai.loopback import Site, site
from tests.coding.extension_host.extension_session import extension_session

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
ANSWER = {"data": [{"b64_json": base64.b64encode(PNG).decode()}], "usage": {"input_tokens": 7}}


async def results(
    tmp_path: Path, *steps: Step, pages: dict[str, Any], settings: Any = None
) -> tuple[list[ToolResultMessage], Site]:
    async with site(pages) as server:

        def keys(pi: ExtensionAPI) -> None:
            def find(name: str) -> Access | None:
                return Access(api_key="k", base_url=server.url) if name == "openai" else None

            pi.auth.add_source(find)

        chosen = {"imageTool": {"enabled": True, **(settings or {})}}
        script = (*steps, says("done"))
        async with extension_session(
            tmp_path, keys, extension, steps=script, settings=chosen
        ) as hosted:
            (Path(hosted.session.workspace.cwd) / "old.png").write_bytes(PNG)
            (Path(hosted.session.workspace.cwd) / "old.txt").write_text("x")
            await hosted.session.prompt("go")
            assert hosted.failures == []
            messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return messages, server


def text(result: ToolResultMessage) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def project(tmp_path: Path) -> Path:
    return next(tmp_path.rglob("project"))


async def test_a_picture_is_shown_and_saved(tmp_path: Path) -> None:
    (first, second, third), _ = await results(
        tmp_path,
        calls("generate_image", prompt="A red fox!"),
        calls("generate_image", prompt="A red fox!"),
        calls("generate_image", prompt="A red fox!", path="art/fox"),
        pages={"/images/generations": ANSWER},
    )

    assert text(first) == "Saved a-red-fox.png (openai/gpt-image-1)."
    assert isinstance(first.content[1], Image)
    assert first.details == {
        "files": [{"path": "a-red-fox.png", "mimeType": "image/png", "bytes": len(PNG)}],
        "provider": "openai",
        "model": "gpt-image-1",
    }
    assert text(second).startswith("Saved a-red-fox-2.png")
    assert text(third).startswith("Saved art/fox.png")
    for name in ("a-red-fox.png", "a-red-fox-2.png", "art/fox.png"):
        assert (project(tmp_path) / name).read_bytes() == PNG


async def test_a_picture_is_edited(tmp_path: Path) -> None:
    (edited, refused, missing), server = await results(
        tmp_path,
        calls("generate_image", prompt="make it blue", images=["old.png"], path="new.png"),
        calls("generate_image", prompt="make it blue", images=["old.txt"]),
        calls("generate_image", prompt="make it blue", images=["none.png"]),
        pages={"/images/edits": ANSWER},
    )

    assert text(edited).startswith("Saved new.png")
    assert [request[1] for request in server.asked] == ["/images/edits"]
    assert text(refused) == "old.txt is not a PNG, JPEG, GIF or WebP picture."
    assert missing.is_error


async def test_a_failed_request_is_a_tool_error(tmp_path: Path) -> None:
    (failed,), _ = await results(tmp_path, calls("generate_image", prompt="x"), pages={})

    assert failed.is_error
    assert text(failed).startswith("openai/gpt-image-1 made no picture: ")
    assert [path.name for path in project(tmp_path).glob("*.png")] == ["old.png"]


@pytest.mark.parametrize("settings", [{"provider": "google"}, {"model": "other"}])
async def test_without_a_model_that_has_a_key_the_tool_is_not_offered(
    tmp_path: Path, settings: Any
) -> None:
    (failed,), _ = await results(
        tmp_path, calls("generate_image", prompt="x"), pages={}, settings=settings
    )

    assert text(failed).startswith("Tool generate_image not found.")


def test_file_names_come_from_the_prompt() -> None:
    assert slug("A red fox, in the snow: at night (oil on canvas)") == "a-red-fox-in-the-snow"
    assert slug("狐") == "picture"


def test_the_view_shows_the_files() -> None:
    details = {"files": [{"path": "a.png", "bytes": 1234}], "provider": "p", "model": "m"}
    call = ToolView(
        id="1",
        name="generate_image",
        arguments={"prompt": "x" * 200},
        state="done",
        details=details,
    )
    collapsed = view(call, ViewOptions(), PlainTheme())
    expanded = view(call, ViewOptions(expanded=True), PlainTheme())

    assert collapsed is not None
    assert expanded is not None
    assert collapsed[0].endswith("… p/m")
    assert collapsed[1] == "a.png 1,234 bytes"
    assert len(expanded[0]) > 200
