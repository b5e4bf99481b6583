"""Documents as text: HTML, PDF and notebooks, converted in a child process with limits.

``convert`` starts the child; ``converter`` is its program, ``html_pages`` reads pages and
``html_markdown`` writes them. A hostile page can take minutes and gigabytes, so pi's own process
never parses one.
"""
