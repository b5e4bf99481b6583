from __future__ import annotations

import json
import subprocess
import sys

from tests.modules import inside

IMPORT_ALL = """
import importlib, json, pkgutil, sys
import pi.agent
for module in pkgutil.walk_packages(pi.agent.__path__, "pi.agent."):
    importlib.import_module(module.name)
json.dump(sorted(sys.modules), sys.stdout)
"""

BELOW = ("pi.agent", "pi.ai", "pi.base")
FORBIDDEN = ("httptools", "pi.ai.http", "pi.base.files", "pi.base.processes", "pi.base.json_lines")


def test_the_agent_layer_loads_no_http_client_no_disk_and_nothing_above_it() -> None:
    child = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, check=True, timeout=60
    )

    loaded = json.loads(child.stdout)

    assert "pi.agent.loop" in loaded
    ours = [module for module in loaded if module.startswith("pi.")]
    assert [module for module in ours if not inside(module, BELOW)] == []
    assert [module for module in loaded if inside(module, FORBIDDEN)] == []
