"""What was said and done, from top to bottom: blocks that grow, become final and then stay.

Knows nothing of the composer or of the status lines; it hears the session's events.
"""
