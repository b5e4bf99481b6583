"""Trust before bytes: whether anything of a project directory may be read at all.

Looks at names, never into files of the project. Must not know what the files mean.
"""
