# SPDX-License-Identifier: GPL-2.0-only
"""`python3 -m zerolag tune`: what `zerolag tune` starts. All other commands are the program's."""

import sys

if __name__ == "__main__":
    if sys.argv[1:2] != ["tune"]:
        sys.exit("zerolag: the package has one command, python3 -m zerolag tune; all others are those of the program zerolag")
    from zerolag._tune.command import run

    run(sys.argv[2:])
