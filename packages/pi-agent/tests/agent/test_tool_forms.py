from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.json_schema import BadSchema
from pi.agent.tools.results import MAX_TEXT, to_tool_result
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Image, Text
from pi.base.records import Record


class ReadParams(Record):
    """What read takes."""

    path: str
    first_line: int = 1


@dataclass
class Point:
    x: int


SHAPE = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
PICTURE = Image(data="aGk=", mime_type="image/png")


def silent(_: ToolResult) -> None: ...


async def called(made: AgentTool, arguments: Any) -> Any:
    """What the loop does: validate, then run."""
    async with asyncio.timeout(30):
        return await made.run(made.validate(arguments), ToolContext("call", silent))


async def given(params: Any, ctx: ToolContext) -> Any:
    return params, ctx.call_id


async def test_a_record_and_an_async_function_make_a_tool() -> None:
    made = make_tool(name="read", description="Read.", params=ReadParams, run=given)
    assert await called(made, {"path": "a", "firstLine": "2"}) == (
        ReadParams(path="a", first_line=2),
        "call",
    )
    assert made.declaration.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "firstLine": {"type": "integer", "default": 1},
        },
        "required": ["path"],
    }


async def test_a_dataclass_makes_a_tool() -> None:
    made = make_tool(name="move", description="Move.", params=Point, run=given)
    assert await called(made, {"x": "5"}) == (Point(5), "call")


async def test_a_json_schema_makes_a_tool_that_gets_a_dict() -> None:
    made = make_tool(name="move", description="Move.", params=SHAPE, run=given)
    assert made.parameters is SHAPE
    assert await called(made, {"x": 5.0, "y": 1}) == ({"x": 5, "y": 1}, "call")


async def test_a_class_with_the_pydantic_interface_makes_a_tool() -> None:
    class Model:
        def __init__(self, x: int) -> None:
            self.x = x

        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return {"title": "Model", **SHAPE}

        @classmethod
        def model_validate(cls, value: dict[str, Any]) -> Model:
            if value["x"] < 0:
                raise ValueError("x is left of the page")
            return cls(**value)

    made = make_tool(name="move", description="Move.", params=Model, run=given)
    assert made.parameters == SHAPE
    model, _ = await called(made, {"x": "5"})
    assert model.x == 5
    with pytest.raises(ToolFailed, match="  - arguments: x is left of the page"):
        made.validate({"x": -1})


async def test_a_real_pydantic_model_makes_a_tool() -> None:
    pydantic = pytest.importorskip("pydantic")
    inner = pydantic.create_model("Inner", n=(int, pydantic.Field(gt=0, description="Count")))
    model = pydantic.create_model("Model", inner=(inner, ...), name=(str, "me"))
    made = make_tool(name="move", description="Move.", params=model, run=given)
    assert made.parameters["properties"]["inner"] == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "Count", "exclusiveMinimum": 0}},
        "required": ["n"],
    }
    value, _ = await called(made, {"inner": '{"n": "5"}'})
    assert value == model(inner=inner(n=5))
    with pytest.raises(ToolFailed, match=r"  - inner\.n: must be more than 0 \(got 0\)"):
        made.validate({"inner": {"n": 0}})


@pytest.mark.behaviour("bad-registrations-are-refused")
@pytest.mark.parametrize("params", [None, int, {"type": "array"}, object])
def test_a_tool_without_a_usable_schema_is_refused_when_it_is_made(params: Any) -> None:
    with pytest.raises(BadSchema):
        make_tool(name="bad", description="Bad.", params=params, run=given)


async def test_a_plain_async_function_is_a_tool() -> None:
    @tool
    async def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    assert (add.name, add.description, add.execution_mode) == (
        "add",
        "Add two numbers.",
        "parallel",
    )
    assert await called(add, {"a": "2"}) == 3


async def test_the_decorator_accepts_the_fields_of_a_tool() -> None:
    @tool(name="sum", label="Sum", execution_mode="sequential", replay="safe")
    async def add_up(numbers: list[int]) -> int:
        return sum(numbers)

    assert (add_up.name, add_up.label, add_up.execution_mode) == ("sum", "Sum", "sequential")
    assert (add_up.replay, add_up.description) == ("safe", "sum")
    assert await called(add_up, {"numbers": "[1, 2]"}) == 3
    with pytest.raises(ToolFailed, match=r'^Validation failed for tool "sum":'):
        add_up.validate({})


