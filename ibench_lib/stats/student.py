"""Student's t and Fisher's F, which numpy does not have."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_MOST_STEPS = 60
_LAST_STEP = 1e-8
"""As a share of a quantile: what is left after a step of this size is about its square."""

_LEAST = 1e-3
"""Where the search of a quantile begins that is next to 0."""


def t_tail(t: float, df: float) -> float:
    """The chance of a value above `t`, with `df` > 0 degrees of freedom, not necessarily a whole number."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    half = 0.5 * beta_share(df / (df + t * t), df / 2, 0.5)
    return half if t >= 0 else 1 - half


def f_tail(f: float, df_above: float, df_below: float) -> float:
    """The chance of a ratio of variances above `f`."""
    if f <= 0:
        return 1.0
    if math.isinf(f):
        return 0.0
    return beta_share(df_below / (df_below + df_above * f), df_below / 2, df_above / 2)


@lru_cache(maxsize=4096)
def t_quantile(tail: float, df: float) -> float:
    """The t that a value is above with chance `tail`, 0 < tail <= 0.5.

    By Newton's method on the logarithm of the tail over that of t, which is nearly a straight line far out, and by
    halving where that would leave what is known to enclose t.
    """
    if tail == 0.5:
        return 0.0
    low, high = 0.0, math.inf
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    t = NormalDist().inv_cdf(1 - tail) or _LEAST
    for _ in range(_MOST_STEPS):
        above = t_tail(t, df)
        low, high = (t, high) if above > tail else (low, t)
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))
        factor = math.exp(math.log(above / tail) * above / (t * density)) if above and density else 0.0
        following = t * factor
        if abs(following - t) <= _LAST_STEP * t:
            return following
        inside = low < following < high
        t = following if inside else 2 * t if math.isinf(high) else (low + high) / 2
    return t


def beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1 - math.exp(log_front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    both, above, below = a + b, a + 1, a - 1
    c, d = 1.0, 1 / ((1 - both * x / above) or tiny)
    fraction = d
    for m in range(1, 500):
        twice = a + 2 * m
        even = m * (b - m) * x / ((below + 2 * m) * twice)
        d = 1 / ((1 + even * d) or tiny)
        c = (1 + even / c) or tiny
        fraction *= d * c
        odd = -(a + m) * (both + m) * x / (twice * (twice + 1))
        d = 1 / ((1 + odd * d) or tiny)
        c = (1 + odd / c) or tiny
        fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return fraction
