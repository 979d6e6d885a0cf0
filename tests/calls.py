"""How every public function is called: a line a name, on problems that are drawn (problems.py).

`CALLS` says how: `name -> Call(arguments)`, or several calls by label. A name is looked for in the flat API,
then in every module that has it; what stands behind a blank tells two lines of one name apart. An argument
that is None is not given. `.then(look)` says what is looked at where that is not the result itself; with
`.by(way)` another function calls, which is handed the one that is asked. In `two(...)` the problem has two
classes, 0 and 1. What takes long stands in `RARELY`: of so many problems it is asked about one.

All that is generated walks these lines: the oracle (answers.py, which asks `questions`, some with one wrong
argument), what may not change an answer (test_invariances.py), what has to (test_options.py), what is refused
(test_refusals.py), and in which forms costs and priors come (test_forms.py). A new function: add a line. A
call whose form changes: write the new form, and `.was(lambda: Call(...))` as the oracle's base is called.
"""
import contextlib
import dataclasses
import functools
import inspect
import io
import json
import re
import tempfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from problems import Problem, ce


class Call:
    "The arguments of a call, and what is looked at of its result; an option that is None is not given."

    def __init__(self, *args, **options):
        self.args = args
        self.options = {name: value for name, value in options.items() if value is not None}
        self.look = self.way = self.earlier = None

    def then(self, look):
        self.look = look
        return self

    def by(self, way):
        self.way = way
        return self

    def was(self, earlier):
        self.earlier = earlier
        return self

    def like(self, args, options):
        "The same call with other arguments."
        other = Call(*args)
        other.options, other.look, other.way = options, self.look, self.way
        return other

    def named(self, function):
        "The arguments by name."
        bound = inspect.signature(function).bind_partial(*self.args, **self.options)
        more = [p.name for p in bound.signature.parameters.values() if p.kind is p.VAR_KEYWORD]
        arguments = dict(bound.arguments)
        return arguments | (arguments.pop(more[0], {}) if more else {})

    def but(self, function, /, **changes):
        "The same call with some arguments exchanged, by name."
        arguments = self.named(function) | changes
        by_position = [p.name for p in inspect.signature(function).parameters.values()
                       if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
        return self.like([arguments.pop(name) for name in by_position if name in arguments], arguments)

    def found(self, function):
        if self.earlier and not self.fits(function):
            return self.earlier().found(function)
        return (partial(self.way, function) if self.way else function)(*self.args, **self.options)

    def fits(self, function):
        try:
            inspect.signature(function).bind(*self.args, **self.options)
        except TypeError:
            return False
        return True

    def answer(self, function):
        found = self.found(function)
        return self.look(found) if self.look else found


def lines(name, problem):
    "The calls of a name about a problem, by label."
    found = CALLS[name](problem)
    return found if isinstance(found, dict) else {"": found}


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}


def function_of(name):
    "What a line is about: the name before the blank."
    return ce.find(name.partition(" ")[0])


# ---- what is looked at

TABLES = ("best", "differences", "against_constant", "ladder", "alternatives", "approximate",
          "areas", "groups", "group_differences", "constraint", "scenarios", "winner", "draws", "priors")


def tables(report):
    "Every table of a report, its first model's breakdown, and the rule that it hands over."
    found = {name: getattr(report, name) for name in TABLES}
    return {**found, "breakdown": report.breakdown(), "rule": report.decision_rule("a").to_frame()}


def drawn(picture):
    "How many artists of each kind there are in axes or a figure, and what its lines add up to."
    axes = np.ravel(picture)[0].get_figure().axes
    lines = [np.asarray(line.get_xydata(), float) for ax in axes for line in ax.get_lines()]
    kinds = ("lines", "collections", "patches", "texts", "images")
    return {"sums": sorted(float(np.sum(xy[np.isfinite(xy)])) for xy in lines),
            **{kind: sum(len(getattr(ax, kind)) for ax in axes) for kind in kinds}}


def with_plot(found):
    return {"result": found, "frame": found.to_frame(), "picture": drawn(found.plot())}


def installed(values, costs=None):
    "What a rule decides that has been through its file."
    def look(rule):
        rule = type(rule).from_json(rule.to_json())
        return {"rule": rule.to_frame(), "decided": rule.decide(values, costs),
                "columns": rule.columns(values, costs)}
    return look


def a_rule(p, kind, **options):
    "A rule of one model."
    return Call(p.y, {"a": p.models(kind)["a"]}, p.costs, **options, sample_weight=p.maybe.weight,
                clusters=p.maybe.clusters, costs_known=False)


def written(text):
    "A page is words: that there are some."
    return {"written": len(str(text)) > 100}


def trained(found):
    "What ways of making models cost."
    return [found.fold_costs, found.table, found.differences, drawn(found.plot())]


def leaves(widget):
    "The controls, tables and pictures of a widget."
    inside = getattr(widget, "children", None)
    return [widget] if inside is None else [leaf for child in inside for leaf in leaves(child)]


def touched(box):
    "What a widget is made of, after each of its sliders has moved; test_widgets.py reads what it shows."
    for slider in (leaf for leaf in leaves(box) if hasattr(leaf, "max")):
        log = hasattr(slider, "base")
        slider.value = 1.5 * slider.value if log else slider.min + .7 * (slider.max - slider.min)
    return [type(leaf).__name__ for leaf in leaves(box)]


def dot_to_move(page):
    "A picture with a slider, and what stands on a page without a kernel."
    image, show = ce.live_figure(lambda ax: ax.plot([0], [0], "o"),
                                 lambda ax, artists, x: ax.set_title(f"x = {x}"), (3, 2), columns=1)
    box = page({"x": ce.slider("x", 2, 0, 9, 1)}, image, show, moves="x", alt="a dot")
    words = box._repr_mimebundle_()["text/html"]
    return [touched(box), len(re.findall("x = ", words)) > 9, "a dot" in words]


def rates(counts):
    names = ("p", "n", "total", "prevalence", "tpr", "fnr", "fpr", "tnr", "precision", "npv")
    return {"cells": counts.to_frame(), **{name: getattr(counts, name) for name in names}}


def columns(found):
    "What a table was read as, and the values of its models."
    return {"label": found.label, "models": sorted(map(str, found.models)),
            "left out": sorted(map(str, found.left_out)), "values": found.values()}


