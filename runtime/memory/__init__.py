"""The arithmetic of memory, pure over plain data: requests for model calls go out, replies come in."""
