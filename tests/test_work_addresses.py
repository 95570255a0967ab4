"""Addresses of schedulers: one that nobody answers at is refused at once, in one sentence."""

import socket

import pytest

from naively.work.addresses import check_answers

EXAMPLE = "tcp://127.0.0.1:8786"


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed():
    with socket.socket() as taken:  # bound and not listening: nobody else answers there either
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:{}", "127.0.0.1:{}", "sc://localhost:{}/;token=x", "sc://localhost"],
)
def test_an_address_that_answers_is_taken(listening, address):
    check_answers(address.format(listening), EXAMPLE, listening)


def test_one_of_several_hosts_must_answer(listening, closed):
    check_answers(f"spark://127.0.0.1:{closed},127.0.0.1:{listening}", EXAMPLE)
    with pytest.raises(
        ValueError, match=f"127.0.0.1:{closed}: no scheduler answers there .*refused"
    ):
        check_answers(f"spark://127.0.0.1:{closed}", EXAMPLE)


@pytest.mark.parametrize(
    "address",
    ["nonsense", "tcp://", "tcp://host", "tcp://host:port", "tcp://host:70000", "a b:1", ""],
)
def test_other_forms_are_refused(address):
    with pytest.raises(ValueError, match=r"must be like tcp://127\.0\.0\.1:8786; got"):
        check_answers(address, EXAMPLE)
