"""Run the command line: `python -m subsvms`, and the command `subsvms`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is a sentence, too."""
    try:
        from subsvms.app.cli.main import app

        app(prog_name="subsvms")
    except KeyboardInterrupt:
        print("subsvms: stopped; nothing was written.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