async def test_a_sync_function_runs_in_a_thread_and_reports_progress_in_the_loop() -> None:
    loop_thread = threading.current_thread()
    seen: list[tuple[str, bool]] = []

    @tool
    def work(ctx: ToolContext, steps: int) -> bool:
        for step in range(steps):
            ctx.update(ToolResult.of(str(step)))
        return threading.current_thread() is loop_thread

    def update(result: ToolResult) -> None:
        block = result.content[0]
        assert isinstance(block, Text)
        seen.append((block.text, threading.current_thread() is loop_thread))

    assert "ctx" not in work.parameters["properties"]
    assert await work.run(work.validate({"steps": 2}), ToolContext("call", update)) is False
    assert seen == [("0", True), ("1", True)]


async def test_an_awaitable_returned_by_a_sync_function_is_awaited() -> None:
    async def later() -> str:
        return "done"

    made = make_tool(name="x", description="X.", params=SHAPE, run=lambda params, ctx: later())
    assert await called(made, {"x": 1}) == "done"


async def test_stop_iteration_in_a_sync_tool_raises_and_does_not_hang() -> None:
    @tool
    def first(names: list[str]) -> str:
        return next(iter(names))

    with pytest.raises(RuntimeError, match="The tool raised StopIteration"):
        await called(first, {"names": []})


async def test_an_exception_of_a_tool_function_is_raised_to_the_loop() -> None:
    @tool
    def fail() -> None:
        raise ToolFailed("No such thing.")

    with pytest.raises(ToolFailed, match=r"^No such thing\.$"):
        await called(fail, {})


# -------------------------------------------------------------------------------------------------


@pytest.mark.behaviour("empty-tool-result-placeholder")
@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_an_empty_return_value_becomes_the_text_no_output(nothing: Any) -> None:
    assert to_tool_result(nothing) == ToolResult.of("(no output)")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("words", (Text(text="words"),)),
        (Text(text="words"), (Text(text="words"),)),
        (PICTURE, (PICTURE,)),
        (["see", PICTURE], (Text(text="see"), PICTURE)),
        ((Text(text="a"), Text(text="b")), (Text(text="a"), Text(text="b"))),
        ({"a": [1, None]}, (Text(text='{"a":[1,null]}'),)),
        (["a", "b"], (Text(text='["a","b"]'),)),
        ([], (Text(text="[]"),)),
        (False, (Text(text="false"),)),
        (Point(1), (Text(text='{"x":1}'),)),
        (ReadParams(path="a"), (Text(text='{"path":"a","firstLine":1}'),)),
        ({1: Path("a")}, (Text(text='{"1":"a"}'),)),
        ("\ud800", (Text(text="\ud800"),)),
        (["\ud800x"], (Text(text='["x"]'),)),
    ],
)
def test_a_return_value_becomes_content_blocks(value: Any, content: Any) -> None:
    assert to_tool_result(value) == ToolResult(content=content)


def test_a_returned_tool_result_is_unchanged() -> None:
    result = ToolResult(content=(Text(text=""),), details={"a": 1}, is_error=True)
    assert to_tool_result(result) is result
    assert to_tool_result(ToolResult()) == ToolResult()


def test_a_returned_pydantic_model_is_written_as_json() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", path=(Path, Path("a")))
    assert to_tool_result([model()]) == ToolResult.of('[{"path":"a"}]')


def test_a_return_value_that_cannot_be_encoded_becomes_an_error_result() -> None:
    class Broken:
        def model_dump(self, *, mode: str) -> Any:
            raise ZeroDivisionError("no")

    circle: list[Any] = []
    circle.append(circle)

    async def events() -> AsyncIterator[int]:
        yield 1

    for value in (object(), circle, {1j: 1}, Broken(), events()):
        result = to_tool_result(value)
        assert result.is_error
        assert isinstance(result.content[0], Text)
        assert "cannot be written as JSON" in result.content[0].text


def test_a_huge_result_is_truncated_with_a_notice() -> None:
    notice = "[Output cut: only the first 1,000,000 of 1,000,015 characters are shown.]"
    huge = ToolResult(
        content=(Text(text="a" * 10), PICTURE, Text(text="b" * MAX_TEXT), Text(text="c" * 5)),
        details=1,
    )
    assert to_tool_result(huge) == ToolResult(
        content=(
            Text(text="a" * 10),
            PICTURE,
            Text(text="b" * (MAX_TEXT - 10)),
            Text(text=notice),
        ),
        details=1,
    )
    assert to_tool_result("x" * MAX_TEXT) == ToolResult.of("x" * MAX_TEXT)
