"""Programs to measure beside each other: the same answers with an agent, and with nothing around.

Each is run with ``python -m`` and takes a number. Answers come from memory, without a network, a
wire or a pause, so that what is left is the cost of the loop.
"""
