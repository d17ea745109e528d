"""The built-in node types, a file each."""
