"""The public names other people's code imports, with their signatures: the contract, and what the package
says of itself."""
import ast
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import cost_eval

# A line a name. Further options are allowed if they come by keyword and have a default; `...` at the end also
# allows `**options`.
# After `|`: members that instances have; after `->`: the class of the result.
CONTRACT = {
    "confusion": """
        confusion_counts(y_true, decisions, *, classes=None, decision_labels=None, sample_weight=None) -> ConfusionCounts
        ConfusionCounts(array, *, classes=None, decisions=None) | array classes decisions binary to_frame __add__ __array__
        joint_counts(y_true, decisions_a, decisions_b, *, classes=None, decision_labels=None, sample_weight=None) -> JointCounts
        JointCounts(array, *, classes=None, decisions=None) | array classes decisions first second
        BinaryCounts(tp, fp, fn, tn) | from_labels from_matrix from_rates with_prevalence to_matrix p n total prevalence tpr fpr fnr tnr precision
        threshold_counts(y_true, scores, *, sample_weight=None) -> ThresholdCounts
        ThresholdCounts | thresholds counts __add__
    """,
    "costs": """
        CostMatrix(costs, *, classes=None, decisions=None) | array classes decisions zero_one inverse_prior binary from_ratio from_weight from_utilities from_frame with_abstain standardized error_costs cost_ratio weight
        ExampleCosts(*, fp, fn, tp=0, tn=0, classes=None, decisions=None) | array from_array
        losses(y_true, decisions, costs)
        attainable(costs, first=None, second=None, *, largest=None, heaviest=None, by_class=False)
        as_costs(costs, *, y_true=None, classes=None)
        as_priors(priors, classes, *, sizes=None)
    """,
    "metrics": """
        METRICS
        Metric
        metric
        evaluate_metrics
        expected_cost(counts, costs, *, priors=None)
        normalized_expected_cost(counts, costs, *, priors=None)
        naive_cost(costs, priors)
        accuracy recall precision specificity npv f_beta informedness markedness mcc cohen_kappa g_mean balanced_accuracy
        class_balance_accuracy imbalance_accuracy p4 b_roc weighted_class_accuracy weighted_relative_accuracy accuracy_cost_distance
        mean_subjective_utility h_measure weighted_accuracy expected_weighted_accuracy net_benefit likelihood_ratio_positive
        cost_score(counts, cost_ratio)
    """,
    "decisions": """
        bayes_decisions(posteriors, costs, *, priors=None, train_priors=None, labels=False)
        bayes_threshold(costs)
        implied_costs(threshold)
        naive_decision(costs, priors)
        best_threshold(y_true, scores, costs, *, priors=None, sample_weight=None, require=None) -> ThresholdChoice
        ThresholdChoice | threshold low high cost counts
        AffineCalibrator | fit transform
        cross_calibrate(y_true, posteriors, *, folds=5, rng=None)
    """,
    "samples": """
        Decisions(values) | values kind
        Posteriors(values, *, classes=None, priors=None) | values classes priors kind
        Scores(values) | values kind
        read_samples(y_true, models, costs, *, positive=None, sample_weight=None, clusters=None, groups=None, ids=None) -> Samples
        Samples | y models costs own sample_weight clusters groups taken notes read_as shares target_priors take ids meet checksum
        labelled_rows(y_true, propensity=None, *, sample_weight=None) -> Labelled
        Labelled | rows sample_weight n
        read_table(source, *, label=None, models=None, taken=(), costs=None, sep=None, decimal='.') -> Columns
    """,
    "policies": """
        RULES
        Policy | decisions rule kind threshold posteriors folds labels notes
        CrossFit(samples, *, folds=5, draws=1, rng=None) | decide posteriors queue
        fit_rule(y_true, model, costs, *, rule='calibrated', priors=None, require=None, capacity=None, positive=None, sample_weight=None, clusters=None, costs_known=False, folds=None, otherwise=None) -> DecisionRule
        DecisionRule | content model rule kind classes decisions costs priors threshold same_from same_to over_folds otherwise capacity expected seen made decide columns look explain to_json from_json
        isotonic_steps(scores, y_true, sample_weight=None, *, n_units=None)
    """,
    "runner": """
        read_rule(path) -> dict
        run_rule(content, values, costs=None)
    """,
    "bootstrap": """
        interval(counts, costs, *, method='auto', confidence=0.95, priors=None, n_resamples=1000, rng=None, ...) -> Interval
        Interval | low high mean standard_error distribution method confidence notes approximate to_frame plot
        difference(joint, costs, *, method='auto', confidence=0.95, priors=None, n_resamples=1000, rng=None, ...) -> Difference
        Difference | low high mean p_value rejects approximate to_frame plot
        independent_difference(counts_a, counts_b, costs, *, ...) -> Difference
        loss_interval(losses, *, sample_weight=None, clusters=None, ...) -> Interval
        loss_difference(losses_a, losses_b, *, ...) -> Difference
        metric_interval(counts, metric, *, costs=None, priors=None, ...) -> Interval
        METHODS
        bcost(counts, costs, *, confidence=0.95, laplace=0.1, n_resamples=1000, rng=None, ...)
        bdelta_cost(joint, costs, *, ...)
    """,
    "comparisons": """
        certify(counts, require, *, confidence=0.95) -> Certificate
        Certificate | met certified bound p_value needed to_frame
    """,
    "planning": """
        paired_power
        required_pairs(joint, costs, *, saving, power=0.8, confidence=0.95, method='auto', ...) -> int
        confidence_sequence(losses, *, bounds=None, costs=None, clusters=None, largest_cluster=None, confidence=0.95) -> ConfidenceSequence
        difference_sequence(losses_a, losses_b, *, bounds=None, costs=None, clusters=None, largest_cluster=None, confidence=0.95) -> ConfidenceSequence
        ConfidenceSequence | low high mean confidence quantity notes first_outside to_frame plot
        cost_alarm(losses, *, limit, bounds=None, costs=None, false_alarms=0.05) -> CostAlarm
        CostAlarm | capital limit bar false_alarms notes at to_frame plot
        check_rule(rule, y_true, values, costs=None, *, max_cost=None, min_rates=None, sample_weight=None, clusters=None, largest=None, heaviest=None, confidence=0.95) -> RuleCheck
        RuleCheck | verdict table drift n confidence notes exit_code to_frame
    """,
    "training": """
        training_variation(estimators, X, y, costs, *, cv=5, repeats=10, rule='calibrated', priors=None, groups=None, rng=None, n_jobs=1) -> TrainingVariation
        TrainingVariation | table differences plot to_frame
        corrected_interval(scores, test_share, *, confidence=0.95) -> Resampled
        resampled_coverage(n_scores, test_share, correlation, *, confidence=0.95)
    """,
    "expected_cost": """
        expected_cost(counts, costs, *, priors=None)
        normalized_expected_cost(counts, costs, *, priors=None)
        naive_cost(costs, priors)
    """,
    "rivals": """
        implicit_cost_ratio f_beta_threshold plot_expected_cost
    """,
    "scores": """
        soft_expected_cost equal_error_rate roc_auc plot_cost_curve
    """,
    "cost_score": """
        cost_score_from_precision(precision, recall, cost_ratio)
        cost_score_from_rates(tpr, fpr, prevalence, cost_ratio)
        isocost_precision isocost_slope f1_cost multiclass_cost_score held_out_saving plot_isocost
        tune_threshold -> ThresholdTuning
        ThresholdTuning
    """,
    "weighted_accuracy": """
        cost_weight target_weight weight_range_from_ranking hand_h_measure
    """,
    "metric_study": """
        cost_correlation rank_correlation
    """,
    "outperformance": """
        outperformance(metric, value, prevalence, *, reference='uniform', ...)
        outperformance_value outperformance_interval
        outperformance_of_cost(expected_cost, costs, priors, ...)
    """,
    "curves": """
        performance_curve curve_auc normalized_auc sample_directed_binary_tree outperformance_curve_auc outperformance_curve_point
    """,
    "report": """
        evaluate(y_true, models, costs, *, rule='calibrated', priors=None, capacity=None, require=None, propensity=None, groups=None, clusters=None, sample_weight=None, heaviest=None, largest=None, method='auto', draws=None, confidence=0.95, rng=None, positive=None, folds=5, ids=None, scenarios=None) -> Report
        Report | rule best winner differences against_constant ladder alternatives breakdown areas groups group_differences constraint scenarios summary plot robustness decision_rule to_html to_markdown to_dict to_frame provenance
    """,
    "capacity": """
        capacity_curve(y_true, model, costs, *, rule='calibrated', priors=None, positive=None, sample_weight=None, clusters=None, confidence=0.95, points=12, folds=5, rng=None) -> CapacityCurve
        CapacityCurve | best value_of_one_more calls saving expected cuts at step difference called plot to_frame
        CapacityPoint | calls share saving expected one_more perfect naive cost normalized_cost
    """,
    "hand_over": """
        risk_coverage(y_true, model, scores=None, *, thresholds=None, positive=None, confidence=0.95) -> RiskCoverage
        RiskCoverage | thresholds coverage risk low high answered wrong confidence plot to_frame
        certified_threshold(y_true, model, scores=None, *, risk=0.02, confidence=0.95, thresholds=None, priors=None, positive=None) -> CertifiedThreshold
        CertifiedThreshold | threshold coverage risk thresholds coverages risks answered wrong p_values certified needed guarantee notes plot to_frame
    """,
    "missing_labels": """
        bounds_without_labels(y_true, decisions, costs, *, versus=None, positive=None, sample_weight=None, clusters=None, confidence=0.95) -> LabelBounds
        LabelBounds | low high interval_low interval_high labelled decides confidence
        prediction_powered(y_true, decisions, costs, posteriors, *, versus=None, strength=None, positive=None, confidence=0.95, method='auto') -> Interval
    """,
    "estimators": """
        cost_scorer(costs, *, priors=None, decisions='bayes', ...)
        CostSensitiveClassifier(estimator, costs, *, calibration='affine', ...)
    """,
    "scale": """
        confusion_counts joint_counts losses
        threshold_counts(y_true, scores, *, data, ...)
        evaluate(y_true, models, costs, *, data, rows=1000000, rng=None, ...) -> Report
    """,
    "datasets": "load available describe DataNotAvailable",
    "reproduce": "reproduces run scoreboard",
    "__main__": "main",
}


