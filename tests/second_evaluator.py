"""A second evaluator of the default interval, on the real line and with other mathematics than the package's.

The mean cost of one sample under Dirichlet(a_0, ..., a_k) is a chain of Beta laws: R_0 = c_0 and
R_j = R_{j-1} + B_j (c_j - R_{j-1}) with independent B_j ~ Beta(a_j, a_0 + ... + a_{j-1}). So its density is
found
by one-dimensional integrals of positive functions, one for each further cost, and that of several strata by
convolutions. No complex number, no contour, no saddle point, no incomplete beta function.

A density is held as Chebyshev polynomials on panels that are halved until the last coefficients vanish.
Panels end
at all costs (between them a density of integer parameters is a polynomial, at them it has kinks), and each
integral
is cut wherever either of its factors is. The integration variable is that of the narrower factor, and costs
are
counted from the cell with most examples, so that a law of width 1e-9 next to a cost of 1 loses no digits.

Every law is held to its integral, mean and variance, which have closed forms. Against exact residues (n up to
50)
tails are within 2e-13 of their value, against integrals of 22 to 30 digits within 3e-12 (n up to 1e9, where
the last
digit of a cost makes as much). `measure` is the yardstick: what an end may be off is a share of the width.
"""
import functools
import math
from dataclasses import dataclass

import numpy as np

NODES, GAUSS = 18, 16  # points of a panel, points of a piece of an integral
MOST = 400  # panels that may still be unresolved at a time
CERTIFIED = 2e-11  # what the integral, mean and variance of every law may be off
VANISHING = 1e-100  # a cost below this share of the largest is 0: no end can tell
LITTLE = 2e-15  # probability that a panel may be wrong by
ROUNDED = 3e-10  # rounding of a density, relative, that is let pass; it has no bias, see `certified`
SMALL = 100  # below this total of a Beta law its right end matters, and is counted from 1
KNOTS = 60  # at which panels are cut from the start, in a sum of laws
DROP = 42.0  # what is below exp(-42) of the peak is left out
TINY = 1e-18  # as is what is below this share of a law's highest density
EPS = np.finfo(float).eps
AT = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1]
FIT = np.linalg.inv(np.polynomial.chebyshev.chebvander(AT, NODES - 1))
GAUSS_AT, GAUSS_WEIGHT = np.polynomial.legendre.leggauss(GAUSS)
INTEGRAL = np.array([0 if k % 2 else 2 / (1 - k * k) for k in range(NODES)])  # of T_k over [-1, 1]


# ---- a law on panels

def clenshaw(coefficients, t):
    "Sums of Chebyshev polynomials: coefficients (Q, NODES) at t (Q, points) within [-1, 1]."
    twice, one, two = 2 * t, np.zeros_like(t), np.zeros_like(t)
    for k in range(NODES - 1, 0, -1):
        new = twice * one
        new -= two
        new += coefficients[:, k, None]
        one, two = new, one
    return t * one - two + coefficients[:, 0, None]


