"""Settings by tables: `--words ngrams=1,2` on the command line, `[words]` in a file of settings."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

import naively as package
from naively._nearest import nearest
from naively.cli.ending import Refusal, ending_when_stopped
from naively.cli.values import AnyType
from naively.jobs.repeat import Settings
from naively.read.errors import reason

_GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)
_UNBROKEN = "\N{NON-BREAKING HYPHEN}"
_FILE, _KEYS = "naively.file", "naively.keys"  # what a command remembers of what it was given
_NOT_OF_THE_RUN = ("config", "json", "quiet", "force")  # how it is shown, not what is done


@dataclass(frozen=True, slots=True)
class Key:
    """A setting of a table."""

    name: str
    type: Any  # of click
    help: str
    default: Any = None
    many: bool = False  # may be given more than once
    dest: str = ""  # what jobs call it; empty: its name
    metavar: str = ""  # of its value; empty: that of the type

    @property
    def parameter(self) -> str:
        """What jobs call it."""
        return self.dest or self.name.replace("-", "_")

    @property
    def form(self) -> str:
        """How it is given."""
        if isinstance(self.type, click.types.BoolParamType):
            other = "true|false" if self.default is None else str(not self.default).lower()
            return f"{self.name}={other}"
        if isinstance(self.type, click.Choice):
            return f"{self.name}={'|'.join(self.type.choices)}"
        return f"{self.name}={self.metavar or self.type.name.upper()}"


class Keyed(AnyType):
    """One KEY=VALUE of a table; a KEY alone is true."""

    name = "KEY=VALUE"

    def __init__(self, table: str, keys: Iterable[Key]) -> None:
        self.table = table
        self.keys = {key.name: key for key in keys}

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Read a key and its value, or answer `help`."""
        if isinstance(value, tuple):
            return value
        name, has, text = str(value).partition("=")
        if value == "help":
            click.echo(self.help())
            ctx.exit()
        return name, self.checked(name, text if has else None, ctx)

    def checked(self, name: str, text: str | None, ctx: click.Context) -> str:
        """Return the value of a key as text: "true" for one that only says so."""
        key = self.keys.get(name)
        if key is None:
            raise click.BadParameter(
                f"there is no {name!r} here; {nearest(name, self.keys, 'key')} All are told by "
                f"--{self.table} help.",
                ctx,
                param_hint=f"'--{self.table}'",
            )
        if text is None and not isinstance(key.type, click.types.BoolParamType):
            raise click.BadParameter(
                f"it needs a value: {key.form}", ctx, param_hint=f"'--{self.table} {name}'"
            )
        text = "true" if text is None else text
        self._value(key, text, ctx)
        return text

    def _value(self, key: Key, text: str, ctx: click.Context) -> Any:
        try:
            return key.type.convert(text, None, ctx)
        except click.BadParameter as error:
            hint = f"'--{self.table} {key.name}'"
            raise click.BadParameter(error.message, ctx, param_hint=hint) from error

    def settings(self, texts: Mapping[str, Any], ctx: click.Context) -> dict[str, Any]:
        """Return what jobs are told: every setting of the table, by its parameter."""
        found: dict[str, Any] = {}
        for key in self.keys.values():
            text = texts.get(key.name)
            if text is None:
                found[key.parameter] = () if key.many else key.default
            elif key.many:
                found[key.parameter] = tuple(self._value(key, each, ctx) for each in text)
            else:
                found[key.parameter] = self._value(key, text, ctx)
        return found

    def of_file(
        self, said: Mapping[str, Any], ctx: click.Context
    ) -> Iterator[tuple[str, str | list[str]]]:
        """Texts by key of what a file says."""
        for name, value in said.items():
            many = name in self.keys and self.keys[name].many
            texts = [
                self.checked(name, _text(each), ctx) for each in (_all(value) if many else [value])
            ]
            yield name, texts if many else texts[0]

    def merged(
        self, of_file: Mapping[str, Any], given: Iterable[tuple[str, str]]
    ) -> dict[str, Any]:
        """Texts by key; what is given on the command line goes before what a file says."""
        own: dict[str, Any] = {}
        for name, text in given:
            if name in own and not self.keys[name].many:
                raise click.UsageError(
                    f"--{self.table} {name} is given more than once; once will do."
                )
            own[name] = [*own.get(name, []), text] if self.keys[name].many else text
        return {**of_file, **own}

    def help(self) -> str:
        """One line a key."""
        heads = [key.form for key in self.keys.values()]
        width = min(max(map(len, heads)), 28)
        lines = [f"--{self.table} KEY=VALUE, or [{self.table}] in --config; keys:"]
        for head, key in zip(heads, self.keys.values(), strict=True):
            many = " May be repeated." if key.many else ""
            gap = "\n  " + " " * width if len(head) > width else " " * (width - len(head))
            lines.append(f"  {head}{gap}  {key.help}{many}")
        return "\n".join(lines)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Complete keys, and the values of those that have a choice."""
        name, has, text = incomplete.partition("=")
        if not has:
            return [CompletionItem(f"{key}=") for key in self.keys if key.startswith(name)]
        kind = self.keys[name].type if name in self.keys else None
        choices = kind.choices if isinstance(kind, click.Choice) else ()
        return [CompletionItem(f"{name}={each}") for each in choices if each.startswith(text)]


def keyed(table: str, keys: Iterable[Key], what: str) -> click.Parameter:
    """Return the option of a table."""
    kind = Keyed(table, keys)
    some = ", ".join(kind.keys)
    return click.Option(
        [f"--{table}", table], type=kind, multiple=True, is_eager=True,
        help=f"{what}: {some}. `--{table} help` tells of each.",
    )  # fmt: skip


def config_option() -> click.Parameter:
    """Return the option that names a file of settings."""
    return click.Option(
        ["--config"],
        metavar="FILE",
        type=click.Path(),
        is_eager=True,
        expose_value=False,
        callback=_read,
        help="Settings by the names of these options, in TOML, such as the run.toml of a result; "
        "options on the command line go before them.",
    )


def _spelled(param: click.Parameter) -> str:
    """Name of an option as it is given: the longest, without its dashes."""
    return max((each.lstrip("-") for each in param.opts), key=len)


def _read(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Take what a file says as defaults."""
    if path is None:
        return

    def refused(said: str) -> click.BadParameter:
        return click.BadParameter(f"{path}: {said}", ctx, param)

    try:
        with open(path, "rb") as file:
            said = tomllib.load(file)
    except OSError as error:
        raise refused(f"{reason(error)}.") from error
    except ValueError as error:
        raise refused(f"this is no TOML: {error}.") from error
    known = {_spelled(each): each for each in ctx.command.params if each.name != "config"}
    top: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for name, value in said.items():
        if name not in known:
            raise refused(
                f"{ctx.info_name} has no setting {name!r}; {nearest(name, known, 'setting')}"
            )
        kind = known[name].type
        if isinstance(value, dict) != isinstance(kind, Keyed):
            raise refused(f"{name!r} is {'a table' * (not isinstance(value, dict)) or 'no table'}.")
        if isinstance(kind, Keyed):
            tables[name] = dict(kind.of_file(value, ctx))
        else:
            many = getattr(known[name], "multiple", False)
            top[str(known[name].name)] = [*map(_text, _all(value))] if many else _text(value)
    ctx.default_map = top
    ctx.meta[_FILE] = tables


