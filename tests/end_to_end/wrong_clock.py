"""`mesh` on a machine whose clock is wrong: python -m tests.end_to_end.wrong_clock SECONDS mesh COMMAND … No test lives here."""

import sys
import time

_time, _time_ns = time.time, time.time_ns


def main() -> int:
    """Run a command with the wall clock off by so many seconds; timers and sockets keep the right one."""
    offset = int(sys.argv[1])
    time.time = lambda: _time() + offset
    time.time_ns = lambda: _time_ns() + offset * 1_000_000_000
    from mesh.cli.main import run

    return run(sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
