from __future__ import annotations

from pi.ai.messages import Context, SystemMessage, Text, Tool, UserMessage
from pi.ai.transcript import Instructions, conversation, fold

PEEK = Tool(name="peek", description="look", parameters={})
POKE = Tool(name="poke", description="touch", parameters={})


def test_a_context_becomes_a_conversation_with_a_leading_system_message() -> None:
    asked = UserMessage(content="hi")

    assert conversation(Context(system_prompt="S", messages=(asked,), tools=(PEEK,))) == (
        SystemMessage(content="S", tools_added=(PEEK,)),
        asked,
    )
    assert conversation(Context(messages=(asked,))) == (asked,)


def test_later_system_messages_patch_sections_and_tools() -> None:
    asked = UserMessage(content="hi")
    messages = (
        SystemMessage(
            content="first", sections={"a": "A", "b": "B", "c": "C"}, tools_added=(PEEK, POKE)
        ),
        asked,
        SystemMessage(
            content=(Text(text="second"),),
            sections={"a": "A2", "b": None},
            tools_removed=({"name": "peek"},),
        ),
    )

    assert fold(messages, keep_later=False) == (
        Instructions(prompt="first\n\nsecond\n\nA2\n\nC", tools=(POKE,)),
        (asked,),
    )


def test_later_system_messages_are_kept_in_place_on_request() -> None:
    asked, later = UserMessage(content="hi"), SystemMessage(content="later", tools_added=(POKE,))
    messages = (SystemMessage(content="S", tools_added=(PEEK,)), asked, later)

    assert fold(messages, keep_later=True) == (
        Instructions(prompt="S", tools=(PEEK, POKE)),
        (asked, later),
    )


def test_without_system_messages_there_are_no_instructions() -> None:
    assert fold((), keep_later=False) == (Instructions(), ())
