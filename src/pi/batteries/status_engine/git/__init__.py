"""The branch and the changed lines of a repository, looked for now and then and never waited for.

The branch is read from git's own files. ``git`` itself is run only where the project is trusted
and the repository's configuration cannot start programs.
"""
