"""``python -m fyke`` is ``fyke``."""

from fyke.cli import main

if __name__ == "__main__":
    main()
