"""The update of the tracked pedestals of a chip, compiled by numba: as in `models.jf_pedestal`, bit for bit.

A row goes through one short loop after the other. A loop that writes one array becomes vector instructions; one that
writes several does not, since then the compiler cannot tell them apart.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.compiled import compiled
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.models.pedestal.jf_pedestal import CHIP_ALPHA_SHIFT, CHIP_BETA_SHIFT, CHIP_STEP, INVERSE_BITS
from framelane.models.pedestal.jf_pedestal_settings import ALPHA_BITS, BETA_BITS, BLOCK, BLOCK_BITS, GAINS
from framelane.models.pedestal.jf_pedestal_state import (
    LEVEL_BITS,
    MAX_AHEAD,
    MAX_PAUSE,
    RATE_BITS,
    WEIGHT_AFTER_PAUSE,
    Chip,
)

_RATE_SHIFT = RATE_BITS - LEVEL_BITS
_MOST, _LEAST = (1 << 31) - 1, -1 << 31
_FRAMES, _CENTRES, _FIRST, _LAST, _TICKS = map(int, (Chip.FRAMES, Chip.CENTRES, Chip.FIRST, Chip.LAST, Chip.TICKS))
_MIDDLE, _COMMON, _RATE = map(int, (Chip.MIDDLE, Chip.COMMON, Chip.RATE))
_BLOCKS, _RESTARTS = int(Chip.BLOCKS), int(Chip.RESTARTS)


@compiled
def update(
    state: Any,
    chip: NDArray[np.int64],
    place: tuple[int, int, int, int],
    alpha: NDArray[np.int32],
    beta: NDArray[np.int32],
    restart_blocks: int,
) -> None:
    """Make new pedestals of a full block of a chip."""
    level, rate, weight, astray, reference, limit, total, missed, lost_total, lost, _ = state
    top_row, bottom, left, right = place
    span = chip[_LAST] - chip[_FIRST]
    middle = chip[_FIRST] + (chip[_TICKS] >> BLOCK_BITS)
    elapsed = max(middle - chip[_MIDDLE] if chip[_BLOCKS] else span, 1)
    most_weight = WEIGHT_AFTER_PAUSE if elapsed > MAX_PAUSE else GAINS - 1
    elapsed = min(elapsed, MAX_PAUSE)
    miss = np.empty(right - left, np.int64)
    level_gain, rate_gain = np.empty(right - left, np.int32), np.empty(right - left, np.int32)
    sum_w, sum_taken = 0, 0
    for row in range(top_row, bottom):
        sum_taken += _miss_row(
            level[row, left:right],
            rate[row, left:right],
            reference[row, left:right],
            limit[row, left:right],
            total[row, left:right],
            missed[row, left:right],
            np.int32(elapsed),
            0,
            miss,
        )
        sum_w += miss.sum()
    z = sum_w // sum_taken
    _update_chip(chip, z, elapsed)
    for row in range(top_row, bottom):
        levels, rates, weights = level[row, left:right], rate[row, left:right], weight[row, left:right]
        references, limits, totals = reference[row, left:right], limit[row, left:right], total[row, left:right]
        strayed, absent = astray[row, left:right], missed[row, left:right]
        gone_total, gone = lost_total[row, left:right], lost[row, left:right]
        _miss_row(levels, rates, references, limits, totals, absent, np.int32(elapsed), z, miss)
        most_astray = _judge_row(miss, limits, absent, gone, strayed)
        _look_up(weights, most_weight, alpha, level_gain)
        _look_up(weights, most_weight, beta, rate_gain)
        _average_row(levels, rates, miss, np.int32(elapsed), level_gain, rate_gain)
        _weigh_row(weights, limits, absent, strayed, most_weight)
        if most_astray >= restart_blocks:
            chip[_RESTARTS] += _restart_row(
                levels, rates, weights, strayed, references, totals, absent, gone_total, gone, z, restart_blocks
            )
        _refer_row(levels, rates, references, chip[_COMMON], chip[_RATE], np.int32(min(span, MAX_AHEAD)))
        totals[:] = 0
        absent[:] = 0
        gone_total[:] = 0
        gone[:] = 0
    chip[_FRAMES], chip[_CENTRES], chip[_TICKS] = 0, 0, 0
    chip[_BLOCKS] += 1
    chip[_MIDDLE] = middle


@compiled
def _miss_row(
    level: NDArray[np.int32],
    rate: NDArray[np.int32],
    reference: NDArray[np.int16],
    limit: NDArray[np.int16],
    total: NDArray[np.int16],
    missed: NDArray[np.uint8],
    elapsed: np.int32,
    z: int,
    miss: NDArray[np.int64],
) -> int:
    """Write by how much the pixels of a row miss their chip's `z`, summed over the block; how many words it were."""
    taken = np.int64(0)
    for i in range(miss.size):
        ahead = _clip32(np.int64(level[i]) + (np.int64(rate[i]) * np.int64(elapsed) >> _RATE_SHIFT))
        n = (BLOCK - np.int64(missed[i])) * np.int64(limit[i] >= 0)
        miss[i] = (np.int64(total[i]) << LEVEL_BITS) + n * ((np.int64(reference[i]) << LEVEL_BITS) - ahead - z)
        taken += n
    return int(taken)


