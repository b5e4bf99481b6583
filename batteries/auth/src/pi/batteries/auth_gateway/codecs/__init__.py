"""The formats of the gateway's clients: requests are decoded, responses encoded. Pure.

One module per format, each with ``decode_request`` and an encoder; ``served`` has what they share.
"""
