"""Ready-made components: text, lists, loaders, images, Markdown, inputs.

Widgets take plain text from anywhere and pass it through ``pi.base.terminal_text`` themselves,
once, when it is set; the only escape sequences that reach the screen are the ones they add. How
things look is passed in as functions that style a string: no widget knows a theme file.
"""