def entries():
    "(module, name, signature or None, members, name of the result's class or None) of each name."
    for module, text in CONTRACT.items():
        for line in text.strip().splitlines():
            line, _, members = line.strip().partition(" | ")
            line, _, result = line.partition(" -> ")
            if "(" in line:
                yield module, line.partition("(")[0], line[line.index("("):], members.split(), result or None
            else:
                yield from ((module, name, None, members.split(), result or None) for name in line.split())


ENTRIES = list(entries())


def load(module):
    return importlib.import_module(f"cost_eval.{module}")


def wanted_parameters(text):
    """The parameters of `(a, *, b=1, ...)`: names -> (keyword-only?, default), and whether more options are
    allowed."""
    more = text.endswith("...)")
    bare = text.removesuffix("...)").rstrip(", ").removesuffix("*").rstrip(", ") + ")" if more else text
    arguments = ast.parse(f"def f{bare}: pass").body[0].args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    pairs = [(a, False, d) for a, d in zip(arguments.args, defaults)] + [(a, True, d)
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return [(a.arg, only, inspect.Parameter.empty if d is None else ast.literal_eval(d))
            for a, only, d in pairs], more


def given_parameters(thing):
    kinds = inspect.Parameter
    found = [p for p in inspect.signature(thing).parameters.values() if p.name != "self"]
    options = any(p.kind == kinds.VAR_KEYWORD for p in found)
    return [(p.name, p.kind == kinds.KEYWORD_ONLY, p.default) for p in found
            if p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)], options