@dataclass
class Law:
    "A density on panels, of what is counted from `origin`; without panels all of it is at the origin."

    origin: float
    edges: np.ndarray
    coefficients: np.ndarray
    mean: float = 0.0
    variance: float = 0.0
    knots: tuple = (0.0,)
    noise: float = 2e-14  # of the density, relative: what its arguments' last digits make

    @functools.cached_property
    def masses(self):
        return self.coefficients @ INTEGRAL * np.diff(self.edges) / 2

    def density(self, y, panel):
        "At y (Q, points), all points of a row in the panel given."
        middle, half = self.edges[1:] + self.edges[:-1], np.diff(self.edges)
        t = (2 * y - middle[panel, None]) / half[panel, None]
        return clenshaw(self.coefficients[panel], np.clip(t, -1, 1))

    def panel(self, y):
        return np.clip(np.searchsorted(self.edges, y, "right") - 1, 0, len(self.edges) - 2)

    def kinks(self):
        "The knots that are not beyond the panels."
        return [k for k in self.knots if self.edges[0] <= k <= self.edges[-1]]

    def fine(self):
        "Ends of the panels that are narrow: something is going on there."
        narrow = np.diff(self.edges) < 0.3 * math.sqrt(self.variance)
        return np.unique(np.concatenate([self.edges[:-1][narrow], self.edges[1:][narrow]]))

    def above(self, x):
        "P(R > x), of x as counted from the origin."
        if not len(self.masses):
            return float(x < 0)
        if not self.edges[0] < x < self.edges[-1]:
            return float(x <= self.edges[0])
        j = int(self.panel(x))
        t = (2 * x - self.edges[j] - self.edges[j + 1]) / (self.edges[j + 1] - self.edges[j])
        whole = np.polynomial.chebyshev.chebint(self.coefficients[j])
        part = np.polynomial.chebyshev.chebval([t, 1.0], whole) @ [-1, 1] * np.diff(self.edges)[j] / 2
        return float(part + self.masses[j + 1 :].sum())

    def mirrored(self):
        flip = np.where(np.arange(NODES) % 2, -1.0, 1.0)
        return Law(-self.origin, -self.edges[::-1], self.coefficients[::-1] * flip, -self.mean, self.variance,
                   tuple(-k for k in self.knots), self.noise)

    def quantile_above(self, tail):
        "The x, counted from the origin, with P(R > x) = tail."
        if not len(self.masses):
            return 0.0
        right = np.cumsum(self.masses[::-1])[::-1]
        j = np.flatnonzero(right >= tail)[-1]
        rest = tail - (right[j + 1] if j + 1 < len(right) else 0.0)
        left, end = self.edges[j], self.edges[j + 1]
        whole = np.polynomial.chebyshev.chebint(self.coefficients[j]) * (end - left) / 2
        low, high, top = -1.0, 1.0, np.polynomial.chebyshev.chebval(1.0, whole)
        for _ in range(55):
            t = (low + high) / 2
            if top - np.polynomial.chebyshev.chebval(t, whole) > rest:
                low = t
            else:
                high = t
        return left + (end - left) * (1 + (low + high) / 2) / 2


def fitted(density, starts, ends, noise):
    "Panels of a function of points (X,), halved until it is a polynomial on each; edges and coefficients."
    done, peak, before = [], 0.0, np.full(len(starts), np.inf)
    for depth in range(60):
        middle, half = (starts + ends) / 2, (ends - starts) / 2
        values = density((middle[:, None] + half[:, None] * AT).ravel()).reshape(-1, NODES)
        coefficients = values @ FIT.T
        size = np.abs(values).max(-1)
        peak = max(peak, size.max())
        last = np.abs(coefficients[:, -2:]).max(-1)
        good = (last <= noise * size + TINY * peak) | (half <= 4 * EPS * np.abs(middle))
        good |= last * (ends - starts) < LITTLE
        # halving did not help: these are the last digits
        good |= (last > before / 8) & (last < ROUNDED * size)
        done.append((starts[good], ends[good], coefficients[good], size[good]))
        starts, ends, middle = starts[~good], ends[~good], middle[~good]
        if not 0 < len(starts) < MOST:
            break
        starts, ends, before = np.concatenate([starts, middle]), np.concatenate([middle,
                ends]), np.tile(last[~good], 2)
    if len(starts):
        raise ArithmeticError(
            f"a density was not resolved: {len(starts)} panels are left after {depth} halvings")
    starts, ends, coefficients, size = (np.concatenate(part) for part in zip(*done))
    order = np.argsort(starts)
    wanted = np.flatnonzero(size[order] > TINY * peak)
    order = order[wanted[0] : wanted[-1] + 1]
    return np.append(starts[order], ends[order[-1]]), coefficients[order]


def certified(law):
    "The law, if its integral, its mean and its variance are what they are by closed forms."
    scale = math.sqrt(law.variance)
    middle, half = (law.edges[1:] + law.edges[:-1]) / 2, np.diff(law.edges) / 2
    z = (middle[:, None] + half[:, None] * GAUSS_AT - law.mean) / scale
    share = clenshaw(law.coefficients, np.broadcast_to(GAUSS_AT, z.shape)) * GAUSS_WEIGHT * half[:, None]
    off = [abs(float((share * z**k).sum()) - wanted) for k, wanted in ((0, 1), (1, 0), (2, 1))]
    if not max(off) < CERTIFIED:
        raise ArithmeticError(f"a law is off in its integral, mean or variance: {off}")
    return law


def mesh(low, high, knots, mean, sd, smoothed=()):
    """Panels to begin with: cut at the knots, at some standard deviations, and at both sides of every kink
    that the
    narrower of two laws has smoothed: (low, middle, high), if that is narrow."""
    cuts = [mean + sd * np.array([-30, -16, *np.linspace(-9, 9, 13), 16, 30]), knots, [low, high]]
    cuts += [ends for ends in smoothed if max(ends) - min(ends) < 4 * sd]
    cuts = np.unique(np.concatenate(cuts))
    cuts = cuts[(cuts >= low) & (cuts <= high)]
    kept = np.diff(cuts) > 0
    return cuts[:-1][kept], cuts[1:][kept]


