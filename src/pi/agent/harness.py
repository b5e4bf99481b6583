"""pi.agent.harness"""

from __future__ import annotations
