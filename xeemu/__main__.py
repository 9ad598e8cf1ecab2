"""`python -m xeemu`: the command line, where the command `xeemu` is not on the path."""

import sys

from xeemu.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
