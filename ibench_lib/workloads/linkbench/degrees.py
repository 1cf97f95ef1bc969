"""How many links a node has, by its rank: the distribution of LinkBench's original, in a few points.

The original has a table of 19,951 points. These are fewer, with logarithms interpolated between them: the number of
links of a graph differs by less than 0.15 %, and the number of nodes with 0 and with 1 link is the same.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from ibench_lib.workloads.linkbench.distribution import Distribution

Array = np.ndarray[Any, Any]
Tail: TypeAlias = Literal["original", "scaled"]

LARGEST = 961_963
"""Links of the node of rank 0 in the original."""

_POINTS = """
0:54.66839427 1:22.53740888 2:13.042 3:8.007 4:5.5492 5:4.1719 6:3.2775 7:2.6799 8:2.2386 10:1.672 12:1.2997 15:.97312
19:.71673 25:.52983 33:.40501 42:.32439 49:.28562 50:.27844 65:.22594 90:.18042 130:.1448 200:.11487 300:.093934
450:.076534 700:.060642 1000:.049341 1400:.039769 2000:.030628 2800:.022895 3800:.01696 5000:.012547 6500:.0091289
8500:.0063054 11000:.004267 14500:.002669 19000:.001617 25000:9.18e-4 33000:5.044e-4 45000:2.384e-4 65000:9.944e-5
1e5:3.721e-5 1.7e5:1.515e-5 2.9e5:3.62e-6 4.51e5:9.9e-7 961962:3.3e-7
"""
_PAIRS = [tuple(map(float, point.split(":"))) for point in _POINTS.split()]
# Ascending in the share, as np.interp wants it: ln of the share of nodes with more than v links, and ln(v + 1).
_LN_SHARE = np.log(np.array([share / 100 for _, share in reversed(_PAIRS)]))
_LN_LINKS = np.log1p(np.array([links for links, _ in reversed(_PAIRS)]))


def degrees(ranks: Array, nodes: int, tail: Tail, distribution: Distribution | None = None) -> Array:
    """Links of the nodes of these ranks, of both types together; rank 0 has the most.

    `tail`: the original gives rank 0 its 961,963 links in a graph of any size. Scaled, a graph has as many links per
    node as a large one. `distribution` is that of a file, in place of the points here.
    """
    share = (ranks + (0.5 if tail == "scaled" else 0.0)) / nodes
    if distribution is not None:
        return distribution.of_ranks(share)
    with np.errstate(divide="ignore"):
        ln_share = np.log(share)
    # The smallest number of which no larger share of nodes has more; what is left of rounding must not add one.
    interpolated = np.ceil(np.expm1(np.interp(ln_share, _LN_SHARE, _LN_LINKS)) - 1e-9).astype(np.int64)
    made: Array = np.where(ln_share < _LN_SHARE[0], LARGEST, interpolated)
    return made


def of_type(total: Array, number: int) -> Array:
    """Links of the first or second type (`number` 0 or 1) of nodes with `total` links.

    Both types together may have one more than `total`: that error of the original is kept, and its graphs have it.
    """
    half = total // 2
    links: Array = half + (number < total - half)
    return links
