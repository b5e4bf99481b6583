"""What extensions show and ask on this screen, and the keys and views that they bring.

Everything is put into places that the frame keeps for it; other regions do not know this one.
"""
