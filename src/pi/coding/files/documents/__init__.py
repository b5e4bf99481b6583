"""Documents as text: HTML, PDF and notebooks, converted in a child process with limits.

``convert`` starts the child; ``converter`` is its program, ``html_markdown`` and
``html_visibility`` write HTML. A hostile
page can take minutes and gigabytes: pi itself never parses one.
"""