def pieces(edges):
    "Nodes and weights of all pieces of positive width of edges (X, m), which may be out of order; their row."
    edges = np.sort(edges, -1)
    width = np.diff(edges)
    row, column = np.nonzero(width > 0)
    half = width[row, column, None] / 2
    middle = (edges[row, column, None] + edges[row, column + 1, None]) / 2
    return row, middle[:, 0], middle + half * GAUSS_AT, half * GAUSS_WEIGHT


# ---- Beta laws

def stirling_rest(n):
    "log(n!) minus Stirling's formula."
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / n**2) / n**2) / n**2) / n


@dataclass
class Beta:
    """Beta(a, total) for whole a <= total or a few more: its density from the peak downwards, and where it
    matters."""

    a: float
    total: float

    def __post_init__(self):
        p, q = self.a - 1, self.total - 1
        self.mode = p / (p + q) if p + q else 0.0
        if p and q:
            rest = stirling_rest(p + q) - stirling_rest(p) - stirling_rest(q)
            self.peak = math.log(p + q + 1) + rest - 0.5 * math.log(2 * math.pi * p * q / (p + q))
        else:
            self.peak = math.log(p + q + 1)
        self.mean = self.a / (self.a + self.total)
        self.variance = self.mean * (1 - self.mean) / (self.a + self.total + 1)
        self.edges = self.panels()

    def log_density(self, b, rest=None):
        "At b; rest is 1 - b where that has digits of its own."
        p, q = self.a - 1, self.total - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.total < SMALL and rest is not None:
                at_mode = (p * math.log(self.mode) if p else 0) + (q * math.log1p(-self.mode) if q else 0)
                return self.peak - at_mode + p * np.log(b) + q * np.log(rest)
            if not p:
                return self.peak + (q * np.log1p(-b) if q else 0 * b)
            if not q:
                return self.peak + p * np.log(b)
            up, down = (b - self.mode) / self.mode, (self.mode - b) / (1 - self.mode)
            return self.peak - p * (up - np.log1p(up)) - q * (down - np.log1p(down))

    def edge(self, sign):
        """Where the density has fallen by exp(-DROP) or a little more, or 0 or 1; in steps that double, then
        halve."""
        limit, step = max(sign, 0.0), sign * math.sqrt(self.variance)
        good, bad = self.mode, min(max(self.mode + step, 0.0), 1.0)
        while bad != limit and self.log_density(bad) > self.peak - DROP:
            good, step = bad, 2 * step
            bad = min(max(bad + step, 0.0), 1.0)
        if bad == limit and self.log_density(np.nextafter(bad, 0.5)) > self.peak - DROP:
            return limit
        for _ in range(8):
            half = (good + bad) / 2
            good, bad = (half, bad) if self.log_density(half) > self.peak - DROP else (good, half)
        return bad

    def panels(self):
        "Edges, even in log(1 - b), of where the density is within exp(-DROP) of its peak."
        low, high = self.edge(-1), self.edge(1)
        first, last = -math.log1p(-low), (-math.log1p(-high) if high < 1 else DROP)
        count = 6 + int((last - first) / 1.2)
        self.rest = np.exp(-np.linspace(first, last, count + 1))
        edges = -np.expm1(-np.linspace(first, last, count + 1))
        edges[0], edges[-1] = low, high
        return edges


# ---- the chain

def rounding(law, low, high, variance, count=0.0):
    "Noise of a density on low to high: one last digit of its argument, of so many standard deviations."
    return max(law.noise, 6 * EPS * (max(abs(low), abs(high)) / math.sqrt(variance) + math.sqrt(count)))


