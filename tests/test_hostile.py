"""Damaged files end in a right answer or in one sentence: no crash, no hang, no traceback."""

import signal
import warnings
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.hostile.damage import damage
from tests.hostile.sources import sources

from naively.read import fence
from naively.read.errors import InputError

SECONDS = 5  # of a processor, that one file may take
STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 65535), st.integers(0, 65535)),
    min_size=1, max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile"), sources(tmp_path_factory.mktemp("made"))


@pytest.fixture
def limit(monkeypatch):
    """Let a file that is never read to its end fail; HDF5 is tried out in tests of the fence."""
    monkeypatch.setattr(fence, "_fault", lambda *_: "")

    def stop(*_):
        raise AssertionError(f"not read in {SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def test_undamaged_they_are_read(files):
    folder, known = files
    for source in known.values():
        path = folder / source.file
        path.write_bytes(source.content)
        assert source.read(path) is not None


@settings(
    max_examples=400, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data(), steps=STEPS)
def test_damaged_they_are_read_or_refused_in_one_sentence(files, limit, data, steps):
    folder, known = files
    # HDF5 itself may break down over a damaged file, and this process with it.
    source = known[data.draw(st.sampled_from([n for n in known if ".h5ad" not in n]))]
    path = folder / source.file
    path.write_bytes(damage(source.content, steps))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    refusals = ValueError if source.name == "record.npz" else InputError
    with warnings.catch_warnings(), suppress(refusals):
        warnings.simplefilter("error")
        source.read(path)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(steps=STEPS, which=st.sampled_from(["dense", "chunks", "csr", "csc"]))
def test_damaged_hdf5_is_read_or_refused(files, steps, which):
    folder, known = files
    source = known[f"{which}.h5ad"]
    path = folder / source.name
    path.write_bytes(damage(source.content, steps))
    with suppress(InputError):
        source.read(path)
