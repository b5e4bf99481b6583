"""Secrets: values that are not sent to providers.

``sources`` finds secrets in the environment and in ``secrets.yml``, ``shapes`` has patterns of
keys, ``vault`` replaces values by placeholders and back, ``requests`` applies the vault to requests
(with the metadata of pictures) and answers, and ``adapter`` connects it to a session.
"""
