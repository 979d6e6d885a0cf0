"""Questions about decisions as they are given, asked of the engine without a report around them."""
from cost_eval import comparisons as cp
from cost_eval.samples import Decisions, read_samples


def read(y, decisions, costs, *, priors=None, **columns):
    "What they cost, and whose they are: of a mapping, or of rows that are called 0, 1, ..."
    named = decisions if hasattr(decisions, "items") else dict(enumerate(decisions))
    samples = read_samples(y, {name: Decisions(one) for name, one in named.items()}, costs, **columns)
    decided = zip(named, samples.models.values())
    return cp.Losses.of(samples, priors), [cp.Decided(name, "as given", one.values) for name, one in decided]


def simultaneous_differences(*given, confidence=.95, **options):
    "All pairs, held together."
    return cp.ask(cp.differences(*read(*given, **options)), confidence=confidence, jointly=True)


def best_of(*given, confidence=.95, n_resamples=1000, rng=None, **options):
    "The cheapest, adjusted for having been chosen."
    losses, policies = read(*given, **options)
    own = cp.ask([losses.asks(one) for one in policies], confidence=confidence)
    return cp.best_policy(losses, policies, own, n_resamples=n_resamples, rng=rng)
