"""What stands between a writer and a memory that may stop for good: who owes how many answers to whom."""


class WriteGuard:
    """`write_guard.sv`, cycle by cycle, of what is seen at its ports.

    `due`: bursts that the writer waits to be answered for. `owed`: bursts that the memory will answer and nobody waits
    for. While it `answers`, nothing of the writer reaches the memory. `passed`: bursts that the memory was asked for.
    """

    def __init__(self) -> None:
        self.due = self.owed = self.passed = 0
        self.answers = False

    @property
    def owes(self) -> bool:
        """Whether the memory owes answers."""
        return bool(self.due or self.owed)

    @property
    def swallows(self) -> bool:
        """Whether an answer of the memory in this cycle is for nobody."""
        return self.answers or bool(self.owed)

    def cycle(self, *, gives_up: bool, asked: bool, answered: bool, came: bool) -> None:
        """What happens in a cycle: the memory is late, or given up; the writer gives the address of a burst.

        And the writer is answered; the memory answers.
        """
        self.passed += asked and not self.answers
        self.owed -= came and self.swallows
        self.due += asked - answered
        answers = gives_up or (self.answers and self.due > 0)
        if answers and not self.answers:
            self.owed += self.due
        self.answers = answers
