"""Authentication: the credential store, API keys, logins, and the headers of a request.

``storage`` keeps credentials, ``resolve`` finds the one to use, ``refresh`` renews it, ``sign_in``
gets a new one. Uses the rows of providers, but neither wires nor screens.
"""
