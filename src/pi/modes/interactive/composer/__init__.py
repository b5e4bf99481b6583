"""What is being written: the editor, what waits to be delivered, and what keys mean there.

Knows nothing of the transcript or of the status lines.
"""
