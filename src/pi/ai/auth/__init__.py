"""Who pays: the credential store, keys, logins, and what a request takes along.

``storage`` keeps credentials, ``resolve`` finds the one to use, ``refresh`` renews it, ``sign_in``
gets a new one. Knows providers only as rows of data, and nothing of wires or screens.
"""
