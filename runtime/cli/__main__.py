"""`python -m runtime.cli` is `farthing`."""

from runtime.cli.entry import main

if __name__ == "__main__":
    main()
