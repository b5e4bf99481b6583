"""The web page: one file that needs no network, holds no script made from data and trusts no text.

Everything is written as HTML here; the page's own script only shows, hides and finds.
"""
