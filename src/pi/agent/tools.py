"""pi.agent.tools"""

from __future__ import annotations
