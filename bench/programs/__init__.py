"""Programs to measure beside each other: the same question with ``pi.ai`` and with vendors' SDKs.

Each is a script that takes URL, API and MODEL…, asks once per MODEL, reads the answer event by
event, and prints a line for each: the length of the text, the CPU time that the whole process had
used when the first delta came, and the CPU time from asking to the end, both in ms.
"""
