"""`python -m tests.fuzz --minutes 20`, as `make fuzz` calls it."""

import argparse
import sys
import time

from tests.fuzz.campaign import fuzz, replay

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=fuzz.__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--inputs", type=int, default=None)
    parser.add_argument("--no-save", action="store_true")
    parser.add_argument("--replay", action="store_true", help="only the saved inputs")
    chosen = parser.parse_args()
    if chosen.replay:
        sys.exit(1 if replay() else 0)
    seed = chosen.seed if chosen.seed is not None else int(time.time())
    sys.exit(1 if fuzz(chosen.minutes, seed, chosen.inputs, not chosen.no_save) else 0)
