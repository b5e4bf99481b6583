"""A running session: assembled from the layers below, used by modes through the session port.

``assemble`` is the only module that imports every part. Nothing here imports modes or screens.
"""