def _all(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    """Value of a file of settings as it would stand on the command line."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Formatter(click.HelpFormatter):
    """Help whose lines never end within a name, at a hyphen."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **settings: Any) -> None:
        super().write_dl(
            [(name, text.replace("-", _UNBROKEN)) for name, text in rows], *args, **settings
        )

    def getvalue(self) -> str:
        return super().getvalue().replace(_UNBROKEN, "-")


class _Context(click.Context):
    formatter_class = _Formatter


class Group(click.Group):
    """Commands whose usage errors are one sentence."""

    context_class = _Context

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_described(settings))

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Read the name of the command."""
        with ending_when_stopped(), _in_one_sentence():
            return super().make_context(*args, **settings)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; what is one in Python alone is named."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] not in dir(package):
                raise
            said = f"No such command {args[0]!r}; it is a function in Python: naively.{args[0]}"
            raise click.UsageError(said, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Read the options of the command, which may import an engine, and run it."""
        with ending_when_stopped(), _in_one_sentence():
            return super().invoke(ctx)


def _described(settings: dict[str, Any]) -> dict[str, Any]:
    """Say where the description is that Python left out with all docstrings."""
    said = "Python runs with -OO, which leaves descriptions out; without it they stand here."
    return {**settings, "help": settings.get("help") or said}


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        said = error.format_message().rstrip(".")
        if isinstance(error, click.MissingParameter | click.NoSuchOption) and error.ctx is not None:
            way = f"{error.ctx.command_path} --help shows what there is"
            said += f" {way}" if said.endswith("?") else f"; {way}"
        raise Refusal(said if said.endswith("?") else f"{said}.") from error