def next_cost(law, beta, cost):
    "The law of R + B (cost - R); `cost` counted from the origin."
    mean = law.mean + beta.mean * (cost - law.mean)
    second = beta.variance + beta.mean**2
    away = law.variance + (cost - law.mean) ** 2
    variance = max((1 - 2 * beta.mean + second) * law.variance + beta.variance * (cost - law.mean) ** 2, 0.0)
    knots = (*law.knots, cost)
    narrow = beta.variance * away < law.variance
    smoothed = []
    if not len(law.coefficients):
        density = lambda x: np.exp(beta.log_density(x / cost, (cost - x) / cost)) / abs(cost)
        low, high = sorted(cost * beta.edges[[0, -1]])
    else:
        y, b = law.edges[[0, -1]], beta.edges[[0, -1]]
        corners = (y[:, None] + b * (cost - y[:, None])).ravel()
        low, high = corners.min(), corners.max()
        density = functools.partial(along_beta if narrow else along_law, law, beta, cost)
        share = np.array([beta.edges[0], beta.mean, beta.edges[-1]])
        smoothed = [k + share * (cost - k)
                    for k in [*law.kinks(), *law.fine()][:KNOTS]] + [np.array([y[0], law.mean, y[1]])]
    noise = rounding(law, low, high, variance, beta.a)
    edges, coefficients = fitted(density, *mesh(low, high, knots, mean, math.sqrt(variance), smoothed), noise)
    return certified(Law(law.origin, edges, coefficients, mean, variance, knots, noise))


def along_beta(law, beta, cost, x):
    "The density at x, integrated over b; R = (x - b cost) / (1 - b) = cost + (x - cost) / (1 - b)."
    column, small = x[:, None], beta.total < SMALL
    ends = beta.rest if small else beta.edges  # 1 - b, or b
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = ((column - cost) if small else (column - law.edges)) / ((law.edges - cost) if small
                else (cost - law.edges))
    # the R that go with b in [0, 1] are those on the far side of x, seen from the cost
    reached = (law.edges - column) * np.sign(column - cost) > 0
    cuts = np.clip(np.where(reached & np.isfinite(cuts), cuts, ends[0]), ends.min(), ends.max())
    ends = np.broadcast_to(ends, (len(x), len(ends)))
    row, middle, v, weight = pieces(np.concatenate([ends, cuts], -1))
    with np.errstate(divide="ignore"):
        at = cost + (x[row] - cost) / middle if small else (x[row] - middle * cost) / (1 - middle)
    inside = (at > law.edges[0]) & (at < law.edges[-1])
    row, v, weight, at = row[inside], v[inside], weight[inside], at[inside]
    b, rest = (1 - v, v) if small else (v, 1 - v)
    y = (cost + (x[row, None] - cost) / rest) if small else (x[row, None] - b * cost) / rest
    value = law.density(y, law.panel(at)) * np.exp(beta.log_density(b, rest)) / rest * weight
    return np.bincount(row, value.sum(-1), len(x))


def along_law(law, beta, cost, x):
    "The density at x, integrated over R = y; b = (x - y) / (cost - y)."
    column = x[:, None]
    b = beta.edges[beta.edges < 1]
    cuts = (column - b * cost) / (1 - b)
    start = np.where(column < cost, np.minimum(law.edges[0], column), column)
    end = np.where(column < cost, column, np.maximum(law.edges[-1], column))
    start, end = np.maximum(start, law.edges[0]), np.minimum(end, law.edges[-1])
    edges = np.concatenate([np.broadcast_to(law.edges, (len(x), len(law.edges))), cuts, column], -1)
    row, middle, y, weight = pieces(np.clip(edges, np.minimum(start, end), end))
    at = (x[row] - middle) / (cost - middle)
    inside = (at > beta.edges[0]) & (at < beta.edges[-1])
    row, y, weight, middle = row[inside], y[inside], weight[inside], middle[inside]
    b = (x[row, None] - y) / (cost - y)
    rest = (cost - x[row, None]) / (cost - y)
    value = law.density(y, law.panel(middle)) * np.exp(beta.log_density(b, rest)) / np.abs(cost - y) * weight
    return np.bincount(row, value.sum(-1), len(x))


def sample_law(counts, costs):
    """The law of the mean of the costs (finite, at most about 1) under Dirichlet(counts), cells of count 0
    dropped."""
    values, cell = np.unique(np.asarray(costs, float)[np.asarray(counts) > 0], return_inverse=True)
    a = np.bincount(cell, np.asarray(counts, float)[np.asarray(counts) > 0])
    order = np.argsort(-a, kind="stable")
    values, a = values[order], a[order]
    law, total = Law(values[0], np.zeros(0), np.zeros((0, NODES))), a[0]
    for value, more in zip(values[1:], a[1:]):
        law = next_cost(law, Beta(more, total), value - values[0])
        total += more
    return law


# ---- several strata

