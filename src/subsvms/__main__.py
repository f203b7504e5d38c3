"""Run the command line: `python -m subsvms`, and the command `subsvms`."""

import _thread
import gc
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Run the command line; a missing extra, or Ctrl-C while it is still loading, gives one sentence."""
    sys.unraisablehook = repeat_stop
    try:
        try:
            import subsvms.app  # noqa: F401
        except ImportError as error:
            print(f"subsvms: {error}", file=sys.stderr)
            sys.exit(2)
        from subsvms.app.cli.main import app

        app(prog_name="subsvms")
    except KeyboardInterrupt:
        print("subsvms: stopped.", file=sys.stderr)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: Python may end undisturbed,
        gc.freeze()  # and without a last search for garbage, which takes longer than many a command


def repeat_stop(lost: Any) -> None:
    """Repeat a Ctrl-C that came where nothing can be raised, such as in a finalizer, and would be lost."""
    if lost.exc_type is not KeyboardInterrupt:
        return sys.__unraisablehook__(lost)
    again = threading.Timer(0.01, interrupt)  # at once it would be lost in here
    again.daemon = True
    again.start()


def interrupt() -> None:
    """Do what Ctrl-C does, from another thread; where that is possible a wait ends, too."""
    main_thread = threading.main_thread().ident
    if main_thread is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread, signal.SIGINT)
    else:  # on Windows
        _thread.interrupt_main()


if __name__ == "__main__":
    main()
