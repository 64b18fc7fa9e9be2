"""What an RDMA device has counted beside what the sources have sent: somebody else writes to the ring."""

from types import SimpleNamespace

from framelane.receiver import Reception, Tally


def test_writes_of_somebody_else_are_known_where_every_packet_of_the_sources_came_once() -> None:
    known = {
        "tally": Tally(5, 4, 0, 1, 0, 0),
        "writes": 120,
        "packets_sent": 100,
        "sources_ended": True,
        "session": SimpleNamespace(service="UC"),
    }

    def foreign(**changes: object) -> int:
        return int(vars(Reception)["foreign_writes"].fget(SimpleNamespace(**known | changes)))

    assert foreign() == 20
    assert foreign(writes=90) == 0
    assert foreign(writes=None) == foreign(sources_ended=False) == foreign(tally=Tally(5, 3, 0, 1, 0, 1)) == 0
    assert foreign(session=SimpleNamespace(service="RC")) == 0
