"""Text becomes pictures: every character is printed, nothing is lost, the same every time."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image as Pictures

from pi.agent.compaction.budget import CompactionItem
from pi.ai.models.model import Model
from pi.ai.providers.rows import BUILT_IN
from pi.batteries.snapcompact.archive import Earlier, limits, plan
from pi.batteries.snapcompact.font import HEIGHT, NEW_LINE, UNKNOWN, glyph, printable
from pi.batteries.snapcompact.frames import FramePage, draw, paginate
from pi.batteries.snapcompact.history import MAX_RESULT, Piece, pieces, shorten
from pi.batteries.snapcompact.shapes import (
    FINE_WIDTH,
    MAX_FRAMES,
    SHAPES,
    frame_budget,
    shape_for,
)
from pi.extension import AssistantMessage, Image, Text, ToolCall, ToolResultMessage, UserMessage

SMALL = SHAPES["6x12-bw"]


def picture(image: Image) -> Pictures.Image:
    return Pictures.open(io.BytesIO(base64.b64decode(image.data)))


def read_back(image: Image, columns: int) -> str:
    """The text of a picture, recognised by its glyphs."""
    pixels = picture(image).convert("L")
    characters = {glyph(chr(code)): chr(code) for code in range(32, 127)} | {
        glyph(NEW_LINE): NEW_LINE
    }
    text = ""
    for top in range(0, pixels.height, 12):
        for column in range(columns):
            rows = []
            for y in range(HEIGHT):
                bits = (pixels.getpixel((column * 6 + x, top + y)) < 200 for x in range(5))  # type: ignore[operator]
                rows.append(sum(bit << (4 - x) for x, bit in enumerate(bits)))
            text += characters[tuple(rows)]
    return text


def test_every_printed_character_can_be_read_back() -> None:
    alphabet = "".join(map(chr, range(33, 127)))
    printed = paginate([Piece(text=f"[user] {alphabet}{NEW_LINE} end")], SMALL)
    (page,) = printed.pages

    drawn = draw(page, SMALL)

    assert read_back(drawn, 110).rstrip() == f"[user] {alphabet}{NEW_LINE} end"
    assert picture(drawn).size == (1568, 12)  # as high as its text
    assert draw(page, SMALL) == drawn


def test_glyphs_are_distinct() -> None:
    glyphs = [glyph(chr(code)) for code in range(32, 127)]
    assert None not in glyphs
    assert len(set(glyphs)) == len(glyphs)


@pytest.mark.parametrize(
    ("text", "printed", "missing"),
    [
        ("für é Ñ", "für é Ñ", 0),
        ("“a” – b… → c", '"a" - b... -> c', 0),
        ("中文", UNKNOWN * 2, 2),
    ],
)
def test_characters_without_a_glyph_are_replaced_or_counted(
    text: str, printed: str, missing: int
) -> None:
    assert printable(text) == (printed, missing)


@pytest.mark.parametrize(
    ("message", "result", "is_readable"),
    [
        ("Never touch the folder.", "x = 1; " * 500, True),
        ("Never touch ☃ or Ж. 👍", "x = 1; " * 500, True),
        ("Никогда не трогай эту папку.", "x = 1; " * 500, False),
        ("绝对不要修改这个文件夹,否则测试会失败。", "x = 1; " * 500, False),
        ("Never touch the folder.", "x = 1; " * 500 + "Ошибка: файл не найден", True),
        ("Never touch the folder.", "Ошибка: файл не найден; " * 50, False),
    ],
)
def test_readability_is_judged_separately_for_messages_and_results(
    message: str, result: str, is_readable: bool
) -> None:
    pieces = [Piece(text=message), Piece(text=result, is_output=True)]
    assert paginate(pieces, SHAPES["6x12-dim"]).is_readable is is_readable


@pytest.mark.parametrize("name", SHAPES)
def test_pages_contain_the_whole_text_in_every_shape(name: str) -> None:
    shape = SHAPES[name]
    text = " ".join(f"word{n}" for n in range(9_000))
    printed = paginate([Piece(text=text)], shape)

    assert "".join(page.text for page in printed.pages).replace(" ", "") == text.replace(" ", "")
    assert all(len(line) <= shape.characters for page in printed.pages for line in page.lines)
    first = picture(draw(printed.pages[0], shape))
    assert first.width == shape.width
    assert first.height <= shape.width


def test_a_picture_of_1568_pixels_holds_33930_characters() -> None:
    assert SHAPES["6x12-dim"].capacity == 33_930


@pytest.mark.parametrize(
    ("model", "api", "shape", "width"),
    [
        ("claude-sonnet-4-5", "anthropic-messages", "6x12-dim", 1568),
        ("claude-opus-4-7", "anthropic-messages", "6x12-dim", FINE_WIDTH),
        ("anthropic/claude-opus-4.8", "openai-completions", "6x12-dim", FINE_WIDTH),
        ("gemini-3-pro", "google-generative-ai", "doc-8on16-sent-dim", 2048),
        ("gpt-5.2", "openai-responses", "8on16-bw", 1568),
        ("unmeasured", "openai-completions", "8on16-bw", 1568),
        ("unmeasured", "faux", "6x12-dim", 1568),
    ],
)
def test_the_shape_is_selected_by_model_then_by_wire(
    model: str, api: str, shape: str, width: int
) -> None:
    selected = shape_for(Model(id=model, name=model, api=api, provider="x"))
    assert (selected.name, selected.width) == (shape, width)


def test_a_shape_can_be_configured_and_unknown_providers_allow_five_pictures() -> None:
    claude = Model(id="claude-sonnet-4-5", name="c", api="anthropic-messages", provider="anthropic")
    assert shape_for(claude, "8x13-bw").name == "8x13-bw"
    assert shape_for(claude, "nonsense").name == "6x12-dim"
    assert (frame_budget("anthropic"), frame_budget("mine")) == (8, 5)


# History and archive ------------------------------------------------------------------------------


def item(id: str, message: UserMessage | AssistantMessage | ToolResultMessage) -> CompactionItem:
    return CompactionItem.of(id, message)


def test_results_and_arguments_are_shortened_and_useless_pairs_left_out() -> None:
    call = ToolCall(id="1", name="bash", arguments={"command": "x" * 900})
    idle = ToolCall(id="2", name="job", arguments={})
    items = [
        item("a", UserMessage(content="go\n\n  on")),
        item("b", AssistantMessage(content=(Text(text="yes"), call, idle))),
        item(
            "c",
            ToolResultMessage(
                tool_call_id="1", tool_name="bash", content=(Text(text="h" * 2000 + "t" * 2000),)
            ),
        ),
        item(
            "d",
            ToolResultMessage(
                tool_call_id="2", tool_name="job", content=(Text(text="nothing"),), useless=True
            ),
        ),
    ]

    printed = pieces(items, lambda text: text)

    assert [piece.text[:12] for piece in printed] == [
        f"[user] go{NEW_LINE}on",
        "[assistant] ",
        "[call bash] ",
        "[result] hhh",
    ]
    assert [piece.is_output for piece in printed] == [False, False, False, True]
    assert "400 characters left out" in printed[2].text
    head, _, tail = printed[3].text.removeprefix("[result] ").partition(" [... ")
    assert len(head) == int(MAX_RESULT * 0.6)
    assert tail.endswith("t" * 800)


def test_a_secret_is_removed_before_a_text_is_cut_in_two() -> None:
    secret = "s3cret" * 20
    result = ToolResultMessage(
        tool_call_id="1", tool_name="bash", content=(Text(text="a" * 1150 + secret + "b" * 3000),)
    )
    (piece,) = pieces([item("a", result)], lambda text: text.replace(secret, "[redacted]"))
    assert "s3c" not in piece.text


def pages(*texts: str) -> list[FramePage]:
    return [FramePage(lines=(), text=text) for text in texts]


def frames(*names: str) -> list[Image]:
    return [Image(data=name, mime_type="image/png") for name in names]


def test_the_first_picture_is_kept_and_middle_ones_are_dropped_first() -> None:
    planned = plan(frames(*"abcdef"), pages("x", "y"), budget=5, tail_characters=100)

    assert [image.data for image in planned.kept] == ["a", "e", "f"]
    assert (planned.faded, planned.text_tail) == (3, "")
    assert [page.text for page in planned.printed] == ["x", "y"]


def test_new_pages_beyond_the_budget_are_kept_as_text() -> None:
    planned = plan(frames("a", "b"), pages(*"vwxyz"), budget=4, tail_characters=100)

    assert [image.data for image in planned.kept] == ["a"]
    assert [page.text for page in planned.printed] == ["v", "w", "x"]
    assert planned.text_tail == "y  z"
    assert "left out" in shorten("y" * 500, 100)


def test_an_archive_fits_half_of_the_threshold() -> None:
    shape = SHAPES["6x12-dim"]
    roomy = limits(shape, budget=8, threshold=180_000, facts_tokens=1000, earlier=Earlier())
    tight = limits(shape, budget=8, threshold=20_000, facts_tokens=1000, earlier=Earlier())

    assert roomy is not None
    assert (roomy.frames, roomy.tail_characters) == (8, 2 * shape.capacity)
    assert tight is not None
    assert tight.frames * shape.largest_tokens + tight.tail_characters // 4 <= 9_000
    assert limits(shape, budget=8, threshold=4_000, facts_tokens=0, earlier=Earlier()) is None


def test_the_providers_with_the_larger_budget_exist() -> None:
    roomy = {provider.id for provider in BUILT_IN if frame_budget(provider.id) == MAX_FRAMES}

    assert roomy == {
        "amazon-bedrock",
        "anthropic",
        "azure",
        "github-copilot",
        "google",
        "google-vertex",
        "openai",
        "openai-codex",
        "openrouter",
    }
