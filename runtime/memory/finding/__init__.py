"""Finding memory items of one user: `index.MemoryIndex`. It loads numpy, so import it where it is used."""
