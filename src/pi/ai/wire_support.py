"""pi.ai.wire_support"""

from __future__ import annotations