class Command(click.Command):
    """A command whose options stand in groups, and whose tables are read into its settings."""

    context_class = _Context

    def __init__(self, *args: Any, example: str = "", groups: Any = (), **settings: Any) -> None:
        super().__init__(*args, **_described(settings))
        self.example = example
        self.groups: Mapping[str, tuple[str, ...]] = dict(groups)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the settings of the tables beside the options."""
        try:
            if not ctx.resilient_parsing:
                self._refuse_repeated(ctx, args)
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            if isinstance(error, click.NoSuchOption) and (way := self._way(error.option_name)):
                said = f"No such option {error.option_name!r}; write {way}."
                raise click.UsageError(said, error.ctx) from error
            if "extra argument" not in error.message:
                raise
            way = "Many files are named by one pattern in quotes: 'data/*.csv'."
            raise click.UsageError(f"{error.message}. {way}", error.ctx) from error
        texts = {}
        for param in self.params:
            if isinstance(kind := param.type, Keyed):
                of_file = ctx.meta.get(_FILE, {}).get(kind.table, {})
                given = kind.merged(of_file, ctx.params.pop(kind.table, ()))
                ctx.params |= kind.settings(given, ctx)
                texts[kind.table] = given
        ctx.meta[_KEYS] = texts
        return rest

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse options of one value that are given twice, of which click takes the last."""
        *_, order = self.make_parser(ctx).parse_args(args=list(args))
        for param in order:
            once = isinstance(param, click.Option) and not (param.multiple or param.is_flag)
            if once and order.count(param) > 1:
                raise click.UsageError(
                    f"{param.opts[0]} is given more than once; once will do.", ctx
                )

    def _way(self, option: str) -> str:
        """Say where a setting stands that was given as an option of its own."""
        asked = option.lstrip("-")
        asked = {"holdout": "test", "ngram-range": "ngrams", "feature-groups": "groups"}.get(
            asked, asked
        )
        ways = [
            f"--{kind.table} {kind.keys[asked].form}"
            for param in self.params
            if isinstance(kind := param.type, Keyed) and asked in kind.keys
        ]
        ways += ["--test 0.2"] if option == "--holdout" else []
        return " or ".join(ways)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under the headings of their groups."""
        rest = [each.name for each in self.get_params(ctx) if each.name not in _grouped(self)]
        for heading, names in (*self.groups.items(), ("Help", tuple(rest))):
            params = [each for each in self.get_params(ctx) if each.name in names]
            records = [found for each in params if (found := each.get_help_record(ctx))]
            if records and heading:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example."""
        super().format_epilog(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                formatter.write_text(self.example)


def _grouped(command: Command) -> set[str]:
    return {name for names in command.groups.values() for name in names}


def given() -> dict[str, str]:
    """Return what was given to the running command: how it is spelled, by its parameter."""
    ctx = click.get_current_context()
    plain = {
        str(each.name): each.opts[0] for each in ctx.command.params
        if isinstance(each, click.Option) and _is_given(ctx, each)
    }  # fmt: skip
    kinds = {p.type.table: p.type for p in ctx.command.params if isinstance(p.type, Keyed)}
    keys = {
        kinds[table].keys[name].parameter: f"--{table} {name}"
        for table, texts in ctx.meta[_KEYS].items()
        for name in texts
    }
    return {**plain, **keys}


def _is_given(ctx: click.Context, param: click.Parameter) -> bool:
    return not isinstance(param.type, Keyed) and (
        ctx.get_parameter_source(str(param.name)) in _GIVEN
    )


def settings_given() -> Settings:
    """Return the settings of the running command that were given, by which it can be repeated."""
    ctx = click.get_current_context()
    found: dict[str, Any] = {}
    for param in ctx.command.params:
        name = _spelled(param)
        if name not in _NOT_OF_THE_RUN and _is_given(ctx, param):
            found[name] = ctx.params[str(param.name)]
    return found | {table: texts for table, texts in ctx.meta[_KEYS].items() if texts}
