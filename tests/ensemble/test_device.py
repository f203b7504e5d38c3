"""The vote on a GPU has the bits of the CPU; without a GPU, a C++ compiler builds the same code."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from ensemble.emulated_gpu import COMPILER, EmulatedGPU, emulate
from scipy import sparse

import subsvms.ensemble._device as device_module
from subsvms import SubSVMClassifier, correct_labels
from subsvms._effort import Effort
from subsvms.correction import _choice
from subsvms.ensemble._device import GPUBooth, count_gpus, explain_refusal, find_device, find_own_gpu
from subsvms.ensemble._votes import count_votes
from subsvms.exceptions import DeviceError, InputError


def needs_gpu(test):
    has_none = not count_gpus() and COMPILER is None
    return pytest.mark.slow(pytest.mark.skipif(has_none, reason="needs a GPU, or g++")(test))


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    return EmulatedGPU(tmp_path_factory.mktemp("gpu"))


@pytest.fixture
def gpu(monkeypatch, emulated):
    """Vote on a GPU where "cuda" is asked for, real or emulated."""
    if not count_gpus():
        emulate(monkeypatch, emulated)


def make_table(seed, n_rows=90, n_features=5, n_classes=2):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_classes
    return rng.normal(0.3 + 0.4 * labels[:, None] / n_classes, 0.15, (n_rows, n_features)), labels


def make_voters(**options):
    X, y = make_table(0)
    return X, SubSVMClassifier(n_estimators=3, random_state=0, **options).fit(X, y).voters_


def assert_same(votes, others):
    for name, array in votes.arrays.items():
        np.testing.assert_array_equal(array, others.arrays[name])


@needs_gpu
@pytest.mark.parametrize("shape, shift, options", [
    ({}, 0.0, {}),
    ({}, 0.0, {"kernel": "linear"}),
    ({"n_classes": 4}, 0.0, {}),
    ({}, 3.0, {"C": 1e9}),  # votes in double precision
    ({"n_features": 11}, 0.0, {"subsample_size": 30}),
    ({"n_features": 70}, 0.0, {}),
    ({}, 3.0, {"kernel": "linear", "C": 1e9}),
    ({}, 0.0, {"n_estimators": 350, "subsample_size": 10}),  # more SVMs than a block of threads takes
])  # fmt: skip
def test_training_and_new_rows_get_the_bits_of_the_cpu(gpu, shape, shift, options, seed):
    (X, y), (new, _) = make_table(seed, **shape), make_table(seed + 1000, **shape)
    cpu, gpu = (
        SubSVMClassifier(random_state=seed, device=device, **{"n_estimators": 7} | options).fit(X + shift, y)
        for device in ("cpu", "cuda")
    )
    assert_same(cpu.oob_votes_, gpu.oob_votes_)
    assert_same(cpu.count_votes(new + shift), gpu.count_votes(new + shift))
    assert (cpu.voters_.intercept.dtype == np.float64) == (shift > 0)


@needs_gpu
@pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")  # the SVMs are few
def test_a_correction_is_the_same_to_the_bit(gpu, monkeypatch):
    X, y = make_table(0, n_rows=60)
    y = np.where(np.arange(60) % 10 == 0, 1 - y, y)
    monkeypatch.setattr(_choice, "MOST_SVMS", 40)
    monkeypatch.setattr(_choice, "LEAST_WEIGHT", 0.0)  # if SVMs are chosen, others rank labels as well
    triples = np.arange(60) // 3
    for estimator, groups in ((SubSVMClassifier(n_estimators=10), None), (None, triples), (None, None)):
        options = {"estimator": estimator, "groups": groups, "random_state": 0}
        cpu, cuda = (correct_labels(X, y, device=name, **options) for name in ("cpu", "cuda"))
        np.testing.assert_array_equal(cpu.labels, cuda.labels)
        np.testing.assert_array_equal(cpu.label_quality, cuda.label_quality)
        assert_same(cpu.votes, cuda.votes)
    assert cpu.votes.second is not None


@needs_gpu
def test_svms_that_saw_the_group_of_a_row_are_not_heard_on_a_gpu_either(gpu):
    X, voters = make_voters()
    bags = np.append(0, np.cumsum(np.arange(len(X)) % 3)), np.tile([0, 1, 2], len(X) // 3)
    votes = [count_votes(voters, X, Effort(device=name), bags=bags) for name in ("cpu", "cuda")]
    assert_same(*votes)
    assert (votes[0].n_voters == 3 - np.arange(len(X)) % 3).all()


@needs_gpu
def test_features_that_no_training_row_has_count_in_the_length_of_a_row(gpu):
    X, y = make_table(0)
    X[:, 2] = 0.0
    voters = SubSVMClassifier(n_estimators=4, random_state=0).fit(sparse.csr_array(X), y).voters_
    X[:, 2] = 1e20
    X[:5, 2] = 0.7
    assert_same(count_votes(voters, X, Effort(device="cuda")), count_votes(voters, X))


@needs_gpu
def test_a_block_without_memory_is_halved_and_a_small_one_is_an_error(gpu, monkeypatch):
    X, voters = make_voters()
    whole, sizes = GPUBooth._vote, []

    def vote(self, poll, first, last):
        sizes.append(last - first)
        if last - first > 30:
            raise MemoryError("out of memory")
        whole(self, poll, first, last)

    monkeypatch.setattr(GPUBooth, "_vote", vote)
    monkeypatch.setattr(device_module, "LEAST_ROWS", 16)
    assert_same(count_votes(voters, X, Effort(device="cuda")), count_votes(voters, X))
    assert sizes == [90, 45, 22, 23, 45, 22, 23]
    monkeypatch.setattr(device_module, "LEAST_ROWS", 64)
    with pytest.raises(DeviceError, match="The GPU has no memory for 45 rows"):
        count_votes(voters, X, Effort(device="cuda"))


@needs_gpu
def test_a_gpu_that_stops_answering_is_one_sentence(gpu, monkeypatch):
    X, y = make_table(0)
    model = SubSVMClassifier(n_estimators=3, random_state=0).fit(X, y)

    def fail(booth, *_):
        kind = booth.gpu.failures[0]
        if kind is RuntimeError:
            raise RuntimeError("cudaErrorLaunchFailure: unspecified launch failure\nand more")
        raise kind(719)  # CUDA's number for the same

    monkeypatch.setattr(GPUBooth, "_vote", fail)
    with pytest.raises(DeviceError, match=r"The GPU failed \(cudaErrorLaunchFailure: unsp[a-z ]*\); d"):
        model.set_params(device="cuda").predict(X)


@needs_gpu
def test_a_gpu_whose_votes_have_another_bit_is_refused(gpu, monkeypatch):
    X, voters = make_voters()
    vote = GPUBooth._vote

    def vote_with_other_bits(booth, poll, first, last):
        vote(booth, poll, first, last)
        poll.votes.sums[first] = np.nextafter(poll.votes.sums[first], 9.0)

    monkeypatch.setattr(GPUBooth, "_vote", vote_with_other_bits)
    for _ in range(2):
        with pytest.raises(DeviceError, match="differ from those of the CPU: use device='cpu'"):
            count_votes(voters, X, Effort(device="cuda"))


def test_a_gpu_must_exist_and_auto_takes_the_cpu_or_that_of_the_table(monkeypatch):
    X, voters = make_voters()
    monkeypatch.setattr(device_module, "require_extra", lambda *_: None)
    for n_gpus, device, message in [
        (0, "cuda", "there is no GPU with CUDA here; device='cpu' gives the same"),
        (0, "gpu", "device must be 'cpu', .* or 'auto'; got 'gpu'"),
        (2, "cuda:2", "'cuda:2' is not possible: the last GPU here is 'cuda:1'; device"),
    ]:
        monkeypatch.setitem(sys.modules, "cupy", CountingCuPy(n_gpus))
        with pytest.raises(InputError, match=message):
            find_device(device, voters, X)
    held = SimpleNamespace(device=SimpleNamespace(id=1))
    assert find_device("cuda:1", voters, X) == 1
    assert find_device("cuda:0", voters, held) == find_device("auto", voters, held) == 1
    monkeypatch.setitem(sys.modules, "cupy", CountingCuPy(0))
    assert find_device("auto", voters, X) is None and find_device("cpu", voters, X) is None


class CountingCuPy:
    """What `find_own_gpu` needs of CuPy, with so many GPUs."""

    def __init__(self, n_gpus):
        runtime = SimpleNamespace(getDeviceCount=lambda: n_gpus)
        self.cuda = SimpleNamespace(runtime=runtime, is_available=lambda: n_gpus > 0)


def test_threads_send_svms_to_a_gpu_once(monkeypatch):
    X, voters = make_voters()
    sent = []

    def send(*_):
        time.sleep(0.05)  # a thread that did not wait would send them too
        sent.append(1)

    monkeypatch.setattr(device_module, "GPU", lambda _: SimpleNamespace(failures=()))
    monkeypatch.setattr(device_module, "GPUBooth", send)
    monkeypatch.setattr(device_module, "_booths", {})
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: device_module.find_booth(voters, 0), range(4)))
    assert sent == [1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("n_gpus", "expected"), [(1, [0, 0, 0]), (2, [0, 1, 0]), (4, [0, 1, 2])])
def test_workers_of_dask_take_turns_with_the_gpus_that_they_see(monkeypatch, tmp_path, n_gpus, expected):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "cupy", CountingCuPy(n_gpus))
    assert find_own_gpu() == 0  # outside a worker
    options = {"n_workers": 3, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, local_directory=tmp_path) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        names = {worker.name: worker.address for worker in cluster.workers.values()}
        found = [
            client.submit(find_own_gpu, workers=[names[number]], pure=False).result() for number in range(3)
        ]
    assert found == expected


def test_what_a_gpu_does_not_vote_on_stays_on_the_cpu_and_is_named(monkeypatch):
    X, voters = make_voters()
    assert explain_refusal(voters, X) is None
    _, other = make_voters(kernel="poly")
    assert explain_refusal(other, X) == "on a GPU the kernel must be 'rbf' or 'linear'"
    assert explain_refusal(voters, sparse.csr_array(X)) == "a sparse table is voted on by the CPU"
    monkeypatch.setattr(device_module, "count_gpus", lambda: 1)
    monkeypatch.setattr(device_module, "require_extra", lambda *_: None)
    assert find_device("auto", voters, sparse.csr_array(X)) is None
    monkeypatch.setattr(device_module, "MOST_BYTES", 2**6)
    assert find_device("auto", voters, X) is None
    with pytest.raises(InputError, match="too many SVMs for a GPU; device='cpu' gives the same result"):
        find_device("cuda", voters, X)
