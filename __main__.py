"""``python -m draftproof``: the command line."""

from .reports.commands.main import main

if __name__ == "__main__":
    main()