def fitted(p):
    "What a classifier decides that learns."
    def look(model):
        model = model.fit(p.features, p.truth, sample_weight=p.maybe.weight)
        return [model.predict(p.features), model.predict_proba(p.features), model.score(p.features, p.truth)]
    return look


# ---- what calls are made of

def evaluation(p, kind, costs, **options):
    "An evaluation with all that the problem says of its rows."
    given = {name: getattr(p.maybe, name) for name in ("priors", "groups", "clusters", "confidence")}
    given |= {"sample_weight": p.maybe.weight, "draws": 2 if p.has("draws") else None, "rng": 0}
    return Call(p.y, p.models(kind), costs, **given | options).then(tables)


def learners():
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    return {"a": LogisticRegression(), "b": LinearSVC(random_state=0)}


CHOSEN = {"weight": .3, "cost_ratio": 4., "threshold": .2, "beta": 2., "a": 2., "b": 3.}


def chosen(name, costs):
    "The parameters of a metric, each with a value that is not its default; `costs` where it takes a table."
    known = inspect.signature(ce.METRICS[name].function).parameters
    return {key: value for key, value in (CHOSEN | {"costs": costs}).items() if key in known}


def of_metric(name, times=1):
    "The line of a metric, of tables or of nothing."
    return lambda p: Call(times * p.stack, **chosen(name, p.prices))


def worth(name, p):
    "A value of a metric between its ends, a third of the way up."
    record, given = ce.METRICS[name], chosen(name, p.prices)
    given = record.parameters(given.pop("costs", None), given)
    ends = [record.at_rates(x, y, .2, **given) for x in (0., 1.) for y in (0., 1.)]
    low, high = np.nanmin(ends), np.nanmax(ends)
    return float(low + (min(high, low + 3) - low) / 3)


def registered(register):
    "What is known of a new metric; it is forgotten again."
    @register
    def surplus(counts):
        "Hits minus false alarms, as a share of the samples."
        return (counts.tp - counts.fp) / counts.total
    record = vars(ce.METRICS.pop("surplus"))
    return {name: getattr(value, "__name__", repr(value)) for name, value in record.items()}


def drawn_costs(name):
    "The line of a name by a method that draws."
    def of(p):
        two = [p.counts(), p.counts(1), p.costs] if name[0] == "i" else [p.losses(),
            p.losses(1)][:1 + (name != "loss_interval")]
        return Call(*two, method="percentile", n_resamples=100, rng=0)
    return of


def published(p):
    "Rows of a paper, and what we compute."
    values = np.round(p.shares.tolist() * 3, 2)
    return pd.DataFrame({"cell": [f"c{k}" for k in range(6)], "published": values, "decimals": 2})


def recomputed(p):
    return dict(zip(published(p)["cell"], (published(p)["published"] + [0, .003, .1, -.004, 0, .5]).tolist()))


def items():
    "The tables and figures of the papers that take seconds."
    ce.discover()
    slow = ("bootstrap/figure2", "cost_score/table6-study")
    return {name: item for name, item in ce.ITEMS.items() if name not in slow}


def example():
    return ce.example_frame().set_axis(["id", "y", "a", "b", "site"], axis=1)


def partitioned(p):
    "The file of a problem as a Dask data frame."
    import dask.dataframe as dd
    return dd.from_pandas(p.frame, npartitions=3)


def dressed(value, dress):
    "An argument, the columns of rows inside which are dressed otherwise."
    if isinstance(value, dict):
        return {key: dressed(one, dress) for key, one in value.items()}
    if isinstance(value, (ce.Scores, ce.Posteriors, ce.Decisions)):
        return dataclasses.replace(value, values=dressed(value.values, dress))
    columns = isinstance(value, (np.ndarray, pd.Series, pd.DataFrame)) and value.ndim
    return dress(value) if columns else value


def on_dask(function, *args, **options):
    "A function of the names of columns, given the columns."
    import dask.dataframe as dd
    rows, columns = len([*args, *options.values()][0]), {}

    def named(array):
        if len(array) != rows:
            return array
        start, array = len(columns), np.asarray(array)
        columns.update({f"c{start + k}": column for k, column in enumerate(np.atleast_2d(array.T))})
        return f"c{start}" if array.ndim == 1 else [*columns][start:]

    args, options = [dressed(one, named) for one in args], dressed(options, named)
    found = function(*args, **options, data=dd.from_pandas(pd.DataFrame(columns), chunksize=17))
    return found.compute() if hasattr(found, "compute") else found


def scaled(name):
    "The line of a name, on Dask."
    return lambda p: {label: call.by(on_dask) for label, call in lines(name, p).items()}


def command(p, *more):
    "A line that evaluates the file of a problem; words that begin with @ are files."
    costs = () if "--fp" in more else ("--costs", "@costs.csv")
    models = ("--posteriors", "p", "--scores", "decided")
    return ["evaluate", "@cases.csv", "--label", "y", *models, *costs, *more]


def said(p):
    "What a command may say beside the file."
    shares = ",".join(f"{label}={share}" for label, share in zip(p.classes, p.shares))
    return {"nothing more": (), "priors": ("--priors", shares, "--rule", "bayes", "--confidence", ".9"),
            "rows": ("--group", "g", "--cluster", "cl", "--weight", "w", "--seed", "3")}


SAID_OF_TWO = {"amounts": ("--fp", "1", "--fn", "amount"),
               "a limit": ("--capacity", "10%", "--scenario", "dear=1:9"),
               "a rate": ("--require", "recall=.7", "--rule", "tuned")}


def one_of(options, p):
    "Another one for the next problem."
    key = list(options)[p.number % len(options)]
    return {key: options[key]}


def shell(main, files, lines, looked=()):
    "The exit codes of command lines in a folder with these files, and what stands in some files then."
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            write(content, Path(folder, name))
        codes = [ended(main, [word.replace("@", f"{folder}/") for word in line]) for line in lines]
        return {"codes": codes, **{name: contents(Path(folder, name)) for name in looked}}


def ended(main, line):
    "The exit code of a command line, which prints nothing here."
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return main(line)
        except SystemExit as end:
            return end.code


