"""Completion: what could be meant by what stands before the cursor.

Providers answer for a text and a place in it; they know nothing of editors or screens, and reach
files only through what they are given.
"""
