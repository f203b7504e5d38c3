"""Run the command line: `python -m subsvms`, and the command `subsvms`."""

import sys


def main() -> None:
    """Run the command line; a missing extra, or Ctrl-C while it is still loading, gives one sentence."""
    try:
        import subsvms.app  # noqa: F401
    except ImportError as error:
        print(f"subsvms: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        from subsvms.app.cli.main import app

        app(prog_name="subsvms")
    except KeyboardInterrupt:
        print("subsvms: stopped; nothing was written.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
