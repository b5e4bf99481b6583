"""A session that runs: everything below put together, and the port through which modes use it.

``assemble`` is the only module that knows everyone. Must not know modes or screens.
"""
