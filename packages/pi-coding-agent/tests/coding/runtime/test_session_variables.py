"""Image limits and variables that tools get from the session."""

from __future__ import annotations

from pathlib import Path

from pi.ai.models.model import ImageLimits as ModelLimits
from pi.ai.models.model import ImageResize, InputLimits
from pi.base.records import replace
from pi.coding.runtime.live import image_limits
from pi.coding.tools.images import ImageLimits
from tests.coding.runtime.session_fixture import SessionFixture


async def test_image_limits_follow_the_model_and_the_settings(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/settings.json", '{"images": {"autoResize": false}}')
    session = await fixture.open()
    core = session._core
    assert image_limits(core) == ImageLimits(resize=False)
    small = ModelLimits(resize=ImageResize(max_width=5, max_height=6, max_bytes=7))
    core.agent.model = replace(core.agent.model, input_limits=InputLimits(images=small))

    assert image_limits(core) == ImageLimits(max_width=5, max_height=6, max_bytes=7, resize=False)
    await session.close()


async def test_a_session_in_memory_has_no_file_variable(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(persistent=False)
    variables = session._bootstrap._tool_support.variables()
    await session.close()

    assert "PI_SESSION_FILE" not in variables
    assert variables["PI_SESSION_ID"] == session.entries.log.header.id
