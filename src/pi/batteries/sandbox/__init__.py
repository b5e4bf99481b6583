"""The sandbox: programs that pi starts for a model run inside the limits of the kernel."""