@compiled
def _judge_row(
    miss: NDArray[np.int64],
    limit: NDArray[np.int16],
    missed: NDArray[np.uint8],
    lost: NDArray[np.uint8],
    astray: NDArray[np.uint8],
) -> int:
    """Find the pixels that are astray, and make their misses 0; for how many blocks the worst has been."""
    most = np.uint8(0)
    for i in range(miss.size):
        n = (BLOCK - np.int64(missed[i])) * np.int64(limit[i] >= 0)
        odd = (abs(miss[i]) > n * (np.int64(limit[i]) << (LEVEL_BITS - 2))) | ((n == 0) & (lost[i] >= BLOCK // 2))
        blocks = np.uint8(astray[i] + np.uint8(odd)) if odd | (n == 0) else np.uint8(0)
        miss[i] = 0 if odd else miss[i]
        astray[i] = blocks
        most = max(most, blocks)
    return int(most)


@compiled
def _look_up(weight: NDArray[np.uint16], most_weight: int, table: NDArray[np.int32], gain: NDArray[np.int32]) -> None:
    """Write the gains of a row."""
    for i in range(weight.size):
        gain[i] = table[np.uint64(_clip(np.int64(weight[i]), 0, most_weight))]


@compiled
def _average_row(
    level: NDArray[np.int32],
    rate: NDArray[np.int32],
    miss: NDArray[np.int64],
    elapsed: np.int32,
    alpha: NDArray[np.int32],
    beta: NDArray[np.int32],
) -> None:
    """Average the misses into levels and rates, with the gains of every pixel."""
    inverse = np.int64((1 << INVERSE_BITS) // elapsed)
    for i in range(miss.size):
        ahead = _clip32(np.int64(level[i]) + (np.int64(rate[i]) * np.int64(elapsed) >> _RATE_SHIFT))
        q = (miss[i] + (BLOCK >> 1)) >> BLOCK_BITS
        level[i] = _clip32(ahead + ((q * np.int64(alpha[i]) + (1 << ALPHA_BITS >> 1)) >> ALPHA_BITS))
    for i in range(miss.size):
        q = (miss[i] + (BLOCK >> 1)) >> BLOCK_BITS
        turn = (q * np.int64(beta[i]) >> (BETA_BITS - _RATE_SHIFT)) * inverse
        rate[i] = _clip32(np.int64(rate[i]) + ((turn + (1 << INVERSE_BITS >> 1)) >> INVERSE_BITS))


@compiled
def _weigh_row(
    weight: NDArray[np.uint16],
    limit: NDArray[np.int16],
    missed: NDArray[np.uint8],
    astray: NDArray[np.uint8],
    most_weight: int,
) -> None:
    """Count the block for the pixels of which most was taken."""
    for i in range(weight.size):
        good = (limit[i] >= 0) & (missed[i] <= BLOCK // 2) & (astray[i] == 0)
        weight[i] = _clip(_clip(np.int64(weight[i]), 0, most_weight) + np.int64(good), 0, GAINS - 1)


@compiled
def _restart_row(
    level: NDArray[np.int32],
    rate: NDArray[np.int32],
    weight: NDArray[np.uint16],
    astray: NDArray[np.uint8],
    reference: NDArray[np.int16],
    total: NDArray[np.int16],
    missed: NDArray[np.uint8],
    lost_total: NDArray[np.int32],
    lost: NDArray[np.uint8],
    z: int,
    restart_blocks: int,
) -> int:
    """Begin anew with what the pixels show that were astray for too long; their number."""
    restarts = 0
    for i in range(level.size):
        if astray[i] >= restart_blocks:
            n = BLOCK - np.int64(missed[i]) + np.int64(lost[i])
            shown = (np.int64(total[i]) + np.int64(lost_total[i])) << LEVEL_BITS
            level[i] = _clip32((np.int64(reference[i]) << LEVEL_BITS) + shown // n - z)
            rate[i], weight[i], astray[i] = 0, 0, 0
            restarts += 1
    return restarts


@compiled
def _refer_row(
    level: NDArray[np.int32],
    rate: NDArray[np.int32],
    reference: NDArray[np.int16],
    drift: int,
    speed: int,
    ahead: np.int32,
) -> None:
    """Write the pedestals of the next block."""
    half, together = 1 << LEVEL_BITS >> 1, np.int64(speed) * np.int64(ahead)
    for i in range(level.size):
        value = np.int64(level[i]) + drift + ((np.int64(rate[i]) * np.int64(ahead) + together) >> _RATE_SHIFT)
        reference[i] = _clip((value + half) >> LEVEL_BITS, 0, ADC_MASK)


@compiled
def _clip(value: Any, least: int, most: int) -> Any:
    return max(min(value, most), least)


@compiled
def _clip32(value: Any) -> Any:
    return _clip(value, _LEAST, _MOST)


@compiled
def _update_chip(chip: NDArray[np.int64], z: int, elapsed: int) -> None:
    """Follow what the chip's pixels have drifted together."""
    measured = z + (chip[_CENTRES] << LEVEL_BITS >> BLOCK_BITS)
    if chip[_BLOCKS] == 0:
        chip[_COMMON] = measured
        return
    predicted = chip[_COMMON] + (chip[_RATE] * elapsed >> _RATE_SHIFT)
    miss = measured - predicted
    turn = min(max(miss, -CHIP_STEP), CHIP_STEP) << _RATE_SHIFT
    second = chip[_BLOCKS] == 1
    rate = chip[_RATE] + (turn // elapsed >> (0 if second else CHIP_BETA_SHIFT))
    exact = second or abs(miss) > CHIP_STEP
    chip[_COMMON] = measured if exact else predicted + (miss >> CHIP_ALPHA_SHIFT)
    chip[_RATE] = _clip32(rate)


@compiled
def publish(state: Any, first: int, end: int, tick: int, shift: int, plane: NDArray[np.uint16]) -> None:
    """Write the pedestal of chips `first` to `end` at `tick` to `plane`, in `2**(shift - LEVEL_BITS)` ADU."""
    level, rate, chips = state[0], state[1], state[10]
    rows, columns = level.shape
    across = -(-columns // CHIP)
    for index in range(first, end):
        chip = chips[index]
        top_row, left = index // across * CHIP, index % across * CHIP
        right = min(left + CHIP, columns)
        passed = np.int32(min(max(tick - chip[_MIDDLE], 0), MAX_PAUSE))
        for row in range(top_row, min(top_row + CHIP, rows)):
            _publish_row(
                level[row, left:right],
                rate[row, left:right],
                (chip[_COMMON], chip[_RATE], passed),
                shift,
                plane[row, left:right],
            )


@compiled
def _publish_row(
    level: NDArray[np.int32],
    rate: NDArray[np.int32],
    common: tuple[int, int, np.int32],
    shift: int,
    plane: NDArray[np.uint16],
) -> None:
    drift, speed, passed = common
    half, together = 1 << shift >> 1, np.int64(speed) * np.int64(passed)
    for i in range(level.size):
        value = np.int64(level[i]) + drift + ((np.int64(rate[i]) * np.int64(passed) + together) >> _RATE_SHIFT)
        plane[i] = _clip((value + half) >> shift, 0, 0xFFFF)


@compiled
def moments(state: Any, start: NDArray[np.int32], index: int) -> tuple[float, float, float]:
    """Pixels of a chip that are not masked, what their levels differ from `start` in ADU, summed, and its square."""
    level, limit = state[0], state[5]
    rows, columns = level.shape
    across = -(-columns // CHIP)
    top_row, left = index // across * CHIP, index % across * CHIP
    n, total, squares = 0, 0.0, 0.0
    for row in range(top_row, min(top_row + CHIP, rows)):
        for i in range(left, min(left + CHIP, columns)):
            if limit[row, i] >= 0:
                drift = float(int(level[row, i]) - int(start[row, i])) / (1 << LEVEL_BITS)
                n += 1
                total += drift
                squares += drift * drift
    return float(n), total, squares
