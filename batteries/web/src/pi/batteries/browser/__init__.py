"""``browser``: the model operates an installed Chromium.

pi drives the browser over the DevTools protocol. A proxy of pi, its only way to the network,
enforces the address policy.
"""
