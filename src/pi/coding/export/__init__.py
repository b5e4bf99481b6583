"""A session for people to read and pass on: as a web page, Markdown or plain text, or shared.

Must not know screens, commands or how a session is kept; nothing here changes a session.
"""
