from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.ai.errors import ProviderError
from pi.ai.local.download import has_engine
from pi.ai.local.server import LocalServer


@pytest.mark.skipif(not has_engine(), reason="xllamacpp is not installed; not tested: its errors")
async def test_an_invalid_model_file_raises_a_one_line_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"not a model")
    server = LocalServer(file, context=512, environ=dict(os.environ))

    with pytest.raises(ProviderError, match="could not be started with") as caught:
        await server.address()

    assert "\n" not in str(caught.value)
    await server.close()
