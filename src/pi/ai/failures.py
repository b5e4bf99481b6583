"""pi.ai.failures"""

from __future__ import annotations