@pytest.mark.parametrize("module, name", [entry[:2] for entry in ENTRIES])
def test_the_name_is_there_and_public(module, name):
    assert hasattr(load(module), name)
    assert name in load(module).__all__


@pytest.mark.parametrize("module, name, signature", [entry[:3] for entry in ENTRIES if entry[2]])
def test_it_is_called_as_promised(module, name, signature):
    (wanted, more), (given, options) = wanted_parameters(signature), given_parameters(getattr(load(module),
            name))
    by_position = [parameter for parameter in wanted if not parameter[1]]
    assert (given[:len(by_position)]
            == by_position), "arguments by position, in this order, with these defaults"
    extra = [parameter for parameter in given if parameter not in wanted]
    assert not [parameter for parameter in wanted if parameter not in given]
    assert all(only and default is not inspect.Parameter.empty
               for _, only, default in extra), "further options come by keyword and have a default"
    assert more or not options, "the options are named"


@pytest.mark.parametrize("module, name, members", [(m, n, members) for m, n, _, members, _ in ENTRIES
                                                   if members])
def test_it_has_the_members(module, name, members):
    cls = getattr(load(module), name)
    fields = set(getattr(cls, "__dataclass_fields__", ())) | set(getattr(cls, "_fields", ()))
    assert not [member for member in members if not hasattr(cls, member) and member not in fields]