def write(content, path):
    "A frame as a file of the kind that its name says, or a text."
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix == ".parquet":
        content.to_parquet(path)
    elif path.suffix == ".json":
        content.to_json(path, orient="records")
    else:
        content.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def contents(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else written(text)


def from_file(function, content, name, **options):
    "What a function reads from a file."
    with tempfile.TemporaryDirectory() as folder:
        write(content, Path(folder, name))
        found = function(Path(folder, name), **options)
        return list(found) if inspect.isgenerator(found) else found


# ---- how each name is called

TWO = set()  # names that are asked about two classes, 0 and 1


def two(table):
    TWO.update(table)
    return table


COUNTS = {
    "confusion_counts": lambda p: Call(
        p.y, p.decided(), classes=p.classes, decision_labels=p.choices, sample_weight=p.maybe.weight).then(
            lambda table: [table, table.total, table.to_frame(), table + table]),
    "joint_counts": lambda p: Call(
        p.y, p.decided(), p.decided(1), classes=p.classes, decision_labels=p.choices,
        sample_weight=p.maybe.weight).then(
            lambda table: [table, table.first, table.second, table.to_frame()]),
    "ConfusionCounts": lambda p: Call(p.stack, classes=p.classes, decisions=p.choices),
    "ConfusionCounts.binary": lambda p: Call(ce.ConfusionCounts(p.square, classes=p.classes),
                                             p.words[p.K - 1]),
    "JointCounts": lambda p: Call(p.pairs),
    "CostMatrix": lambda p: Call(p.prices, classes=p.classes, decisions=p.choices).then(
        lambda costs: [costs, costs.to_frame(), costs.standardized(), costs.right]),
    "CostMatrix.zero_one": lambda p: Call(p.K, abstain=.25),
    "CostMatrix.inverse_prior": lambda p: Call(p.shares),
    "CostMatrix.from_utilities": lambda p: Call(-p.prices),
    "CostMatrix.from_frame": lambda p: Call(
        pd.DataFrame(p.prices, p.classes, p.choices).rename_axis("class")),
    "CostMatrix.with_abstain": lambda p: Call(p.named_costs, p.bounds[1] / 8, label="wait"),
    "ExampleCosts": lambda p: Call(
        fp=p.bounds[1], fn=p.column(p.bounds[1] * p.amounts), tp=-p.bounds[1] if p.has("gain")
        else None).then(
        lambda costs: [costs, costs.mean(), costs.index]),
    "ExampleCosts.from_array": lambda p: Call(
        p.prices * p.amounts[:, None, None], classes=p.classes, decisions=p.choices).then(
            lambda costs: [costs, costs.mean()]),
    "losses": lambda p: Call(p.y, p.decided(), p.money),
    "as_costs": lambda p: Call(p.money, y_true=p.y, classes=p.classes),
    "as_priors": lambda p: Call(p.priors, p.classes),
    "attainable": lambda p: Call(p.money, largest=9 * p.bounds[1] if p.has("own") else None, by_class=True),
    **two({
        "BinaryCounts": lambda p: Call(*p.cells).then(rates),
        "BinaryCounts.from_labels": lambda p: Call(
            p.y, p.decided(), sample_weight=p.maybe.weight).then(rates),
        "BinaryCounts.from_matrix": lambda p: Call(p.stack).then(rates),
        "BinaryCounts.from_rates": lambda p: Call(40, .25, .5, .125),
        "BinaryCounts.with_prevalence": lambda p: Call(ce.BinaryCounts(*p.cells), .1),
        "threshold_counts": lambda p: Call(p.y, p.scores(), sample_weight=p.maybe.weight).then(
            lambda table: [table, table.to_frame(), table + table]),
        "CostMatrix.binary": lambda p: Call(**p.outcomes, tp=-p.bounds[1] / 9, tn=0.).then(
            lambda costs: [costs, costs.cost_ratio, costs.weight, costs.error_costs]),
        "CostMatrix.from_ratio": lambda p: Call(p.bounds[1]),
        "CostMatrix.from_weight": lambda p: Call(float(p.shares[0])),
        "hull_vertices": lambda p: Call(ce.threshold_counts(p.y, p.scores()).counts),
    }),
}
METRICS = {
    "expected_cost by name": lambda p: Call(p.counts(), p.costs, priors=p.maybe.priors),
    "normalized_expected_cost by name": lambda p: Call(p.counts(), p.costs, priors=p.maybe.priors),
    "naive_cost": lambda p: Call(p.named_costs, p.shares),
    "macro_f_beta": lambda p: Call(p.square, beta=2.),
    "micro_f_beta": lambda p: Call(p.square, beta=2.),
    "f_beta_of_macro_averages": lambda p: Call(p.square),
    "one_vs_rest": lambda p: Call(p.square),
    **{f"{name} of nothing": lambda p: Call(0 * p.square)
       for name in ("macro_f_beta", "micro_f_beta", "f_beta_of_macro_averages")},
    **two({
        "evaluate_metrics": lambda p: Call(p.stack, costs=p.prices),
        "evaluate_metrics of nothing": lambda p: Call(0 * p.stack),
        **{name: of_metric(name) for name in ce.METRICS},
        **{f"{name} of nothing": of_metric(name, 0) for name in ce.METRICS},
        "Metric.__call__": lambda p: Call(ce.METRICS["expected_cost"], p.stack, costs=p.prices),
        "Metric.__call__ of nothing": lambda p: Call(ce.METRICS["recall"], 0 * p.stack),
        "Metric.at_rates": lambda p: {
            name: Call(record, .7, .2, .25, **chosen(name, p.prices)) for name, record in ce.METRICS.items()},
        "metric": lambda p: Call(
            "s", "(TP-FP)/N", bounds=(-1, 1), undefined="no samples", source="a test").then(registered),
        "metric_interval": lambda p: {
            name: Call(p.counts(), name, **chosen(name, p.prices))
            for k, name in enumerate(ce.METRICS) if (k + p.number) % 4 == 0},
        "metric_interval drawn": lambda p: {
            name: Call(p.counts(), name, method="percentile", n_resamples=100, rng=0)
            for name in ("f_beta", "mcc")},
        "metric_interval of costs": lambda p: Call(
            p.counts(), "normalized_expected_cost", costs=p.prices, priors=p.maybe.priors),
    }),
}
DECISIONS = {
    "bayes_decisions": lambda p: Call(
        p.posteriors(), p.named_costs, priors=p.maybe.priors, labels=True,
        train_priors=np.full(p.K, 1 / p.K) if p.has("priors") else None),
    "shift_priors": lambda p: Call(p.posteriors(), np.full(p.K, 1 / p.K), p.shares),
    "naive_decision": lambda p: Call(p.named_costs, p.shares),
    "cross_entropy": lambda p: Call(
        y_true=p.y, posteriors=pd.DataFrame(p.posteriors(), columns=p.classes)),
    "cross_calibrate": lambda p: Call(
        y_true=p.y, posteriors=pd.DataFrame(p.posteriors(), columns=p.classes), folds=3, rng=0),
    "AffineCalibrator": lambda p: Call().then(
        lambda map: map.fit(pd.DataFrame(np.log(p.posteriors()), columns=p.classes), p.y,
                            sample_weight=p.maybe.weight)
        .transform(np.log(p.posteriors(1)), log=p.has("shown"))),
    "stratified_folds": lambda p: Call(p.codes, folds=4, clusters=p.maybe.clusters, rng=p.number),
    "given_folds": lambda p: Call(p.clusters, n=p.n),
    "out_of_fold": lambda p: Call(np.asarray(p.clusters) % 3, lambda inside, outside: np.full(
        len(outside), float(p.amounts[inside].mean()))),
    "fold_parts": lambda p: Call(np.asarray(p.clusters) % 3).by(lambda parts, folds: list(parts(folds))),
    **two({
        "read_requirements": lambda p: Call({"recall": .4, "workload": .7}, p.named_costs).then(
            lambda asked: [str(one) for one in asked]),
        "bayes_threshold": lambda p: Call(p.prices, log_odds=p.has("shown")),
        "implied_costs": lambda p: Call(.125),
        "best_threshold": lambda p: Call(
            p.y, p.scores(), p.costs, priors=p.maybe.priors, sample_weight=p.maybe.weight,
            require={"recall": .8, "workload": .7} if p.has("shown") else None),
        "best_threshold_counted": lambda p: Call(
            ce.threshold_counts(p.y, p.scores()), p.costs, priors=p.maybe.priors),
        "reliability": lambda p: Call(p.y, p.posteriors()[:, 1], bins=5).then(with_plot),
        "isotonic_steps": lambda p: Call(p.scores(), p.y, sample_weight=p.maybe.weight),
    }),
}
SAMPLES = {
    "read_samples": lambda p: {kind: Call(
        p.y, p.models(kind), p.money, sample_weight=p.maybe.weight, clusters=p.maybe.clusters, ids=p.index,
        groups=p.maybe.groups) for kind in ("stated", "decided")},
    "read_samples bare": lambda p: {kind: Call(
        p.y, given, p.named_costs, sample_weight=p.maybe.weight) for kind, given in {
            "posteriors": p.bare(),
            "a frame": pd.DataFrame(p.posteriors()[:, ::-1], columns=p.classes[::-1]),
            "decisions": p.decided(), "narrow": {"a": p.posteriors().astype(np.float32)},
            "one class": {"a": ce.Posteriors(p.posteriors()[:, -1], classes=p.classes[-1:])},
            "numbers": {"a": p.posteriors()[:, -1], "b": p.scores()}, "a frame of models": pd.DataFrame(
                {"a": p.decided(), "b": p.decided(1)}), "counts": np.round(9 * p.posteriors())}.items()},
    **two({"read_samples positive": lambda p: {label: Call(
        np.array(["well", "ill"])[p.codes], p.models("scores"), p.outcomes, positive=label)
        for label in ("ill", "well")}}),
    "Samples.take": lambda p: Call(p.samples, np.arange(p.n) % 3 > 0),
    "Samples.target_priors": lambda p: Call(p.samples, p.priors),
    "labelled_rows": lambda p: Call(p.gaps, p.looked_up, sample_weight=p.maybe.weight),
    "long_form": lambda p: Call({"anna": p.truth, "ben": p.gaps}, sample_weight=p.maybe.weight),
    "read_table": lambda p: {
        form: Call(frame, **said).then(columns) for form, (frame, said) in p.forms.items()},
    "read_file": lambda p: {
        end: Call(p.frame, f"cases.{end}").by(from_file)
        for end in ("csv", "tsv", "json", "parquet", "csv.gz")},
    "example_frame": lambda p: Call(),
}
RULES = {
    "CrossFit.decide": lambda p: {rule: Call(
        ce.CrossFit(p.read("stated", p.money), rng=0), "a", rule, priors=p.maybe.priors)
        for rule in ("calibrated", "bayes", "as given")},
    "CrossFit": lambda p: Call(p.samples, folds=3, draws=2, rng=0).then(
        lambda fits: [fits.decide("a"), fits.decide("b", "bayes"), fits.posteriors("b"),
                      fits.rules("a")]),
    "fit_rule": lambda p: {kind: a_rule(
        p, kind, priors=p.maybe.priors, otherwise=p.words[0]).then(installed(p.fresh(kind)))
        for kind in ("stated", "scores", "decided")},
    "DecisionRule.decide": lambda p: {kind: Call(p.rule, values) for kind, values in {
        "posteriors": p.bare(1), "stated": p.stated(1), "last class": p.posteriors(1)[:, -1],
        "a frame": pd.DataFrame(p.posteriors(1)[:, ::-1], columns=p.classes[::-1])}.items()},
    "DecisionRule.look": lambda p: Call(p.rule, p.stated(1)).then(
        lambda found: {name: found[name] for name in ("outside", "beyond")}),
    "run_rule": lambda p: Call(p.rule.content, p.posteriors(1)),
    "DecisionRule.from_json": lambda p: {
        name: Call(json.dumps({**json.loads(p.rule.to_json()), **changes})).then(
            lambda rule: rule.decide(p.stated(1))) for name, changes in BROKEN.items()},
    **two({
        "CrossFit.decide of two": lambda p: {rule: Call(
            ce.CrossFit(ce.read_samples(p.y, ce.Scores(p.scores()), p.costs), rng=0), "model", rule,
            capacity=p.n // 5 if p.has("shown") else None) for rule in ("calibrated", "tuned")},
        "fit_rule of two": lambda p: {
            f"{rule}, {kind}, {limit}": a_rule(
                p, kind, rule=rule, priors=p.maybe.priors, folds=np.arange(p.n) % 3, **limit).then(
                    installed(p.fresh(kind)))
            for rule, kind, limit in (("tuned", "scores", {}), ("bayes", "stated", {"capacity": 7}),
                                      ("tuned", "stated", {"require": {"recall": .7}}),
                                      ("calibrated", "scores", {"capacity": .25}))},
        "fit_rule own costs": lambda p: Call(p.y, {"a": p.stated()}, p.own, costs_known=False).then(
            installed(p.stated(1), p.own)),
        "CrossFit.queue": lambda p: Call(ce.CrossFit(p.samples, rng=0), "a"),
        "CrossFit.levels": lambda p: Call(
            ce.CrossFit(p.samples, folds=np.asarray(p.clusters) % 7 // 3, rng=0), "a", "calibrated",
            np.linspace(-2, 2, 9), shifted=p.has("shown")),
    }),
}
CERTAINTY = {
    "interval": lambda p: {method: Call(
        p.counts(), p.costs, method=method, priors=p.maybe.priors, confidence=p.maybe.confidence,
        n_resamples=200, rng=0, normalized=p.has("shown"))
        for method in ("auto", "betting", "binomial_ends", "normal", "percentile", "bcost")},
    "difference": lambda p: {method: Call(
        p.joint, p.costs, method=method, priors=p.maybe.priors, confidence=p.maybe.confidence,
        n_resamples=200, rng=0)
        for method in ("auto", "betting", "normal", "percentile", "bdelta_cost")},
    "independent_difference": lambda p: {method: Call(
        p.counts(), p.counts(1), p.costs, method=method, priors=p.maybe.priors)
        for method in ("auto", "normal")},
    "bcost": lambda p: Call(p.counts(), p.costs, priors=p.maybe.priors, n_resamples=200, rng=0),
    "bdelta_cost": lambda p: Call(p.joint, p.costs, n_resamples=200, rng=0, laplace=.1),
    "Interval.plot": lambda p: Call(ce.interval(p.counts(), p.costs, method="percentile", rng=0)).then(drawn),
    "Difference.to_frame": lambda p: Call(ce.difference(p.joint, p.costs)),
    "bootstrap_coverage": lambda p: {method: Call(
        p.shares, np.arange(p.K) / 1, n=60, n_sets=30, method=method, rng=0)
        for method in ("expansion", "inversion")},
    "loss_interval": lambda p: {method: Call(
        p.losses(), sample_weight=p.maybe.weight, clusters=p.maybe.clusters, strata=p.maybe.strata,
        shares=dict(enumerate(p.shares)) if p.has("strata") else None, bounds=p.bounds, method=method)
        for method in ("auto", "betting", "normal")},
    **{f"{name} drawn": drawn_costs(name) for name in ("loss_interval", "loss_difference",
                                                       "independent_difference")},
    "loss_difference": lambda p: Call(
        p.losses(), p.losses(1), sample_weight=p.maybe.weight, clusters=p.maybe.clusters,
        strata=p.maybe.strata, bounds=(-p.bounds[1] + p.bounds[0], p.bounds[1] - p.bounds[0]), heaviest=90.
        if p.has("shown") else None),
    **two({"certify": lambda p: Call(p.counts(), {"fpr": .3, "recall": .5}, confidence=.9)}),
}
PLANNING = {
    "paired_power": lambda p: {method: Call(
        p.pairs / p.n, p.prices, [30, 90], method=method, n_sets=60) for method in ("auto", "normal")},
    "paired_power of a saving": lambda p: Call(
        p.pairs / p.n, p.prices, 60, saving=p.bounds[1] / 9, n_sets=60, rng=1),
    "required_pairs": lambda p: {method: Call(
        p.pairs / p.n, p.prices, saving=p.bounds[1] / 6, method=method, n_sets=60)
        for method in ("auto", "normal")},
    "confidence_sequence": lambda p: Call(p.losses(), bounds=p.bounds).then(with_plot),
    "confidence_sequence of clusters": lambda p: Call(
        p.losses(), costs=p.prices, clusters=np.sort(p.clusters), largest_cluster=20),
    "difference_sequence": lambda p: Call(p.losses(), p.losses(1), costs=p.prices).then(
        lambda found: [found, found.first_outside()]),
    "difference_sequence of clusters": lambda p: Call(
        p.losses(), p.losses(1), bounds=(-9 * p.bounds[1], 9 * p.bounds[1]), clusters=np.sort(p.clusters),
        largest_cluster=20),
    "cost_alarm of costs": lambda p: Call(p.losses(), costs=p.prices, limit=p.bounds[1] / 9),
    "cost_alarm": lambda p: Call(p.losses(), bounds=p.bounds, limit=p.bounds[1] / 9).then(with_plot),
    "check_rule": lambda p: Call(
        p.rule, p.y, p.stated(1), sample_weight=p.maybe.weight, clusters=p.maybe.clusters,
        max_cost=p.bounds[1] / 3, heaviest=90. if p.has("weight") or p.has("clusters") else None).then(
            lambda check: [check, check.exit_code]),
    "check_rule own costs": lambda p: Call(
        p.rule, p.y, p.stated(1), p.own, largest=99 * p.bounds[1], max_cost=p.bounds[1]),
    "corrected_interval": lambda p: Call(p.losses()[:9] + p.bounds[1] * np.arange(9), .2),
    "resampled_coverage": lambda p: Call([5, 50], .2, .3),
    "training_variation": lambda p: Call(
        learners(), p.features, p.truth, p.costs, cv=3, repeats=2, priors=p.maybe.priors,
        groups=p.maybe.clusters, rule={"a": ["bayes", "calibrated"][p.number % 2], "b": "as given"},
        rng=0).then(trained),
    **two({"check_rule of rates": lambda p: Call(
        p.rule, p.y, p.stated(1), min_rates={"recall": .6, "accuracy": .5, "npv": .5})}),
}
REPORT = {
    "evaluate": lambda p: {kind: evaluation(p, kind, p.costs) for kind in ("stated", "decided")},
    "evaluate mixed": lambda p: evaluation(p, "mixed", p.costs),
    "evaluate own costs": lambda p: evaluation(
        p, "stated", p.own, largest=99. * p.bounds[1] if p.has("shown") else None),
    "evaluate weighted": lambda p: evaluation(
        p, "mixed", p.costs, sample_weight=p.weight, clusters=p.clusters, draws=1,
        heaviest=90. if p.has("shown") else None),
    "evaluate scenarios": lambda p: evaluation(
        p, "stated", p.named_costs, draws=1,
        scenarios={"dear": 2 * p.prices, "other": p.prices[:, ::-1] + 1}),
    "evaluate missing labels": lambda p: Call(
        p.gaps, {"a": p.stated()}, p.named_costs, propensity=p.looked_up, groups=p.maybe.groups, draws=1,
        rng=0).then(tables),
    "evaluate given folds": lambda p: Call(
        p.y, p.models(), p.costs, folds=np.arange(p.n) % 3, ids=p.index, draws=2,
        rule={"a": "bayes", "b": "calibrated"}, rng=1).then(tables),
    "Report.to_dict": lambda p: Call(p.report),
    "Report.summary": lambda p: Call(p.report).then(written),
    "Report.to_html": lambda p: Call(p.report, title="cases", currency="euros", per_year=1000.).then(written),
    "Report.to_markdown": lambda p: Call(p.other_report).then(written),
    "Report.plot": lambda p: Call(p.report).then(drawn),
    "Report.with_costs": lambda p: Call(p.report, 1 + p.prices).then(tables),
    **two({
        "evaluate scores": lambda p: {rule: evaluation(p, "scores", p.costs, rule=rule, draws=3)
                                      for rule in ("calibrated", "tuned")},
        "evaluate capacity": lambda p: evaluation(p, "stated", p.costs, capacity=p.n // 5),
        "evaluate positive": lambda p: Call(
            np.array(["well", "ill"])[p.codes], {"a": p.posteriors()[:, 1], "b": p.scores(1)}, p.outcomes,
            positive="ill", priors=.2, draws=2, rng=0).then(tables),
        "evaluate require": lambda p: evaluation(p, "scores", p.costs, require={"recall": .7}, draws=1),
        "evaluate columns of costs": lambda p: evaluation(p, "scores", p.own, draws=2),
        "Report.robustness": lambda p: Call(p.report).then(
            lambda map: [map, map.to_frame(), drawn(map.plot())]),
        "Report.plot of each": lambda p: {
            panel: Call(p.other_report, panel=panel).then(drawn) for panel in p.other_report.panels},
    }),
}
SPECIAL = {
    "risk_coverage": lambda p: Call(p.y, p.stated()).then(lambda found: [found.to_frame(),
        drawn(found.plot())]),
    "certified_threshold": lambda p: Call(p.y, p.stated(), risk=.3, priors=p.maybe.priors).then(with_plot),
    "bounds_without_labels": lambda p: Call(
        p.gaps, p.decided(), p.named_costs, clusters=p.maybe.clusters, sample_weight=p.maybe.weight,
        versus=p.decided(1) if p.has("shown") else None),
    "prediction_powered": lambda p: Call(
        p.gaps, p.decided(), p.named_costs, p.bare(1), versus=p.decided(1) if p.has("shown") else None),
    "cost_scorer": lambda p: Call(p.named_costs, priors=p.maybe.priors).then(
        lambda scorer: scorer(learners()["a"].fit(p.features, p.truth), p.features, p.truth)),
    "cost_scorer of rows": lambda p: Call(p.named_costs, priors=p.shares).then(
        lambda scorer: scorer(learners()["a"].fit(p.features, p.truth), p.features, p.truth, costs=p.each)),
    "cost_scorer of predictions": lambda p: Call(p.named_costs, decisions="predict").then(
        lambda scorer: scorer(learners()["a"].fit(p.features, p.truth), p.features, p.truth,
                              sample_weight=p.maybe.weight)),
    "CostSensitiveClassifier": lambda p: Call(learners()["a"], p.costs, cv=3, priors=p.maybe.priors).then(
        fitted(p)),
    **two({
        "risk_coverage of scores": lambda p: Call(p.y, p.decided(), p.scores()).then(
            lambda found: found.to_frame()),
        "capacity_curve": lambda p: Call(
            p.y, p.stated(), p.costs, priors=p.maybe.priors, points=5, folds=3, rng=0,
            sample_weight=p.maybe.weight, clusters=p.maybe.clusters).then(
                lambda curve: [curve.to_frame(), curve.best, curve.at(.3), curve.step(.1, .3), curve.cuts,
                               curve.difference(curve, .2), curve.called(.2), drawn(curve.plot())]),
    }),
}
PAPERS = {
    "outperformance_of_cost": lambda p: Call(p.from_best_to_worst, p.prices, p.shares),
    "plot_simplex_decisions": lambda p: Call(p.prices).then(drawn),
    "multiclass_cost_score": lambda p: {
        how: Call(p.square, [4.] * p.K, average=how) for how in ("macro", "harmonic")},
    **two({
        "roc_auc": lambda p: Call(p.y, p.scores(), sample_weight=p.maybe.weight),
        **{name: lambda p: Call(p.y, p.scores(), {"fp": 1, "fn": 7}, priors=.2,
                                sample_weight=p.maybe.weight) for name in ("min_dcf", "act_dcf")},
        "cllr": lambda p: Call(p.y, p.scores(), sample_weight=p.maybe.weight),
        "auc_interval": lambda p: Call(
            p.y, p.scores(), sample_weight=p.maybe.weight, clusters=p.maybe.clusters
            ).then(lambda found: (found.auc, found.low, found.high)),
        "equal_error_rate": lambda p: {
            method: Call(p.y, p.scores(), method=method, sample_weight=p.maybe.weight)
            for method in ("interpolate", "hull")},
        "soft_expected_cost": lambda p: Call(
            p.posteriors()[:, 1], p.y, p.prices, .3, 9., priors=p.maybe.priors),
        "soft_expected_cost_gradient": lambda p: Call(p.posteriors()[:, 1], p.y, p.prices, .3, 9.),
        "implicit_cost_ratio": lambda p: {
            name: Call(name, p.counts()) for name in ("f_beta", "mcc", "cohen_kappa")},
        "f_beta_threshold": lambda p: Call(p.posteriors()[:, 1], beta=2.),
        "decision_intervals": lambda p: Call(p.prices),
        "loan_costs": lambda p: Call(acceptance=.5),
        "plot_cost_lines": lambda p: Call(p.prices, {"a": p.counts()}).then(drawn),
        "plot_loan": lambda p: Call(acceptance=.5).then(drawn),
        "plot_expected_cost": lambda p: Call(fn_cost=p.bounds[1]).then(drawn),
        "plot_cost_curve": lambda p: Call(p.y, p.scores()).then(drawn),
        "cost_score_from_precision": lambda p: Call(.8, .7, [.5, 8.]),
        "cost_score_from_rates": lambda p: Call(.7, .1, .2, [.5, 8.]),
        "isocost_precision": lambda p: Call([.3, .9], 1., 8.),
        "isocost_slope": lambda p: Call([.3, .9], 1., 8.),
        "f1_cost": lambda p: Call([.25, .75]),
        "tune_threshold": lambda p: Call(
            p.y, p.scores(), [.5, 8.], sample_weight=p.maybe.weight,
            prevalence=.1 if p.has("shown") else None),
        "paired_saving": lambda p: Call(
            p.y, p.decided(), p.decided(1), [.5, 8.],
            prevalence=.1 if p.has("shown") else None).then(with_plot),
        "held_out_saving": lambda p: Call(
            p.y, p.scores(), 0., 2., 8., prevalence=.1 if p.has("shown") else None),
        "multilabel_cost_score": lambda p: Call(p.stack, 4., average="harmonic"),
        "plot_isocost": lambda p: Call(8., y_true=p.y, scores=p.scores()).then(drawn),
        "cost_weight": lambda p: Call(5., 2.),
        "target_weight": lambda p: Call(.3, .1, .4),
        "effective_weight": lambda p: {
            unit: Call([.5, .9], .3, unit=unit) for unit in ("sum", "constant", "worst")},
        "expected_weighted_accuracy_over": lambda p: Call(p.tally(p.guess()), lambda w: 1 + w, (.2, .7)),
        "hand_h_measure": lambda p: Call(p.y, p.scores()),
        "cost_parts": lambda p: Call(p.y, p.decided(), ce.ExampleCosts(fp=1 + p.amounts, fn=9 + p.amounts)),
        "check_coherence": lambda p: Call(ce.ExampleCosts(fp=1., fn=1 + p.amounts, tp=.5)),
        "churn_costs": lambda p: Call(100 * p.amounts, 5.),
        "emblematic_models": lambda p: Call(.25),
        "weight_range_from_ranking": lambda p: Call(RANKINGS[p.number % 3], p.shares[1].item()).then(with_plot),
        "weight_range_from_ranking of models": lambda p: Call(
            ["x", ("y", "z")], .2, models={"x": (.5, .6), "y": (.9, .5), "z": (.6, .8)}),
        "rank_correlation": lambda p: Call(p.losses(), p.scores(), n0=2. if p.has("shown") else None),
        "spearman_moments": lambda p: Call(p.n % 7 + 5, n_draws=500),
        "standardize_spearman": lambda p: Call(.3, ce.spearman_moments(6)),
        "matched_beta": lambda p: Call(.3, 50, .5),
        "cost_correlation": lambda p: Call(
            100 * p.amounts[:30], [.2, .5], .3, metrics=["mcc", "f_beta"], n_samples=3, skill=1.,
            weighted="worst" if p.has("shown") else None, rng=0),
        "correlation_samples": lambda p: Call(
            100 * p.amounts[:20], [.2, .5], [.3, .6], metrics=["mcc", "f_beta"], n_samples=2, rng=0),
        "study_ranks": lambda p: Call(100 * p.amounts[:30], .3, .6, "mcc", rng=0).then(with_plot),
        "plot_correlation_map": lambda p: Call(ce.cost_correlation(
            100 * p.amounts[:20], [.2, .5], [.3, .6], metrics="mcc", n_samples=2, rng=0), "mcc").then(drawn),
        "plot_mean_correlations": lambda p: Call(
            pd.DataFrame({"flips": [.1, .9], "skill": [.2, .4]}, index=["a", "b"])).then(drawn),
        "outperformance": lambda p: {
            name: Call(name, worth(name, p), [.1, .3], **chosen(name, p.prices)) for name in ce.METRICS},
        "outperformance better than chance": lambda p: {
            name: Call(name, worth(name, p), .2, reference="better than chance", **chosen(name, p.prices))
            for name in ("f_beta", "mcc", "accuracy", "expected_cost")},
        "outperformance_value": lambda p: {
            name: Call(name, .7, .3) for name in ("f_beta", "mcc", "informedness")},
        "naive_outperformance": lambda p: {name: Call(name, [.1, .4]) for name in ("f_beta", "accuracy")},
        "outperformance_interval": lambda p: {
            name: Call(name, p.counts(), prevalence=.1 if p.has("shown") else None).then(
                lambda found: {"low": found.low, "high": found.high, "guarantee": found.guarantee,
                               "score": getattr(found, "score", None) or found.mean})
            for name in ("f_beta", "mcc", "npv")},
        "plot_unit_square": lambda p: Call("f_beta", .6, .1).then(drawn),
        "performance_curve": lambda p: {kind: Call(p.y, p.scores(), kind, sample_weight=p.maybe.weight).then(
            lambda curve: [curve, curve.auc(), curve.auc("step"), curve.at([.2, .6]), drawn(curve.plot())])
            for kind in ce.CURVES},
        "ideal_auc": lambda p: {kind: Call(kind, [.1, .4]) for kind in ce.CURVES},
        "worst_auc": lambda p: {kind: Call(kind, [.1, .4]) for kind in ce.CURVES},
        "curve_auc": lambda p: {kind: Call(kind, [0, .2, 1], [0, .8, 1], .3) for kind in ce.CURVES},
        "normalized_auc": lambda p: {kind: Call(kind, .7, .3) for kind in ce.CURVES},
        "sample_directed_binary_tree": lambda p: Call(20, 4, rng=0),
        "sample_tree_aucs": lambda p: Call(["roc", "pr"], .3, 50, depth=4, rng=0),
        "outperformance_curve_auc": lambda p: {
            kind: Call(kind, .7, [.1, .3], n_curves=1024) for kind in ce.CURVES},
        "outperformance_curve_point": lambda p: {kind: Call(kind, .3, .7, .2) for kind in ce.CURVES},
        "outperformance_curve": lambda p: Call(ce.performance_curve(p.y, p.scores()), [.1, .5]),
        "plot_tree_curves": lambda p: {kind: Call(kind, .2, n_curves=9, depth=4, boxes=k, rng=0).then(drawn)
                                       for k, kind in enumerate(("lift", "roc"))},
    }),
}
WIDGETS = ("interval", "capacity", "luck", "isocost", "tree_curves", "loan", "metric_study", "missing",
           "outperformance", "stopping", "expected_cost", "two_scores", "repeats",
           "ranking")
DOORS = {
    "main evaluate": lambda p: {
        what: Call(p.files, [command(p, *more, "--json", "@all.json")], ["all.json"]).by(shell) for what,
        more in one_of(said(p), p).items()},
    "main decide": lambda p: Call(
        p.files, [command(p, "--save-rule", "@rule.json", "--otherwise", str(p.choices[0])),
                  ["decide", "@cases.csv", "--rule", "@rule.json", "--out", "@decided.csv"]],
        ["decided.csv"]).by(shell),
    "main check": lambda p: Call(
        p.files, [command(p, "--save-rule", "@rule.json"), [
            "check", "@cases.csv", "--rule", "@rule.json", "--label", "y", "--max-cost",
            str(p.bounds[1] / 3)]]).by(shell),
    "main example": lambda p: Call({}, [["example", "@cases.csv"]], ["cases.csv"]).by(shell),
    "run_item": lambda p: {
        name: Call(item).then(lambda found: found.table) for name, item in items().items()},
    "explorer": lambda p: Call().by(dot_to_move),
    **{f"explore_{what}": lambda p: Call().then(touched) for what in WIDGETS},
    **{f"scale.{name}": scaled(name) for name in ("confusion_counts", "joint_counts", "losses", "evaluate")},
    "scale.confusion_counts of a table": lambda p: Call(
        "y", "decided", classes=p.classes, decision_labels=p.choices, groups="g" if p.has("groups") else None,
        data=partitioned(p)),
    "places": lambda p: Call(),
    "by_paper": lambda p: Call(),
    "stored_rows": lambda p: Call(),
    "moved": lambda p: Call([ce.run_item(items()["cost_score/figure1"])]),
    "published": lambda p: Call("outperformance", "table2"),
    "names": lambda p: Call(["ferrer", "te*"], small=p.has("shown")),
    "by_author": lambda p: Call("zaho"),
    "describe": lambda p: Call(),
    "display_name": lambda p: {name: Call(name) for name in ("cohen_kappa", "model A", "f_beta")},
    **two({
        "main evaluate of two": lambda p: {
            what: Call(p.files, [command(p, *more, "--prevalence", "10%", "--json", "@all.json")],
                       ["all.json"]).by(shell) for what, more in one_of(SAID_OF_TWO, p).items()},
        **{f"scale.{name}": scaled(name) for name in ("threshold_counts", "evaluate scores")},
        "scale.evaluate of a table": lambda p: Call(
            "y", {"a": "score"}, p.outcomes, data=partitioned(p), clusters="cl", rng=0).then(tables),
        "compare": lambda p: Call(
            published(p), recomputed(p), error=.01, trivial={"c0": 0.}, basis={"c1": "other data"},
            causes={"a slip": {"c2": recomputed(p)["c2"] + .1}}),
    }),
}
RANKINGS = ("M+ < M-", "M+ < Mbad < M-; Mbad- < Mbad+", "M- < M+; Mbad < M-")
BROKEN = {"as it is": {}, "a class less": {"classes": [0]}, "no schema": {"schema": 0}}
RARELY = {"Report.robustness": 2, "Report.to_html": 2,
          **dict.fromkeys(["run_item", "main example", "example_frame",
                           "places", "by_paper", "stored_rows", "moved", "explorer",
                           *(f"explore_{what}" for what in WIDGETS)], 6)}
CALLS = {**COUNTS, **METRICS, **DECISIONS, **SAMPLES, **RULES, **CERTAINTY, **PLANNING, **REPORT, **SPECIAL,
         **PAPERS, **DOORS}


# ---- questions

@functools.lru_cache(maxsize=64)
def problem(number, seed):
    return Problem(number, seed)


def numbers(name, cases):
    "Of which problems a name is asked: others than the next name, whatever stands in the tables."
    first = zlib.crc32(name.encode()) % 16
    return range(first, first + cases // RARELY.get(name, 1))


def questions(cases, seed, only=""):
    "(case, function, call), each to be made: every name about some problems, then with one wrong argument."
    for name in CALLS:
        for number in numbers(name, cases):
            about = problem(number, seed).plain if name in TWO else problem(number, seed)
            case = f"{name} {number} ({about})"
            if only in case:
                yield from asked(case, name, about)


def asked(case, name, about):
    function = partial(function_of, name)
    try:
        calls = lines(name, about)
    except Exception as error:  # what the call is made of is refused: the answer
        yield case, function, partial(fail, error)
        return
    for label, call in calls.items():
        yield f"{case} {label}".rstrip(), function, lambda call=call: call
    rng = about.rng(f"wrong {name}")
    label, call = [*calls.items()][rng.integers(len(calls))]
    for argument, wrong in spoilt(call, rng):
        yield f"{case} {label} wrong {argument}".replace("  ", " "), function, lambda wrong=wrong: wrong


def fail(error):
    raise error


NONSENSE = {  # what an argument may be instead, by what it is
    "number": [-1., float("nan"), "x"],
    "word": ["nosuch", 7],
    "column": [lambda column: column[:-1], lambda column: column[:0], lambda column: {*range(len(column))},
               lambda column: np.ma.masked_array(column, np.arange(len(column)) == 1)],
    "table": [lambda table: -table - 1, lambda table: table[..., :1]],
}


def spoilt(call, rng):
    "(argument, the call with this one wrong) of each argument that can be wrong."
    given = {**dict(enumerate(call.args)), **call.options}
    kinds = {key: kind for key, value in given.items() if (kind := kind_of(value))}
    for key, kind in kinds.items():
        wrong = NONSENSE[kind][rng.integers(len(NONSENSE[kind]))]
        arguments = given | {key: wrong(given[key]) if callable(wrong) else wrong}
        args = [arguments.pop(k) for k in range(len(call.args))]
        yield key, call.like(args, arguments)


def kind_of(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    if isinstance(value, str):
        return "word"
    if isinstance(value, (np.ndarray, pd.Series)):
        return "column" if value.ndim == 1 else "table" if value.dtype.kind in "if" else ""
    return ""
