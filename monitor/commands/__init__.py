"""One file a command; ``monitor.cli`` reads their arguments."""
