"""What the questions of calls.py are about: problems, the same for every version of the package.

`Problem(number, seed)` is data as people have them: two to four classes with words or numbers as labels, in
some a decision more, two models (each method takes 0 or 1), costs in every form, and all that may be said of
the rows. `p.maybe.weight` is `p.weight` in some problems and None in the others; `p.plain` has two classes,
0 and 1, and these two decisions. Every attribute has random numbers of its own: a new one moves no other.
`p.but(...)` is the same problem in another order of its classes or decisions, in other words or another unit.

`ce.name` is a name of the package, wherever it lives: in the flat API or in a module.
"""
import dataclasses
import functools
import importlib
import pkgutil
import zlib
from functools import cached_property

import numpy as np
import pandas as pd

WORDS = {2: ("well", "ill"), 3: ("home", "ward", "icu"), 4: ("red", "green", "blue", "grey")}
SHARES = {  # in which share of the problems something is so, or is given
    "named": .4, "ask": .3, "indexed": .25, "ties": .5, "gain": .2, "own": .25, "few": .2, "shown": .5,
    "weight": .35, "clusters": .3, "priors": .4, "groups": .4, "strata": .3, "draws": .7, "confidence": .4,
}
TOLD = ("named", "ask", "own", "weight", "clusters", "priors", "groups")  # in the name of a question


class Absent(AttributeError):
    "A name that nobody has."


class Names:
    "The names of the package."

    def __getattr__(self, name):
        import cost_eval.api as api
        if name in dir(api):
            return getattr(api, name)
        for module in modules():
            home = importlib.import_module(f"cost_eval.{module}")
            if name in getattr(home, "__all__", ()):
                return getattr(home, name)
        raise Absent(name)

    def find(self, name):
        "What a dotted name means."
        try:
            return functools.reduce(getattr, name.split("."), self)
        except AttributeError:
            raise Absent(name) from None


@functools.cache
def modules():
    import cost_eval
    found = [module.name for module in pkgutil.iter_modules(cost_eval.__path__)]
    return [name for name in found if name not in ("_modidx", "api", "reproductions")]


ce = Names()


def decide(model, y_true, costs, *, rule="calibrated", priors=None, capacity=None, require=None, folds=5,
           draws=1, rng=None, **given):
    "One model's decisions on other folds, and all that is to be said."
    samples = ce.read_samples(y_true, model, costs, **given)
    fits = ce.CrossFit(samples, folds=folds, draws=draws, rng=rng)
    found = fits.decide(*samples.models, rule, priors=priors, capacity=capacity, require=require)
    return dataclasses.replace(found, notes=samples.notes + found.notes)


class Maybe:
    "Attributes of a problem where it has them, else None."

    def __init__(self, problem):
        self._problem = problem

    def __getattr__(self, name):
        return getattr(self._problem, name) if self._problem.has(name) else None


