"""Run the command line: `python -m subsvms`, and the command `subsvms`."""

import gc
import signal
import sys


def main() -> None:
    """Run the command line; a missing extra, or Ctrl-C while it is still loading, gives one sentence."""
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


if __name__ == "__main__":
    main()
