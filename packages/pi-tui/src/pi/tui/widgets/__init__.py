"""Ready-made components: text, lists, loaders, images, Markdown, inputs.

Widgets accept untrusted text and pass it through ``pi.base.terminal_text`` once, when it is set.
Only the escape sequences that they add reach the screen. Styles are passed in as functions; widgets
are independent of theme files.
"""
