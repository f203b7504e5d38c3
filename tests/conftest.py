import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    # If two processes add to one cache at once, numba may mix up their files; and it does not notice a change
    # to a file that is inlined into another.
    package = ROOT / "src" / "subsvms"
    sources = [package / "ensemble" / "_rows.py", *sorted(package.glob("*/_compiled/*.py"))]
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".pytest_cache" / "numba" / version / worker)
    # Every core has a worker: more threads of BLAS and OpenMP would wait for each other, in busy loops.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# The first example of a test compiles; on CI the same examples are tried every time.
settings.register_profile("local", deadline=None, max_examples=30)
settings.register_profile("ci", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_generate_tests(metafunc):
    """Run a test that takes a seed for 0, or for all of SUBSVMS_SEEDS=0-99."""
    if "seed" in metafunc.fixturenames and not hasattr(metafunc.function, "hypothesis"):
        first, _, last = os.environ.get("SUBSVMS_SEEDS", "0").partition("-")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))


@pytest.fixture(scope="session")
def cancer():
    """Rows of a real table, scaled, and their labels."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import minmax_scale

    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X), y


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("SUBSVMS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SUBSVMS_DATA does not name a folder with the LIBSVM files")
    return Path(folder)
