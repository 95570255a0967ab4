"""A model finds its columns by their names, and the matrix it was trained on, in every format."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.text.features import ColumnFeatures
from naively.work.stream import count_files

NAMES = ["u", "v", "w", "x", "y"]
RNG = np.random.default_rng(0)
Y = np.array(["ab"[i % 2] for i in range(40)])
X = RNG.poisson(np.where(Y[:, None] == "a", [9, 1, 1, 1, 2], [1, 1, 1, 9, 2]))  # u and x tell
ORDER = [3, 4, 0, 2, 1]  # of the columns in the files to be answered for
FORMATS = ["csv", "parquet", "npz", "h5ad", "mtx", "svm"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("y.txt").write_text("\n".join(Y) + "\n")


def run(*arguments, status=0):
    found = CliRunner().invoke(naively, [str(each) for each in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == status, found.output
    return found


def refused(*arguments, match):
    found = run(*arguments, status=2)
    assert found.stdout == ""
    assert found.stderr.startswith("naively: ")
    assert found.stderr.count("\n") == 1
    for words in (match,) if isinstance(match, str) else match:
        assert words in found.stderr
    return found


def anndata(path, X, names, layers=(), raw=None, y=Y):
    with h5py.File(path, "w") as file:
        file["X"] = X
        for frame, index in (("obs", [f"c{i}" for i in range(len(X))]), ("var", names)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame].create_dataset("_index", data=list(index), dtype=h5py.string_dtype())
        file["obs"].create_dataset("label", data=list(y), dtype=h5py.string_dtype())
        for name, layer in dict(layers).items():
            file[f"layers/{name}"] = layer
        if raw is not None:
            file["raw/X"] = raw
            file.copy("var", file["raw"])


def write(format, name, X, names=NAMES, *, first=1, y=Y):
    """Write a matrix, and its names beside it where the format has none; return path, options."""
    path = f"{name}.{format}"
    if format in ("csv", "parquet"):
        import pandas as pd

        frame = pd.DataFrame(X, columns=names).assign(label=y)
        frame.to_csv(path, index=False) if format == "csv" else frame.to_parquet(path)
        return path, (
            "--read",
            "numbers",
        )
    if format == "npz":
        np.savez(path, X=X, y=y, feature_names=names)
        return path, ()
    if format == "h5ad":
        anndata(path, X, names, y=y)
        return path, ()
    Path(f"{name}.names").write_text("\n".join(names) + "\n")
    if format == "mtx":
        scipy.io.mmwrite(path, sp.csr_array(X))
    else:
        dump_svmlight_file(sp.csr_array(X), (y == "b").astype(int), path, zero_based=not first)
    return path, ("--read", f"names={name}.names", "--read", "labels=y.txt")


def answers(*arguments):
    return [line.split(",")[1] for line in run("predict", *arguments).stdout.splitlines()[1:]]


@pytest.fixture(params=FORMATS)
def model(request):
    """A model trained on columns that have names, in a format; and what it answers."""
    path, options = write(request.param, "train", X)
    run("select", path, *options, "-k", 2, "--test", 0, "--out", "r", "-q")
    known = load_model("r/model.npz")
    assert known.names == ("u", "x")
    margin = X[:, 0] - X[:, 3]  # the two rates are each other's mirror image
    return ["a" if m > 0 else "b" for m in margin], margin != 0


def _of_prediction(options):
    keys = [key for key in options[1::2] if key not in ("numbers", "labels=y.txt")]
    return [each for key in keys for each in ("--read", key)]


@pytest.mark.parametrize("format", FORMATS)
def test_columns_in_another_order_are_found_by_name_whatever_the_formats(model, format):
    expected, clear = model
    path, options = write(format, "other", X[:, ORDER], [NAMES[j] for j in ORDER])
    found = np.array(answers("r", path, *_of_prediction(options)))
    np.testing.assert_array_equal(found[clear], np.array(expected)[clear])
    row = int(np.flatnonzero(clear)[0])
    told = run("explain", "r", "--file", path, "--row", row + 1, *_of_prediction(options), "--json")
    told = json.loads(told.stdout)
    assert told["answer"] == expected[row]
    values = {each["feature"]: each["value"] for each in told["contributions"]}
    assert values.items() <= {"u": X[row, 0], "x": X[row, 3]}.items()


@pytest.mark.parametrize("format", ["mtx", "svm", "npz"])
def test_a_file_without_names_is_never_matched_by_position(model, format):
    path = bare(format)
    words = [
        f"{path}: its columns have no names, by which the model knows them; ",
        "--read names=FILE",
    ]
    for beside in ((), ("--read", "labels=y.txt")):
        refused("predict", "r", path, *beside, match=words)
    refused("explain", "r", "--file", path, "--row", 1, match=words)


@pytest.mark.parametrize("format", ["mtx", "svm", "npz"])
@pytest.mark.parametrize("engine", [(), ("--on", 1), ("--on", "dask")])
def test_a_test_file_without_names_is_never_matched_by_position(format, engine):
    path = bare(format)
    if engine and engine[1] == "dask" and format != "npz":
        return  # a cluster takes seconds to start; one will do
    beside = ("--read", "test-labels=y.txt") if format != "npz" else ()
    refused(
        *("select", write("h5ad", "again", X)[0], "-k", 2, "--test", path, *beside, *engine, "-q"),
        match=[f"{path}: its columns have no names, by which again.h5ad knows them", "or none"],
    )


def bare(format):
    if format != "npz":
        return write(format, "bare", X)[0]
    np.savez("bare.npz", X=X, label=Y)
    return "bare.npz"


def test_shards_without_names_are_not_counted_by_position():
    path, _ = write("h5ad", "a", X)
    refused("count", path, bare("npz"), "-o", "c", "-q", match="have no names, by which a.h5ad")


def test_where_the_model_has_no_names_numbers_of_columns_are_their_names():
    scipy.io.mmwrite("a.mtx", sp.csr_array(X))
    run("select", "a.mtx", "--read", "labels=y.txt", "-k", 2, "--test", 0, "--out", "r", "-q")
    assert load_model("r/model.npz").names == ("1", "4")
    expected = answers("r", "a.mtx")
    for format in ("npz", "svm", "h5ad"):
        assert answers("r", *write(format, "b", X)[:1]) == expected
    refused("predict", "r", write("npz", "c", X[:, :4], NAMES[:4])[0], match="has 4 columns")


@pytest.mark.parametrize("format", ["npz", "h5ad", "csv", "mtx"])
def test_names_of_a_test_file_are_its_own_before_those_beside_the_training_file(format):
    path, options = write("mtx", "train", X)
    # Names stand beside `train.mtx`; a test file in another order tells its own, if it has any.
    order = ORDER if format != "mtx" else list(range(5))
    test, _ = write(format, "test", X[:, order], [NAMES[j] for j in order])
    beside = ("--read", "test-labels=y.txt") if format == "mtx" else ()
    run("select", path, *options, "-k", 2, "--test", test, *beside, "--out", "r", "-q")
    summary = json.loads(Path("r/summary.json").read_text())
    assert summary["evaluation"]["accuracy"] > 0.9


def test_options_of_the_training_file_do_not_bind_a_test_file_of_another_format():
    path, _ = write("csv", "plain", X)
    Path("t.csv").write_text(Path(path).read_text().replace(",", ";"))
    turned = zip(*(line.split(",") for line in Path(path).read_text().splitlines()), strict=True)
    turned = [";".join([row[0], *row[1:]]) for row in turned]
    Path("turned.csv").write_text(
        "\n".join([";".join(["", *(f"s{i}" for i in range(40))]), *turned])
    )
    order = [NAMES[j] for j in ORDER]
    anndata("x.h5ad", X, NAMES, {"counts": X})
    for train, how, formats in (
        ("t.csv", ("--read", "delimiter=;", "--read", "numbers"), ("parquet", "h5ad")),
        ("turned.csv", ("--read", "delimiter=;", "--read", "transpose"), ("h5ad",)),
        ("x.h5ad", ("--read", "layer=counts"), ("csv", "npz", "parquet")),
    ):
        for format in formats:
            test, _ = write(format, "test", X[:, ORDER], order)
            if format == "npz":
                np.savez(test, X=X[:, ORDER], label=Y, feature_names=order)
            run("select", train, *how, "-k", 2, "--test", test, "--out", "r", "-q")
            summary = json.loads(Path("r/summary.json").read_text())
            assert summary["evaluation"]["accuracy"] > 0.9


# The matrix of an AnnData file -----------------------------------------------------------------

SHUFFLED = X[:, [3, 1, 2, 0, 4]]  # tells the opposite of what X tells


@pytest.mark.parametrize("layer", ["counts", "raw"])
@pytest.mark.parametrize("way", [(), ("--on", 1), "count"])
def test_a_model_remembers_the_layer_it_was_trained_on(layer, way):
    anndata("a.h5ad", SHUFFLED, NAMES, {"counts": X} if layer == "counts" else {},
            X if layer == "raw" else None)  # fmt: skip
    if way == "count":
        run("count", "a.h5ad", "--read", f"layer={layer}", "-o", "c", "-q")
        run("count", "c", "-o", "s.npz", "-q")
        run("select", "s.npz", "-k", 2, "-o", "r", "-q")
    else:
        run(
            "select",
            "a.h5ad",
            "--read",
            f"layer={layer}",
            *way,
            "-k",
            2,
            "--test",
            0,
            "--out",
            "r",
            "-q",
        )
    assert load_model("r/model.npz").layer == layer
    anndata("x.h5ad", X, NAMES)
    expected = answers("r", "x.h5ad", "--read", "layer=X")
    assert answers("r", "a.h5ad") == answers("r", "a.h5ad", "--read", f"layer={layer}") == expected
    assert answers("r", write("npz", "n", X)[0]) == expected  # which has no layers
    of_x = answers("r", "a.h5ad", "--read", "layer=X")
    assert np.mean(np.array(of_x) == np.array(expected)) < 0.2
    row = int(np.flatnonzero(np.array(of_x) != np.array(expected))[0])
    for given, told in (((), expected), (("--read", "layer=X"), of_x)):
        found = run("explain", "r", "--file", "a.h5ad", "--row", row + 1, *given, "--json")
        assert json.loads(found.stdout)["answer"] == told[row]
    words = [
        f"x.h5ad: there is no layer `{layer}`, on which the model was trained; ",
        "--read layer=X",
    ]
    refused("predict", "r", "x.h5ad", match=words)
    refused("explain", "r", "--file", "x.h5ad", "--row", 1, match=words)


def test_a_model_of_x_reads_x():
    anndata("a.h5ad", X, NAMES, {"counts": SHUFFLED})
    for given in ((), ("--read", "layer=X")):
        run("select", "a.h5ad", *given, "-k", 2, "--test", 0, "--out", "r", "-q")
        assert load_model("r/model.npz").layer is None
        assert answers("r", "a.h5ad") == answers("r", "a.h5ad", "--read", "layer=X")


def test_a_layer_that_is_not_there():
    anndata("a.h5ad", X, NAMES)
    refused(
        *("select", "a.h5ad", "--read", "layer=counts"),
        match="a.h5ad: there is no layer `counts`; it has no layers. --read layer=X reads X.",
    )
    anndata("b.h5ad", X, NAMES, {"counts": X})
    refused("select", "b.h5ad", "--read", "layer=count", match="did you mean `counts`?")


def test_records_of_different_layers_are_not_added():
    anndata("a.h5ad", X, NAMES, {"counts": SHUFFLED})
    run("count", "a.h5ad", "-o", "c", "-q")
    run("count", "a.h5ad", "--read", "layer=counts", "-o", "c", "-q")
    refused("count", "c", "-o", "s.npz", "-q", match="layer='counts' and layer=None")


# Records ---------------------------------------------------------------------------------------


def numbered_files(format, parts):
    """Write rows without names of columns in some files; return a pattern and the options."""
    edges = np.linspace(0, len(X), parts + 1).astype(int)
    for i, (start, stop) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        rows = sp.csr_array(X[start:stop])
        if format == "mtx":
            scipy.io.mmwrite(f"p{i}.mtx", rows)
        elif format == "npz":
            np.savez(f"p{i}.npz", X=X[start:stop], y=Y[start:stop])
        else:
            zero = format == "zero"
            dump_svmlight_file(rows, (Y[start:stop] == "b") + 1, f"p{i}.svm", zero_based=zero)
    suffix = format if format in ("mtx", "npz") else "svm"
    return f"p*.{suffix}", ("--read", "labels=y.txt") if format == "mtx" else ()


@pytest.mark.parametrize(
    ("format", "first", "parts"),
    [("zero", 0, 1), ("zero", 0, 3), ("one", 1, 1), ("one", 1, 3), ("mtx", 1, 1), ("npz", 0, 2)],
)
@pytest.mark.parametrize("model", ["multinomial", "l2-centers", "bernoulli"])
def test_counting_and_solving_is_selecting(format, first, parts, model):
    pattern, options = numbered_files(format, parts)
    files = sorted(str(each) for each in Path().glob(pattern))
    how = ("--model", model)
    run("select", pattern, *options, *how, "-k", 2, "--test", 0, "--out", "r", "-q")
    run("count", *files, *options, *how, "-o", "c", "-q")
    run("count", "c", "-o", "s.npz", "-q")
    run("select", "s.npz", *how, "-k", 2, "-o", "s", "-q")
    assert load_model("s/model.npz").first_column == first
    assert load_model("s/model.npz").names == (str(first), str(first + 3))  # u and x
    for name in ("model.npz", "features.csv"):
        assert Path("s", name).read_bytes() == Path("r", name).read_bytes()
    for file in files:
        found = answers("s", file)
        assert found == answers("r", file)
        assert len(found) > 10
        told = run("explain", "s", "--file", file, "--row", 1, "--json")
        assert {each["feature"] for each in json.loads(told.stdout)["contributions"]} <= {
            *(str(first), str(first + 3))
        }


def test_records_that_number_their_columns_differently_are_not_added():
    Path("a.svm").write_text("1 0:3 4:1\n2 1:2 2:1\n")
    Path("b.svm").write_text("1 1:3 5:1\n2 2:2 3:1\n")
    for name in ("a.svm", "b.svm"):  # both of five columns
        run("count", name, "-o", "c", "-q")
    refused("count", "c", "-o", "s.npz", match=["first_column=0 and first_column=1", "one command"])
    assert not Path("s.npz").exists()
    run("count", "a.svm", "b.svm", "-o", "d", "-q")  # which then has six
    run("count", "d", "-o", "s.npz", "-q")
    run("select", "s.npz", "-k", "all", "-o", "r", "-q")
    assert load_model("r/model.npz").names == ("0", "1", "2", "3", "4", "5")


@pytest.mark.parametrize(("format", "first"), [("zero", 0), ("one", 1)])
def test_counting_in_python_keeps_the_number_of_the_first_column(format, first):
    pattern, _ = numbered_files(format, 2)
    record = count_files(pattern, ColumnFeatures(5))
    assert record.features.first_column == first
    np.testing.assert_array_equal(record.statistics.table.sum(axis=1), X.sum(axis=0))


# Which rows are held out -------------------------------------------------------------------------


def tables(rng, n=240):
    """Counts (n, 6) and labels (n,)."""
    y = rng.integers(0, 2, n)
    rates = np.where(y[:, None] == 1, [1, 2, 3, 4, 5, 6], [2, 2, 2, 3, 3, 3])
    return rng.poisson(rates), np.array(["a", "b"])[y]


def written(format, name, X, names, y):
    """Write a table, its columns in this order; return what selects from it."""
    import pandas as pd

    path, frame = f"{name}.{format}", pd.DataFrame(X, columns=names)
    if format == "h5ad":
        anndata(path, X, names, y=y)
        return path, ()
    if format == "npz":
        np.savez(path, X=sp.csr_array(X).toarray(), y=y, feature_names=names)
        return path, ()
    if format == "transposed":
        path = f"{name}.csv"
        turned = frame.T.astype(object)
        turned.loc["label"] = y
        turned.to_csv(path)
        return path, ("--read", "transpose")
    frame.insert(2, "label", y)
    if format == "mixed":
        path = f"{name}.csv"
        frame["gene0"] = np.array(["low", "high"])[(frame["gene0"] > 2).astype(int)]
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "mixed": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }[format]()
    return path, ("--model", "mixed") if format == "mixed" else ("--read", "numbers")


def rounded(found):
    """Figures to nine digits: sums over columns in another order round otherwise."""
    if isinstance(found, dict):
        return {name: rounded(each) for name, each in found.items()}
    if isinstance(found, list):
        return [rounded(each) for each in found]
    return float(f"{found:.9g}") if isinstance(found, float) else found


@pytest.mark.parametrize(
    "format", ["csv", "parquet", "jsonl", "xlsx", "npz", "h5ad", "transposed", "mixed"]
)
def test_the_order_of_named_columns_has_no_say_in_any_figure(format):
    X, y = tables(np.random.default_rng(3))
    names, found = [f"gene{j}" for j in range(6)], []
    for name, order in (("one", [0, 1, 2, 3, 4, 5]), ("other", [0, 4, 2, 5, 1, 3])):
        path, how = written(format, name, X[:, order], [names[j] for j in order], y)
        run("select", path, *how, "-k", "auto", "--test", 0.3, "--judge", "stability", "-q")
        summary = json.loads(Path("result/summary.json").read_text())
        assert summary["evaluation"]["test_rows"] == 72
        assert any("stability" in each for each in summary["features"])
        table = json.loads(run("cv", path, *how, "--json", "-q").stdout)
        scores = [(point["k"], point["score"], point["gain"]) for point in table["points"]]
        features = [{**each, "column": None} for each in summary["features"]]  # its place differs
        features.sort(key=lambda each: each["name"])
        found.append(rounded([summary["evaluation"], features, [*map(list, scores)]]))
    assert found[0] == found[1]
