"""Run the command line in forked processes, each with limits, as if it had been started by itself.

The parent imports everything once, so that a case takes a tenth of a second rather than five. It must have
started no threads by then: a forked process has none of them, and waits forever for the locks they held.
"""

import contextlib
import gc
import importlib
import io
import os
import pkgutil
import resource
import select
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

MEMORY = 3 << 29  # bytes that a case may take, beyond those of its parent
SECONDS = 300.0  # that a case may take in all, on a machine that does other things as well
CPU_SECONDS = 25  # of one core


@dataclass(frozen=True)
class Ending:
    code: int  # negative for a signal
    hung: bool  # it had to be killed
    stdout: str
    stderr: str
    seconds: float  # of one core


def warm_up():
    """Import and compile what a run needs; raise an error if that started a thread."""
    import subsvms

    for module in pkgutil.walk_packages(subsvms.__path__, "subsvms."):
        importlib.import_module(module.name)
    for name in ("csv", "dataset", "feather", "ipc", "parquet", "json"):
        importlib.import_module(f"pyarrow.{name}")
    for name in ("pyreadstat", "python_calamine"):  # and not deltalake, which starts a thread
        importlib.import_module(name)
    correct_something()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["subsvms", "correct"]
        subsvms.__main__.main()  # the first call of a command makes its options, which takes long
    n_threads = len(os.listdir("/proc/self/task"))
    if n_threads > 1:
        raise RuntimeError(f"{n_threads} threads have started: a process with threads cannot be forked")
    gc.collect()
    gc.freeze()  # the children do not have to copy these objects


def correct_something():
    """Compile what corrects labels and draws the report, for each kernel."""
    import numpy as np
    import pandas as pd

    from subsvms import SubSVMClassifier, correct_labels
    from subsvms.app.report import draw_charts
    from subsvms.app.report.text import open_templates

    rng = np.random.default_rng(0)
    for n_classes, kernel in ((2, "rbf"), (3, "rbf"), (2, "linear"), (2, "poly")):
        y = rng.integers(0, n_classes, 60)
        X = pd.DataFrame(rng.normal(2.0 * y[:, None], 1, (60, 3)), columns=list("abc"))
        estimator = SubSVMClassifier(n_estimators=20, kernel=kernel)
        draw_charts(correct_labels(X, y, estimator=estimator, random_state=0))
    open_templates().get_template("report.html")


def run_command(words, place, **options):
    """Run `subsvms` with these words in the folder `place`, and wait until it ends."""
    return wait_for(start_command(words, place, **options), place)


def run_well(words, place, **options):
    ending = run_command(words, place, **options)
    if ending.code != 0:
        raise RuntimeError(f"{words} failed with {ending.code}: {ending.stderr}")


def start_command(words, place, *, stdin=b"", stdout=None, fresh=False, there=None):
    """Start `subsvms` with these words in a process of its own, and return the number of the process.

    It works in the folder `place`, or in `there`; the one above gets what is printed, if `stdout` names no
    other file, and a folder for temporary files. A `fresh` one starts Python again, without limits, as a
    user does.
    """
    for name, data in (("stdin", stdin), ("stdout", b""), ("stderr", b"")):
        (place.parent / name).write_bytes(data)
    (place.parent / "tmp").mkdir(exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        become_command(words, place, stdout, fresh, there or place)
    return child


def wait_for(child, place):
    """Wait until a process ends; kill it, and what it started, if that takes too long."""
    handle = os.pidfd_open(child)
    hung = not select.select([handle], [], [], SECONDS)[0]
    os.close(handle)
    if hung:
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what it started ends with it
    _, status, usage = os.wait4(child, 0)
    said = [(place.parent / name).read_text("utf-8", "replace") for name in ("stdout", "stderr")]
    return Ending(os.waitstatus_to_exitcode(status), hung, *said, usage.ru_utime + usage.ru_stime)


def become_command(words, place, stdout, fresh, there):
    """Do what the command does, and end as it ends. Never returns."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # until the command has begun
        os.setsid()
        for handle, name, mode in ((0, "stdin", "rb"), (1, "stdout", "wb"), (2, "stderr", "wb")):
            with open(place.parent / name, mode) as file:
                os.dup2(file.fileno(), handle)
        if stdout is not None:
            os.dup2(os.open(stdout, os.O_WRONLY), 1)
        os.chdir(there)
        if fresh:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(sys.executable, [sys.executable, "-m", "subsvms", *words])
        sys.stdin, sys.stdout, sys.stderr = (open(n, mode, closefd=False) for n, mode in enumerate("rww"))
        tempfile.tempdir = str(place.parent / "tmp")
        sys.argv = ["subsvms", *words]
        limit_resources()
        import subsvms.__main__

        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if words[0] == "media":
                show_media(words[1:])
            else:
                subsvms.__main__.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        sys.stdout.flush()
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def show_media(names):
    """Read pictures and sounds as the pages do, and say which are not shown."""
    from subsvms.app.desk.media import NotShown, measure, read_media

    for name in names:
        try:
            data, kind = read_media(Path(), name)
            print(kind, len(data), measure(data, kind) if kind.startswith("image") else "")
        except NotShown as error:
            print(ascii(str(error)))


def limit_resources():
    lines = Path("/proc/self/status").read_text().splitlines()
    (used,) = (1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
