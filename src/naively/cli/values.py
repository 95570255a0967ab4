"""The values of options: what they may be, and what a wrong one is told."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from naively._choices import AUTO
from naively.statistics.column_kinds import KINDS
from naively.text.features import LARGEST_NGRAM

if TYPE_CHECKING:
    from naively.jobs.settings import Engine
    from naively.judging.thresholds import Goal, Wanted

    AnyType: TypeAlias = click.ParamType[Any]
else:
    AnyType = click.ParamType  # before click 8.4 it is not generic


class Amount(AnyType):
    """How many features: a number, a share of all, all of them, or what cross-validation finds."""

    words = ("all", "fdr", *AUTO)
    name = "|".join(["N", "SHARE", *words])

    def convert(self, value: Any, param: Any, ctx: Any) -> int | float | str:
        """Read 100, 0.01, 1%, all, fdr, auto, simplest or best."""
        text = str(value).strip().lower()
        if text in self.words:
            return text
        with suppress(ValueError):
            if text.isdecimal():
                return int(text)
            share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
            if 0 < share <= 1 and not text.isdecimal():
                return share
        return self.fail(
            f"{value!r} is not a number of features (100), a share of them (0.01 or 1%), "
            f"{', '.join(self.words[:-1])} or {self.words[-1]}.",
            param,
            ctx,
        )


class Bound(AnyType):
    """A class and its least log-odds."""

    name = "CLASS=NATS|none"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, float] | None:
        """Read spam=2.5, in which the name may hold =, or none."""
        if value == "none":
            return None
        name, _, number = str(value).rpartition("=")
        with suppress(ValueError):
            if name and not math.isnan(float(number)):
                return name, float(number)
        said = f"{value!r} is not a class and a number, such as spam=2.5, nor none."
        return self.fail(said, param, ctx)


class Share(AnyType):
    """A class and a share of its rows."""

    name = "CLASS=SHARE"

    def __init__(self, goal: Goal) -> None:
        self.goal: Goal = goal

    def convert(self, value: Any, param: Any, ctx: Any) -> Wanted:
        """Read spam=0.95; the name may hold =."""
        from naively.judging.thresholds import Wanted

        name, _, number = str(value).rpartition("=")
        with suppress(ValueError):
            if name and 0 < float(number) <= 1:
                return Wanted(name, self.goal, float(number))
        return self.fail(
            f"{value!r} is not a class and a share in (0, 1], such as spam=0.95.", param, ctx
        )


class QuotaType(AnyType):
    """How many features for each class."""

    name = "N|even"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """Read 2 or even."""
        text = str(value).strip().lower()
        if text == "even" or text.isdecimal():
            return text if text == "even" else int(text)
        return self.fail(
            f"{value!r} is not a number of features for each class, 0 or more, or even.", param, ctx
        )


class Sum(AnyType):
    """A sum of rows, or their median."""

    name = "median|SUM"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read median or 1e4."""
        if value == "median" or isinstance(value, float):
            return value
        with suppress(ValueError):
            if 0 < float(value) < math.inf:
                return float(value)
        return self.fail(f"{value!r} is neither median nor a number above 0.", param, ctx)


class Penalty(AnyType):
    """A penalty, or that it is to be chosen."""

    name = "auto|NUMBER"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        """Read auto or 0.5."""
        if value == "auto":
            return "auto"
        with suppress(ValueError):
            if 0 <= float(value) < math.inf:
                return float(value)
        return self.fail(f"{value!r} is neither auto nor a number >= 0.", param, ctx)


class ColumnKind(AnyType):
    """A column and its kind."""

    name = "NAME=KIND"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Read visits=poisson; the name may hold =."""
        name, _, kind = str(value).rpartition("=")
        if name and kind in KINDS:
            return name, kind
        return self.fail(
            f"{value!r} is not a column and one of {', '.join(KINDS)}, such as visits=poisson.",
            param,
            ctx,
        )


class Folds(AnyType):
    """How many folds there are."""

    name = "N|loo"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """Read 5, or loo."""
        text = str(value).strip().lower()
        if text == "loo" or (text.isdecimal() and len(text) < 10 and int(text) >= 2):
            return text if text == "loo" else int(text)
        return self.fail(
            f"{value!r} is not a number of folds, 2 or more, nor loo (leave one out).", param, ctx
        )


class Finite(click.FloatRange):
    """A number in a range; NaN is in none, though no comparison says so."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read a number that is neither NaN nor infinite."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Sizes(AnyType):
    """Smallest and largest n of n-grams."""

    name = "N[,N]"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        """Read 1,2 or 1-3 or 2."""
        if isinstance(value, tuple):
            return value
        parts = str(value).replace("-", ",").split(",")
        with suppress(ValueError):  # Python reads no number of thousands of digits
            lo, hi = int(parts[0]), int(parts[-1])
            if 1 <= lo <= hi <= LARGEST_NGRAM and len(parts) <= 2:
                return lo, hi
        return self.fail(
            f"{value!r} is not a size (2) or a range of sizes (1,3) up to {LARGEST_NGRAM:,}.",
            param,
            ctx,
        )


class Grid(AnyType):
    """Numbers of features."""

    name = "K,K-K,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        """Read 1,10,100 or 1-20."""
        from naively.jobs.tables import grid

        with suppress(ValueError):
            return grid(str(value)) or []
        return self.fail(
            f"{value!r} is not a list of numbers of features, such as 1,10,100 or 1-20,50.",
            param,
            ctx,
        )


class Smoothings(AnyType):
    """One value of alpha, or some to try."""

    name = "A,A,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """Read 0.1,1."""
        with suppress(ValueError):
            found = [float(part) for part in str(value).split(",")]
            if all(0 <= each < float("inf") for each in found):
                return found
        return self.fail(f"{value!r} is not a list of smoothings, such as 0.1,1.", param, ctx)


class Where(AnyType):
    """Where the work is done: workers here, an engine, or the address of one."""

    name = "N|dask|spark|URL"

    def convert(self, value: Any, param: Any, ctx: Any) -> Engine:
        """Read 4, dask, dask:4, spark:4, tcp://HOST:PORT, spark://... or sc://..."""
        from naively.jobs.settings import Engine

        if isinstance(value, Engine):
            return value
        found = _WHERE.fullmatch(str(value))
        if found is None:
            return self.fail(
                f"{value!r} is not a number of workers (4), an engine (dask, spark, or dask:4 for "
                "so many workers) or the address of one (tcp://HOST:PORT, spark://..., sc://...).",
                param,
                ctx,
            )
        jobs = found["here"] or found["jobs"]
        scheme = re.split(r"[:\[]", found["url"] or "")[0]
        of_spark = found["name"] == "spark" or scheme in _OF_SPARK
        name = "local" if found["here"] else "spark" if of_spark else "dask"
        return Engine(name, found["url"], None if jobs is None else int(jobs))


_OF_SPARK = ("spark", "sc", "k8s", "yarn", "local")
_WHERE = re.compile(
    r"(?P<here>[1-9]\d{0,5})|(?P<name>dask|spark)(:(?P<jobs>[1-9]\d{0,5}))?|"
    r"(?P<url>yarn|local\[[^]]+\]|[a-z0-9]+://.+)"
)
