from __future__ import annotations

import base64
import io

import pytest
from PIL import Image as Pillow

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.token_estimates import conversation_tokens, image_tokens, largest_answer, message_tokens
from pi.base.records import replace

MODEL = Model(id="m", name="M", api="a", provider="p", context_window=10_000, max_tokens=8_000)


def picture(form: str, width: int, height: int, **options: object) -> Image:
    file = io.BytesIO()
    Pillow.new("RGB", (width, height)).save(file, form, **options)
    data = base64.b64encode(file.getvalue()).decode()
    return Image(data=data, mime_type=f"image/{form.lower()}")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1568, 1568, 3279), (750, 100, 100), (1, 1, 85), (1921, 2003, 4784), (3000, 10, 85)],
)
def test_the_tokens_of_an_image_are_estimated_from_its_pixels(
    form: str, width: int, height: int, tokens: int
) -> None:
    assert image_tokens(picture(form, width, height)) == tokens


def test_the_size_of_a_photo_is_not_read_from_its_embedded_preview() -> None:
    photo = picture("JPEG", 1500, 1000, exif=b"Exif\0\0" + b"x" * 65_000, comment=b"y" * 65_000)

    assert len(photo.data) > 170_000
    assert image_tokens(photo) == 2000


@pytest.mark.parametrize("data", ["", "AA==", "not base64 é", "blob:sha256:0", "/9j/" * 10])
def test_an_image_of_unknown_size_counts_1200_tokens(data: str) -> None:
    assert image_tokens(Image(data=data, mime_type="image/png")) == 1200


def test_four_characters_count_one_token_and_an_unreadable_image_1200() -> None:
    unreadable = Image(data="AA==", mime_type="image/png")
    tool = Tool(name="peek", description="d", parameters={})

    assert message_tokens(UserMessage(content="12345")) == 2
    assert message_tokens(UserMessage(content=(Text(text="1234"), unreadable))) == 1201
    assert message_tokens(SystemMessage(content="1234", sections={"a": "5678", "b": None})) == 2
    assert message_tokens(SystemMessage(content="", tools_added=(tool,))) > 10
    assert (
        message_tokens(
            AssistantMessage(
                content=(
                    Thinking(thinking="1234", thinking_signature="5678"),
                    ToolCall(id="x", name="peek", arguments={"a": 1}),
                )
            )
        )
        == 5
    )


def test_the_usage_of_the_provider_is_used_and_only_later_messages_are_estimated() -> None:
    counted = AssistantMessage(content=(Text(text="x" * 4000),), usage=Usage(total_tokens=50))
    result = ToolResultMessage(tool_call_id="1", tool_name="t", content=(Text(text="RESULT"),))

    assert conversation_tokens((UserMessage(content="y" * 4000), counted, result)) == 52


@pytest.mark.behaviour("usage-is-not-erased")
def test_the_usage_of_a_failed_or_uncounted_answer_is_ignored() -> None:
    asked = UserMessage(content="y" * 400)
    uncounted = AssistantMessage(content=(Text(text="x" * 40),))
    failed = replace(uncounted, usage=Usage(total_tokens=5000), stop_reason="error")

    assert conversation_tokens((asked, uncounted)) == 110
    assert conversation_tokens((asked, failed)) == 110


@pytest.mark.behaviour("old-usage-does-not-trigger")
def test_usage_from_before_a_compaction_is_ignored() -> None:
    summary = UserMessage(content="s" * 400, timestamp=30)
    kept = AssistantMessage(content=(Text(text="x" * 40),), usage=Usage(total_tokens=9_900))
    asked = UserMessage(content="y" * 40, timestamp=40)
    compacted = (summary, replace(kept, timestamp=20), asked)

    assert conversation_tokens(compacted) == 120
    assert largest_answer(MODEL, compacted) == 10_000 - 120 - 4096
    assert conversation_tokens((*compacted, replace(kept, timestamp=50))) == 9_900


@pytest.mark.behaviour("output-cap-is-sane")
def test_the_answer_limit_leaves_part_of_the_window_free_and_has_a_minimum() -> None:
    assert largest_answer(replace(MODEL, max_tokens=100), ()) == 100
    assert largest_answer(MODEL, ()) == 10_000 - 4096
    assert largest_answer(MODEL, (UserMessage(content="x" * 100_000),)) == 1024


@pytest.mark.behaviour("output-cap-is-sane")
def test_an_unknown_limit_is_not_treated_as_zero() -> None:
    assert largest_answer(replace(MODEL, context_window=0), ()) == 8_000
    assert largest_answer(replace(MODEL, max_tokens=0), ()) == 10_000 - 4096
    assert largest_answer(replace(MODEL, context_window=0, max_tokens=0), ()) == 16_384