@pytest.mark.parametrize("module, name, result", [(m, n, result) for m, n, _, _, result in ENTRIES if result])
def test_it_says_what_it_returns(module, name, result):
    returned = inspect.signature(getattr(load(module), name)).return_annotation
    assert (returned if isinstance(returned, str)
            else getattr(returned, "__name__", repr(returned))).strip("'\"").rpartition(".")[2] == result


# ---- every name, one meaning

def modules():
    "Modules of the package, without reproductions, the command and the flat name space."
    return [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name[0] != "_"
            and m.name not in ("reproductions", "api", "scale")]


def test_core_promises_nothing():
    assert load("core").__all__ == []


def test_a_name_has_one_meaning_wherever_it_is_exported():
    "`scale` apart, whose names are those of the package on purpose."
    meanings = {}
    for module in modules():
        for name in load(module).__all__:
            meanings.setdefault(name, {}).setdefault(id(getattr(load(module), name)), []).append(module)
    assert not {name: list(places.values()) for name, places in meanings.items() if len(places) > 1}


@pytest.mark.parametrize("module", sorted(CONTRACT.keys() - {"scale", "__main__"}))
def test_the_flat_name_space_holds_names_of_the_modules(module):
    api, home = load("api"), load(module)
    for name in (entry[1] for entry in ENTRIES if entry[0] == module):
        if name in api.__all__:
            assert getattr(api, name) is getattr(home, name) and name in dir(api)
        if name in api.__all__ or not callable(getattr(home, name)):
            continue
        with pytest.raises(AttributeError, match=rf"is in its module: from cost_eval\.\w+ import {name}$") as told:
            getattr(api, name)
        inside = {}
        exec(str(told.value).partition(": ")[2], inside)
        assert inside[name] is getattr(home, name)


def test_the_flat_name_space_is_what_the_jobs_need():
    "Seventy names, each that of a module; all else stays in its module."
    api = load("api")
    assert len(api.__dir__()) <= 70
    known = {id(getattr(load(m), name)) for m in [*modules(), "__main__"] for name in load(m).__all__}
    assert not [name for name in api.__all__ if id(getattr(api, name)) not in known]


@pytest.mark.parametrize("module", modules())
def test_what_is_exported_exists(module):
    names = load(module).__all__
    assert len(set(names)) == len(names) and all(hasattr(load(module), name) for name in names)
    assert not [name for name in names
                if inspect.ismodule(getattr(load(module), name))], "libraries are not ours to export"


def documented_defaults(thing):
    """(name, default as the signature has it, as the docstring has it) of the parameters whose default the
    docstring tells."""
    part = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", inspect.getdoc(thing) or "", re.M | re.S)
    heads = re.findall(r"^(\S[^:\n]*) : .*?\bdefault:? (.*)$", part[1] if part else "", re.M)
    said = {name.strip("*"): text for names, text in heads for name in names.split(", ")}
    parameters = inspect.signature(thing).parameters.values()
    return [(p.name, p.default, said[p.name]) for p in parameters if p.name in said and p.default is not None
            and " and " not in said[p.name]]


@pytest.mark.parametrize("module", modules())
def test_documented_defaults_are_those_of_the_signature(module):
    found = [thing for name in load(module).__all__ if callable(thing := getattr(load(module), name))
             and getattr(thing, "__module__", "") == f"cost_eval.{module}"]
    found += [member for thing in found if inspect.isclass(thing) for name in vars(thing) if name[0] != "_"
              and inspect.isroutine(member := getattr(thing, name)) and callable(member)]
    for thing in found:
        for name, given, said in documented_defaults(thing):
            number = re.fullmatch(r"[\d,]*\.?\d*(e\d+)?", said)
            wanted = np.nan if said == "nan" else ast.literal_eval(said.replace(",", "") if number else said)
            assert given == wanted or given is wanted or (given != given
                    and wanted != wanted), f"{thing.__qualname__}: {name}"
