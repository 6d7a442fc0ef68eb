"""The supervisor with two tiny programs in place of the application's: run as a process by the tests."""

from __future__ import annotations

import sys

from docmemo_site.embedded.programs import Program
from docmemo_site.embedded.supervisor import main

SLEEP = "import time; time.sleep(600)"
# Has a child of its own and does not stop when asked to.
STUBBORN = (
    "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); time.sleep(600)"
)
BROKEN = "import sys; print('broken on purpose'); sys.exit(7)"

PROGRAMS = {
    "plain": (Program("sleeper", (sys.executable, "-c", SLEEP), 3.0, 0.2),),
    "stubborn": (
        Program("sleeper", (sys.executable, "-c", SLEEP), 3.0, 0.2),
        Program("stubborn", (sys.executable, "-c", STUBBORN), 0.5, 0.2),
    ),
    "broken": (Program("broken", (sys.executable, "-c", BROKEN), 3.0, 0.5),),
}

if __name__ == "__main__":
    kind = sys.argv.pop(1)
    failing = kind == "no-migration"
    migrate = (sys.executable, "-c", "import sys; print('no such table'); sys.exit(1)" if failing else "")
    sys.exit(main(PROGRAMS["plain" if failing else kind], migrate))
