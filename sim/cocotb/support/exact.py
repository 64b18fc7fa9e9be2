"""The contract of docs/explanation/jf_correct.md for one word, in whole numbers: no shifts, no widths, no models."""


def exact(word: int, pedestal: list[int], mantissa: list[int], shift: list[int], high_gain: bool) -> int:
    """What the word becomes with the constants of the three stages."""
    if word == 0x8000:
        return -32768
    if 0x8000 < word < 0xC000 or word in (0xFFFF, 0x4000):
        return -32766
    stage = {0: 0, 1: 1, 3: 2}[word // 0x4000]
    if not mantissa[stage]:
        return -32767
    if word == 0xC000 or (high_gain and word == 0x3FFF):
        return 32767
    charge = (4 * (word % 0x4000) - pedestal[stage]) * (-1 if stage else 1)
    unit: int = 2 ** shift[stage]
    rounded = (2 * charge * mantissa[stage] + unit) // (2 * unit)
    return max(-32700, min(32700, rounded))