class Problem:
    "Labels, two models, costs, and what may be said beside them."

    confidence = .9

    def __init__(self, number, seed=1, classes=0, **seen):
        self.number = number
        self.seed = seed
        self.seen = seen
        self.maybe = Maybe(self)
        self.K = classes or int(self.rng("classes").choice([2, 3, 4], p=[.6, .25, .15]))
        self.M = self.K + self.has("ask")
        drawn = int(self.rng("size").choice([16, 30] if self.has("few") else [60, 150, 400]))
        self.n = seen.get("n", drawn)
        self.order = seen.get("order", [*range(self.K)])
        self.decision_order = seen.get("decision_order", [*range(self.M)])

    def but(self, **seen):
        "The same draws, seen otherwise: order=, decision_order=, words=, unit=, says= (what is so), n=."
        return type(self)(self.number, self.seed, self.K, **self.seen | seen)

    def rng(self, what):
        "The random numbers of one attribute."
        return np.random.default_rng([self.seed, self.number, zlib.crc32(what.encode())])

    def has(self, what):
        "So in exactly its share of each twenty problems."
        if "says" in self.seen:
            return what in self.seen["says"]
        stream = [self.seed, self.number // 20, zlib.crc32(what.encode())]
        return bool(np.random.default_rng(stream).permutation(20)[self.number % 20] < 20 * SHARES[what])

    def __str__(self):
        return ", ".join([f"{self.K} classes", *filter(self.has, TOLD)])

    @cached_property
    def plain(self):
        return self if (self.K, self.M, self.has("named")) == (2, 2, False) else Plain(self.number, self.seed)

    # ---- rows

    @cached_property
    def drawn(self):
        "(n,) the true classes as they were drawn; each occurs three times at least."
        g = self.rng("codes")
        more = g.choice(self.K, self.n - 3 * self.K, p=g.dirichlet(np.full(self.K, 2.)))
        return g.permutation(np.r_[np.repeat(np.arange(self.K), 3), more])

    @cached_property
    def codes(self):
        "(n,) the true classes by their place in `classes`."
        return np.argsort(self.order)[self.drawn]

    @cached_property
    def words(self):
        "What the classes are called, and to ask."
        named = (*WORDS[self.K], "ask") if self.has("named") else (*range(self.K), 9)
        return self.seen.get("words", named)[:self.M]

    @cached_property
    def classes(self):
        return [self.words[k] for k in self.order]

    @cached_property
    def choices(self):
        "The decisions: the classes, and to ask."
        return [self.words[k] for k in self.decision_order]

    @cached_property
    def index(self):
        "The rows' names."
        return np.arange(self.n) + 100

    def column(self, values):
        "A value a row, as a series where the rows have names."
        return pd.Series(values, self.index) if self.has("indexed") else values

    @cached_property
    def truth(self):
        return np.array(self.classes)[self.codes]

    @cached_property
    def y(self):
        return self.column(self.truth)

    @cached_property
    def gaps(self):
        "The labels, half of which are missing."
        missing = self.rng("gaps").random(self.n) < .5
        missing[np.unique(self.codes, return_index=True)[1]] = False
        return np.where(missing, None, self.truth.astype(object))

    # ---- models

    def chances(self, model=0):
        "(n, K) probabilities as they were drawn; the second model's are the first one's with noise."
        logits = 1.2 * self.rng("posteriors").normal(size=(self.n, self.K))
        logits[np.arange(self.n), self.drawn] += 1.3
        p = np.exp(logits + model * self.rng("noise").normal(size=logits.shape))
        p = p / p.sum(1, keepdims=True)
        p = np.round(64 * p + .5) if self.has("ties") else p
        return p / p.sum(1, keepdims=True)

    def posteriors(self, model=0):
        return self.chances(model)[:, self.order]

    def scores(self, model=0):
        "(n,) numbers that grow with the last class, with ties in some problems."
        p = self.chances(model)
        return np.round(7 * np.log(p[:, -1] / p[:, 0]), 0 if self.has("ties") else 6)

    def likeliest(self, model=0):
        "(n,) the likeliest class by its place."
        return np.argsort(self.order)[self.chances(model).argmax(1)]

    def guess(self, model=0):
        "(n,) the decision for the likeliest class by its place, or to ask where none is likely."
        p = self.chances(model)
        guess = np.where((self.M > self.K) & (p.max(1) < .55), self.M - 1, p.argmax(1))
        return np.argsort(self.decision_order)[guess]

    def decided(self, model=0):
        return np.array(self.choices)[self.guess(model)]

    def stated(self, model=0):
        "Posteriors that say their classes."
        return ce.Posteriors(self.posteriors(model), classes=self.classes)

    def bare(self, model=0):
        "Posteriors as an array, where the classes stand in the order that scikit-learn's columns have."
        return self.stated(model) if self.has("named") else self.posteriors(model)

    def models(self, kind="stated"):
        "Two models, of what they give; a posterior and decisions where they are mixed."
        if kind == "mixed":
            return {"a": self.stated(), "b": ce.Decisions(self.decided(1))}
        one = {"scores": lambda k: ce.Scores(self.scores(k)), "decided": self.decided}.get(kind, self.stated)
        return {"a": one(0), "b": one(1)}

    def fresh(self, kind="stated"):
        "Other values of a kind, to decide about."
        return {"scores": self.scores, "decided": self.decided}.get(kind, self.posteriors)(1)

    @cached_property
    def features(self):
        return np.column_stack([self.scores(), self.rng("features").normal(size=(self.n, 2))])

    # ---- what may be said of the rows

    @cached_property
    def weight(self):
        g = self.rng("weight")
        return self.column(g.integers(1, 5, self.n) / 1. if g.random() < .5 else g.gamma(2, 1, self.n))

    @cached_property
    def clusters(self):
        return self.column(self.rng("clusters").integers(0, max(6, self.n // 3), self.n))

    @cached_property
    def groups(self):
        return self.column(self.rng("groups").choice(["north", "south"], self.n, p=[.6, .4]))

    @cached_property
    def strata(self):
        return self.drawn

    @cached_property
    def looked_up(self):
        "(n,) the probability that a label was looked up."
        return self.rng("looked up").choice([.25, .5, 1.], self.n)

    @cached_property
    def amounts(self):
        return self.rng("amounts").gamma(2., 1., self.n) + .1

    @cached_property
    def shares(self):
        return self.rng("shares").dirichlet(np.full(self.K, 5.))[self.order]

    @cached_property
    def priors(self):
        "Of the deployment: shares, by class, or the one number of two classes."
        form = self.rng("priors").integers(3)
        if form == 0 and self.K == 2:
            return float(self.shares[1])
        named = form == 1 or self.has("named")
        return dict(zip(self.classes, self.shares.tolist())) if named else self.shares

    # ---- costs

    @cached_property
    def prices(self):
        "(K, M) quarters, zero where the decision is right, or a gain; to ask costs little."
        prices = np.ceil(4 * self.rng("prices").gamma(1., 3., (self.K, self.K))) / 4
        np.fill_diagonal(prices, -.25 if self.has("gain") else 0)
        prices = np.c_[prices, np.full((self.K, self.M - self.K), prices.max() / 4)]
        return self.seen.get("unit", 1.) * prices[np.ix_(self.order, self.decision_order)]

    @cached_property
    def bounds(self):
        return float(self.prices.min()), float(self.prices.max())

    @cached_property
    def named_costs(self):
        return ce.CostMatrix(self.prices, classes=self.classes, decisions=self.choices)

    @cached_property
    def outcomes(self):
        return {"fp": float(self.prices[0, 1]), "fn": float(self.prices[1, 0])}

    @cached_property
    def costs(self):
        "A table of costs: with labels, as a frame; bare or by outcome where labels are numbers."
        form = self.rng("costs").random()
        if form < .4 and not self.has("named") and self.M == self.K:
            return self.outcomes if self.K == 2 and form < .2 else self.prices
        frame = pd.DataFrame(self.prices, self.classes, self.choices)
        return self.named_costs if form < .6 else frame

    @cached_property
    def own(self):
        "Costs of each row."
        if self.choices == [0, 1] and self.rng("own").random() < .5:
            return self.outcomes | {"fn": self.column(self.prices[1, 0] * self.amounts)}
        return self.each

    @cached_property
    def each(self):
        array = self.prices * self.amounts[:, None, None]
        return ce.ExampleCosts.from_array(array, classes=self.classes, decisions=self.choices)

    @cached_property
    def money(self):
        return self.own if self.has("own") else self.costs

    def losses(self, model=0):
        return self.prices[self.codes, self.guess(model)]

    @cached_property
    def from_best_to_worst(self):
        "Expected costs that classifiers can have."
        best, worst = self.shares @ self.prices.min(1), self.shares @ self.prices.max(1)
        return best + np.array([.1, .4, .8]) * (worst - best)

    # ---- counts

    def tally(self, *guesses):
        table = np.zeros((self.K, *[self.M] * len(guesses)))
        np.add.at(table, (self.codes, *guesses), 1)
        return table

    def counts(self, model=0):
        return ce.ConfusionCounts(self.tally(self.guess(model)), classes=self.classes, decisions=self.choices)

    @cached_property
    def pairs(self):
        return self.tally(self.guess(0), self.guess(1))

    @cached_property
    def joint(self):
        return ce.JointCounts(self.pairs, classes=self.classes, decisions=self.choices)

    @cached_property
    def stack(self):
        "(3, K, M) tables, one of them hard: nothing is wrong in it."
        return np.stack([self.tally(self.guess(0)), self.tally(self.guess(1)), 9 * self.right])

    @cached_property
    def right(self):
        return np.eye(self.K, self.M)[np.ix_(self.order, self.decision_order)]

    @cached_property
    def square(self):
        "(K, K) counts of the likeliest classes."
        return self.tally(self.likeliest())[:, :self.K]

    @cached_property
    def cells(self):
        "tp, fp, fn, tn of two classes in three tables."
        return [self.stack[:, i, j] for i, j in ((1, 1), (0, 1), (1, 0), (0, 0))]

    # ---- what is made of them

    def read(self, kind="stated", costs=None):
        costs = self.costs if costs is None else costs
        return ce.read_samples(self.y, self.models(kind), costs, sample_weight=self.maybe.weight,
                               clusters=self.maybe.clusters)

    @cached_property
    def samples(self):
        return self.read()

    @cached_property
    def rule(self):
        return ce.rule_of(self.samples, "a")

    @cached_property
    def report(self):
        return ce.evaluate(self.y, self.models("mixed"), self.costs, priors=self.maybe.priors, draws=1, rng=0)

    @cached_property
    def other_report(self):
        "Of the same models and other rows, in groups."
        keep = np.arange(self.n) % 4 > 0
        first = ce.Posteriors(self.posteriors()[keep], classes=self.classes)
        return ce.evaluate(self.truth[keep], {"a": first, "b": self.decided(1)[keep]}, self.costs,
                           groups=np.asarray(self.groups)[keep], draws=1, rng=0)

    # ---- files

    @cached_property
    def frame(self):
        "A file of predictions: label, two models, and columns that are said of the rows."
        chances = {f"p_{label}": self.posteriors()[:, k] for k, label in enumerate(self.classes)}
        said = {"w": np.asarray(self.weight), "cl": np.asarray(self.clusters), "g": np.asarray(self.groups)}
        return pd.DataFrame({"id": self.index, "y": self.truth, **chances, "decided": self.decided(1),
                             "score": self.scores(), **said, "amount": self.amounts})

    @cached_property
    def forms(self):
        "Tables as people have them, and what is said of them."
        bare = self.frame[["y"]]
        named = bare.assign(**{str(label): self.posteriors()[:, k] for k, label in enumerate(self.classes)})
        short = bare.assign(**{f"p{k}": self.posteriors()[:, k] for k in range(self.K)})
        both = bare.assign(m=self.decided(), other=self.decided(1))
        return {"one column a class": (self.frame.iloc[:, 1:2 + self.K], {"label": "y"}),
                "the classes' names": (named, {"label": "y"}), "p0 p1": (short, {"label": "y"}),
                "guessed": (bare.assign(m=self.posteriors()[:, -1]), {}),
                "decisions": (both, {"label": "y", "costs": self.named_costs}),
                "models named": (self.frame, {"label": "y", "models": {"m": "score", "d": "decided"}}),
                "others taken": (self.frame.drop(columns="score"),
                                 {"label": "y", "taken": ("id", "w", "cl", "g", "amount")})}

    @cached_property
    def files(self):
        costs = pd.DataFrame(self.prices, self.classes, self.choices).rename_axis("class \\ decision")
        return {"cases.csv": self.frame, "costs.csv": costs.reset_index()}


class Plain(Problem):
    "Two classes, 0 and 1, and these two decisions."

    def __init__(self, number, seed=1, classes=2, **seen):
        super().__init__(number, seed, 2, **seen)

    def has(self, what):
        return what not in ("named", "ask") and super().has(what)
