"""The long torture: `python -m tests.torture --coordinator 200 --server 50`. Ends with 1 if anything was amiss.

Commands are forked from a process that reads this file again, so it loads nothing before it is asked to.
"""

import sys

if __name__ == "__main__":
    from tests.torture.torture import main

    sys.exit(main())
