"""Tables of a race: who reaches what, how soon, and how well it predicts."""

import json
from collections import defaultdict

import numpy as np


def read(*folders):
    """Results by data set, competitor and seed."""
    results = defaultdict(lambda: defaultdict(dict))
    for path in sorted(path for folder in folders for path in folder.glob("*.json")):
        name, competitor, seed = path.stem.split("--")
        results[name][competitor.replace("_", " ")][int(seed)] = json.loads(path.read_text())
    return results


def seconds_to(result, what, target):
    """Processor time and passes until a loss is at most `target`; infinite if never."""
    for point in result["curve"]:
        if point[what] <= target:
            return point["seconds"], point["passes"]
    return np.inf, np.inf


def targets(adam):
    """What the default Adam defines: its last training loss, 1.05 x its best test loss."""
    return adam["curve"][-1]["train"], 1.05 * min(point["test"] for point in adam["curve"])


def ratios(competitors, challenger):
    """Medians over seeds of the times of a competitor over those of the default Adam."""
    to_train, to_test, passes = [], [], []
    for seed, adam in competitors["adam"].items():
        if seed not in competitors.get(challenger, {}):
            continue
        train, test = targets(adam)
        own, own_passes = seconds_to(competitors[challenger][seed], "train", train)
        to_train.append(own / seconds_to(adam, "train", train)[0])
        passes.append(own_passes)
        to_test.append(
            seconds_to(competitors[challenger][seed], "test", test)[0]
            / seconds_to(adam, "test", test)[0]
        )
    if not to_train:
        return np.nan, np.nan, np.nan
    return np.median(to_train), np.median(to_test), np.median(passes)


def best_of_three(competitors):
    """The ratios of the best of Adam's rates, one of whose runs counts."""
    each = [ratios(competitors, name)[:2] for name in ("adam", "adam 1e-4", "adam 1e-2")]
    return np.nanmin(np.array(each), axis=0)


def _mean(results, what):
    values = [what(result) for result in results.values()]
    return float(np.mean(values)) if values else np.nan


def _share(value):
    return f"{value:.3g}" if np.isfinite(value) else "-"


def _geometric(values):
    values = np.array([v for v in values if not np.isnan(v)])
    reached = values[np.isfinite(values)]
    mean = float(np.exp(np.log(reached).mean())) if len(reached) else np.nan
    return f"{mean:.3g} ({len(reached)} of {len(values)})"


RIVALS = ("ours", "no penalty", "best of three", "l-bfgs")
FITS = ("ours", "no penalty", "adam", "adam 1e-4", "adam 1e-2", "l-bfgs")


def print_tables(folders):
    """Markdown tables of times and of scores, and how often ours is at least as good as Adam."""
    results = read(*folders)
    fits = [fit for fit in FITS if all(fit in fitted for fitted in results.values())]
    # The best of three needs them all.
    rivals = [rival for rival in RIVALS if rival in fits or len(fits) == len(FITS)]
    print("Time until the training loss at which the default Adam ended, and until 1.05 x its")
    print("best test loss, as shares of its own times (medians over seeds); - is never.\n")
    _print_row("data", *(f"{r}: train" for r in rivals), *(f"{r}: test" for r in rivals), "pace")
    print("|---" * (2 + 2 * len(rivals)) + "|")
    columns = []
    for name, competitors in results.items():
        times = [_times(competitors, rival) for rival in rivals]
        columns.append([t[0] for t in times] + [t[1] for t in times])
        pace = _mean(competitors["ours"], _pace) / _mean(competitors["adam"], _pace)
        _print_row(name, *map(_share, columns[-1]), f"{pace:.2f}")
    _print_row("geometric mean", *map(_geometric, np.array(columns).T), "")
    print(
        "\nTest scores after training, means over seeds; in the end test losses of ours and Adam.\n"
    )
    _print_row("data", *fits, "ours: loss", "adam: loss")
    print("|---" * (3 + len(fits)) + "|")
    for name, competitors in results.items():
        scores = [_mean(competitors[c], _score) for c in fits]
        losses = [_mean(competitors[c], _test_loss) for c in ("ours", "adam")]
        _print_row(name, *(f"{s:.4f}" for s in scores), *(f"{v:.3g}" for v in losses))
    _print_counts(results)


def _print_counts(results):
    pairs = [(fitted["ours"], fitted["adam"]) for fitted in results.values()]
    scores = [
        round(_mean(ours, _score), 4) >= round(_mean(adam, _score), 4) for ours, adam in pairs
    ]
    losses = np.array([_mean(ours, _test_loss) / _mean(adam, _test_loss) for ours, adam in pairs])
    print(
        f"\nOf {len(pairs)} sets, scores of ours are at least those of adam on {sum(scores)}, test "
        f"losses lower on {np.sum(losses < 1)} ({np.exp(np.log(losses).mean()):.2f} of adam's)."
    )


def print_comparison(folders):
    """Test score and seconds of our fits, by folder; test losses relative to the last one."""
    results = [read(folder) for folder in folders]
    _print_row("data", *(folder.name for folder in folders))
    print("|---" * (1 + len(folders)) + "|")
    for name in results[0]:
        fits = [result[name]["ours"] for result in results]
        _print_row(name, *(f"{_mean(f, _score):.4f}, {_mean(f, _seconds):.2g} s" for f in fits))
    shared = [name for name in results[0] if all(name in result for result in results)]
    values = [
        np.array([[_mean(result[name]["ours"], what) for result in results] for name in shared])
        for what in (_score, _test_loss)
    ]
    _print_row("mean score", *(f"{score:.4f}" for score in values[0].mean(axis=0)))
    losses = np.exp(np.log(values[1] / values[1][:, -1:]).mean(axis=0))
    _print_row("test loss, geometric mean", *(f"{loss:.3f}" for loss in losses))


def _score(result):
    return result["score"]


def _seconds(result):
    return result["seconds"]


def _times(competitors, rival):
    if rival == "best of three":
        return best_of_three(competitors)
    return ratios(competitors, rival)[:2]


def _print_row(*cells):
    print("| " + " | ".join(cells) + " |")


def _test_loss(result):
    return result["curve"][-1]["test"]


def _pace(result):
    """Seconds a pass; the last point of ours may have other fits before it."""
    point = result["curve"][-2]
    return point["seconds"] / point["passes"]
