"""Texts of a kind, stop words of a language, and patterns that a stranger chose."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest
import stopwordsiso
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.jobs import predict as predicting
from naively.jobs.model_file import load_model
from naively.jobs.words import LANGUAGES, listed
from naively.read.errors import InputError
from naively.text.counter import count_rows
from naively.text.features import PRESETS, TextFeatures


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.stderr if status else result.stdout


def terms(text, preset):
    return sorted(count_rows([text], TextFeatures(**PRESETS[preset]))[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Love #NaiveBayes by @ada_l!", ["#naivebayes", "@ada_l", "by", "love"]),
        ("so 😀😀 good 👍🏽", ["good", "so", "👍🏽", "😀", "😀"]),
        ("👩‍👩‍👧 and ❤️ 🇫🇷🇩🇪", ["and", "❤️", "🇩🇪", "🇫🇷", "👩‍👩‍👧"]),
        ("mail a1@b2.org, C# #", ["a1", "b2", "mail", "org"]),
        ("a # b", []),
    ],
)
def test_tweets(text, expected):
    names, X = count_rows([text], TextFeatures(**PRESETS["tweets"]))
    names = np.repeat(list(names), np.asarray(X.todense()).ravel().astype(int))
    assert sorted(names.tolist()) == sorted(expected)


def test_characters_and_pairs_of_them():
    assert terms("我喜欢", "cjk") == sorted(["我", "喜", "欢", "我喜", "喜欢"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("so good #win 😀", "pos"), ("bad #fail 😡", "neg")] * 12
    Path("t.csv").write_text("text,label\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return tmp_path


def test_a_preset_is_stored_in_the_model(folder):
    run("select", "t.csv", "--words", "text-like=tweets", "-k", "all", "--quick", "-q")
    model = load_model("result/model.npz")
    assert {"#win", "😀", "#fail", "😡", "so", "good", "bad"} == set(model.names)
    assert model.features.token_pattern == PRESETS["tweets"]["token_pattern"]
    Path("new.csv").write_text("text\n#win\n😡\n")
    assert run("predict", "result", "new.csv", "-q").split() == ["row,label", "1,pos", "2,neg"]


def test_what_a_preset_settles_is_not_given(folder):
    for option in (("--words", "token-pattern=x"), ("--words", "analyzer=char")):
        message = run("select", "t.csv", "--words", "text-like=tweets", *option, status=2)
        assert (
            f"--words text-like=tweets settles --words {option[1].partition('=')[0]}; leave"
            in " ".join(message.split())
        )
    message = run("select", "t.csv", "--words", "text-like=cjk", "--words", "ngrams=1", status=2)
    assert "settles --words ngrams" in message
    message = run(
        "select", "t.csv", "--words", "text-like=cjk", "--words", "stop-words=german", status=2
    )
    assert "--words stop-words has no effect on --words analyzer=char" in " ".join(message.split())
    message = run("select", "t.csv", "--read", "numbers", "--words", "text-like=cjk", status=2)
    assert "--words text-like has no effect on numbers" in message


def test_stop_words_of_languages():
    assert set(LANGUAGES.values()) | {"en"} == set(stopwordsiso.langs())
    german = listed("german")
    assert {"und", "nicht", "der"} <= set(german)
    assert list(german) == sorted(stopwordsiso.stopwords("de"))
    with pytest.raises(InputError, match="Did you mean `german`"):
        listed("germann")


def test_stop_words_without_their_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "stopwordsiso", None)
    with pytest.raises(InputError, match=r"pip install 'naively\[languages\]'"):
        listed("german")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_pattern_that_backtracks_for_ever_is_given_up(folder, monkeypatch):
    monkeypatch.setattr(predicting, "_PATIENCE", 0.5)
    run("select", "t.csv", "--words", r"token-pattern=(?:\w\w?)+\b", "-k", "2", "--quick", "-q")
    assert run("predict", "result", "t.csv", "-q").count("\n") == 25
    Path("trap.csv").write_text("text\n" + "a" * 60 + "…\n")
    run("select", "t.csv", "--words", r"token-pattern=(?:\w\w?)+!|\w+", "-k", "2", "--quick", "-q")
    start, before = time.monotonic(), signal.getsignal(signal.SIGALRM)
    message = run("predict", "result", "trap.csv", "-q", status=2)
    assert "the `token_pattern` of the model takes over" in message
    assert time.monotonic() - start < 5
    assert signal.getsignal(signal.SIGALRM) == before
