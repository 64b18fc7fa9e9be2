"""What stands between a reader and a memory that may stop for good: who owes how many beats to whom."""


class ReadGuard:
    """`read_guard.sv`, event by event.

    `due`: beats that the reader waits for. `owed`: beats that the memory will give and nobody waits for. While it
    `answers`, the reader's requests do not reach the memory.
    """

    def __init__(self) -> None:
        self.due = self.owed = 0
        self.answers = False

    def asked(self, beats: int) -> None:
        """The reader asks for so many beats."""
        self.due += beats

    def begin(self) -> None:
        """From now on it answers for the memory: what is due was asked of it, and comes when nobody waits any more."""
        if not self.answers:
            self.owed += self.due
        self.answers = True

    def end(self) -> None:
        """The reader's requests go to the memory again."""
        assert not self.due
        self.answers = False

    def came(self) -> bool:
        """A beat from the memory; whether it is for the reader."""
        if self.owed:
            self.owed -= 1
            return False
        assert not self.answers
        self.due -= 1
        return True

    def answered(self) -> None:
        """A beat with an error for the reader."""
        assert self.answers
        self.due -= 1
