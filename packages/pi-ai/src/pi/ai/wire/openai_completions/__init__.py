"""OpenAI Chat Completions, as OpenAI and all compatible servers implement it.

The quirks of servers arrive as flags of the model (``compat``); nothing else here names a server.
Independent of other wires.
"""

from pi.ai.wire.openai_completions.request import answer

__all__ = ["answer"]
