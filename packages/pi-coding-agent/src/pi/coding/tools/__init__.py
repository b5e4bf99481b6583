"""The built-in tools. The description of each tool for the model is an ``.md`` file beside them.

Views, not tools, define how a call looks on the screen. Dependencies of a tool are passed to the
function that builds it.
"""
