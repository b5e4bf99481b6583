"""The web page: one file without network access, in which all session text is escaped.

All HTML is generated here; the script of the page only shows, hides and searches.
"""
