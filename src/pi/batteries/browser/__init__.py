"""``browser``: the model operates an installed Chromium.

The browser is driven over the DevTools protocol. A proxy of ours, which is its only way to the
network, holds it to the address policy.
"""
