"""The second evaluator against exact residues and integrals of many digits; test_engine_grid.py holds it to
what it found before."""
import mpmath as mp
import numpy as np
import pytest
import second_evaluator as second


def law_of(counts, costs):
    (sample,), power = second.scaled([(counts, costs, 1.0)])
    assert power == 0
    return second.upper_law([sample])


def random_case(seed, most):
    """Counts (the costliest cell with its one more) and costs within -1 to 1, the mass just inside for half
    of the seeds."""
    rng = np.random.default_rng(seed)
    C, n = int(rng.integers(2, 8)), int(10 ** rng.uniform(0, most))
    costs = np.append(np.sort(rng.uniform(-1, 1, C - 1)), 1)
    p = rng.dirichlet(np.full(C, .5))
    if seed % 2:
        p = np.concatenate([rng.dirichlet(np.ones(C - 2)) * .1 if C > 2 else [], [.9], [0]])
    return rng.multinomial(n, p / p.sum()), costs / 1.5


def exact_tail(a, costs, x):
    """P(sum (c - x) G > 0), G gamma of whole parameters a: residues at the poles of the positive cells, by
    series of many digits."""
    mp.mp.dps = 60 + 3 * sum(a)
    cells = [(mp.mpf(float(v)) - mp.mpf(x), int(k)) for v, k in zip(costs, a) if k]
    total = mp.mpf(0)
    for i, (b, k) in enumerate(cells):
        if b > 0:
            s = 1 / b
            series = [(-1) ** j / s ** (j + 1) for j in range(k)]  # of 1 / (s + e)
            for v, q in cells[:i] + cells[i + 1:]:
                h = 1 - v * s
                factor = [h ** -q]
                for j in range(1, k):
                    factor.append(factor[-1] * v / h * (q + j - 1) / j)
                series = [mp.fsum(series[j] * factor[m - j] for j in range(m + 1)) for m in range(k)]
            total -= series[-1] * (-s) ** k
    return total


@pytest.mark.parametrize("seed", range(40))
def test_tails_are_exact_residues(seed):
    counts, costs = random_case(seed, 1.7)
    law, tail = law_of(counts, costs), .5 * 10 ** -np.random.default_rng(seed).uniform(.3, 3)
    x = law.quantile_above(tail)
    a = counts + (np.arange(len(costs)) == costs.argmax())
    if (a > 0).sum() > 1:
        assert abs(exact_tail(a, costs - law.origin, x) / tail - 1) < 1e-12


def tail_of_two(k1, n1, w1, k2, n2, w2, x):
    "P(w1 B1 + w2 B2 > x) of two Beta laws by one integral of 22 digits."
    mp.mp.dps = 22
    (a1, b1), (a2, b2) = ((k + (w > 0), n - k + (w < 0)) for k, n, w in ((k1, n1, w1), (k2, n2, w2)))
    m, s = ([mp.mpf(a) / (a + b) for a, b in ((a1, b1), (a2, b2))], [(a * b / (a + b + 1)) ** .5 / (a + b)
            for a, b in ((a1, b1), (a2, b2))])

    def integrand(r):
        if not 0 < r < 1:
            return mp.mpf(0)
        below = mp.betainc(a2, b2, 0, min(max((x - w1 * r) / w2, mp.mpf(0)), mp.mpf(1)), regularized=True)
        density = mp.exp((a1 - 1) * mp.log(r) + (b1 - 1) * mp.log1p(-r)) / mp.beta(a1, b1)
        return density * (1 - below if w2 > 0 else below)

    knots = [m[0] + k * s[0] for k in (-12, -8, -5, -2, 0, 2, 5, 8, 12, 20, 40)] + [x / w1, (x - w2) / w1]
    knots += [(x - w2 * (m[1] + k * s[1])) / w1 for k in (-8, -3, 0, 3, 8)]
    return mp.quad(integrand, sorted({min(max(mp.mpf(k), mp.mpf(0)), mp.mpf(1)) for k in [0, 1, *knots]}))


@pytest.mark.parametrize("case", [
    (0, 353, .2, 0, 11, .8), (0, 4477, 1, 260, 267, -1), (0, 1, .2, 0, 1, .8), (2, 15, 1, 20, 49, -1),
    (14, 70, 1, 32, 80, -1),
    (296, 387, 1, 289, 289, -1), (0, 2836, .2, 0, 146, .8), (289, 769, 1, 39, 126, -1),
    (5, 2000, .5, 3, 7, .5),
])
def test_two_strata_are_one_integral(case):
    k1, n1, w1, k2, n2, w2 = case
    strata, power = second.scaled([([n1 - k1, k1], [0, 1], w1), ([n2 - k2, k2], [0, 1], w2)])
    law = second.upper_law(strata)
    for tail in (.025, .001):
        x = mp.ldexp(mp.mpf(law.origin) + mp.mpf(law.quantile_above(tail)), power)
        assert abs(tail_of_two(*case, x) / tail - 1) < 1e-11
