"""The sandbox: the operating system limits what programs that pi starts for a model can do."""
