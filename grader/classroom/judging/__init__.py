"""Judge what a run emitted, outside the kernel."""
