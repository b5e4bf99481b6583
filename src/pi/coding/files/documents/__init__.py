"""Documents as text: HTML, PDF and notebooks, converted in a child process with limits.

``convert`` starts the child; ``converter`` is its program and ``html_markdown`` its HTML writer. A
hostile page can take minutes and gigabytes: pi itself never parses one.
"""
