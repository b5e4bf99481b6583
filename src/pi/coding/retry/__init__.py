"""Asking again after a failure that may pass: how long to wait, and the policy that does it.

Must not know sessions, screens or what is asked.
"""