def sum_law(one, other):
    "The law of the sum of two independent ones."
    origin = one.origin + other.origin
    if not len(one.coefficients) or not len(other.coefficients):
        law = one if len(one.coefficients) else other
        return Law(origin, law.edges, law.coefficients, law.mean, law.variance, law.knots, law.noise)
    narrow, wide = sorted((one, other), key=lambda law: law.variance)
    mean, variance = one.mean + other.mean, one.variance + other.variance
    knots = {a + b for a in narrow.kinks() for b in wide.kinks()}
    knots = tuple(knots) if len(knots) <= KNOTS else ()  # of many smooth laws: halving does
    low, high = narrow.edges[0] + wide.edges[0], narrow.edges[-1] + wide.edges[-1]

    def density(x):
        ends = np.broadcast_to(narrow.edges, (len(x), len(narrow.edges)))
        cuts = np.clip(x[:, None] - wide.edges, narrow.edges[0], narrow.edges[-1])
        row, middle, y, weight = pieces(np.concatenate([ends, cuts], -1))
        at = x[row] - middle
        inside = (at > wide.edges[0]) & (at < wide.edges[-1])
        row, y, weight, middle, at = row[inside], y[inside], weight[inside], middle[inside], at[inside]
        value = narrow.density(y, narrow.panel(middle)) * wide.density(x[row, None] - y,
                wide.panel(at)) * weight
        return np.bincount(row, value.sum(-1), len(x))

    noise = max(narrow.noise, rounding(wide, low, high, variance))
    around = np.array([narrow.edges[0], narrow.mean, narrow.edges[-1]])
    smoothed = [k + around for k in [*wide.kinks(), *wide.fine()][:KNOTS]]
    smoothed += [[k + end] for a, b in ((wide, narrow), (narrow, wide)) for k in a.fine()[:12]
                 for end in b.edges[[0, -1]]]
    edges, coefficients = fitted(density, *mesh(low, high, knots, mean, math.sqrt(variance), smoothed), noise)
    return certified(Law(origin, edges, coefficients, mean, variance, knots, noise))


# ---- ends, tails, p-values of strata [(counts, costs, weight), ...]

def scaled(strata):
    "Weighted costs divided by the power of two at the largest; [(counts, costs), ...] and the power."
    top = max((np.abs(costs).max() for _, costs, _ in strata), default=0.0)
    power = math.frexp(top)[1] if top else 0
    costs = [np.ldexp(np.ravel(np.asarray(c, float)), -power) * w for _, c, w in strata]
    return [(np.ravel(s[0]), np.where(np.abs(c) < VANISHING, 0.0, c)) for s, c in zip(strata, costs)], power


def upper_law(strata):
    "Law of the weighted sum of means, one more example in each stratum's costliest cell; strata scaled."
    laws = []
    for counts, costs in strata:
        counts = np.asarray(counts, float) + (np.arange(len(costs)) == np.argmax(costs))
        laws.append(sample_law(counts, costs))
    laws.sort(key=lambda law: law.variance)
    return functools.reduce(sum_law, laws)


def upper_end(strata, tail):
    "The x that the law with one more of the costliest in each stratum exceeds with probability `tail`."
    strata, power = scaled(strata)
    law = upper_law(strata)
    return math.ldexp(law.origin + law.quantile_above(tail), power)


def lower_end(strata, tail):
    "The mirror image of `upper_end`."
    return -upper_end([(counts, -np.asarray(costs, float), weight) for counts, costs, weight in strata], tail)


def tail_probability(strata, x):
    "P(U > x), U the law with one more of the costliest in each stratum."
    strata, power = scaled(strata)
    law = upper_law(strata)
    return law.above(math.ldexp(x, -power) - law.origin)


def solution(strata, tail):
    "Low, high and p-value of `strata`."
    strata, power = scaled(strata)
    upper, under = upper_law(strata), upper_law([(counts, -costs) for counts, costs in strata])
    high, low = (law.origin + law.quantile_above(tail) for law in (upper, under))
    # P(L <= 0) is P(-L >= 0); a law all at one point of 0 has both
    shares = [law.above(-law.origin) if len(law.coefficients) else float(law.origin >= 0)
              for law in (upper, under)]
    return math.ldexp(-low, power), math.ldexp(high, power), min(1.0, 2 * min(shares))


def measure(strata, low, high):
    "What an end may be off is a share of this: the interval's width; and the last digits of the costs."
    largest = sum(np.abs(np.asarray(c, float) * w).max() for _, c, w in strata)
    return high - low, 16 * EPS * largest
