"""Settings: file < environment < flags; typed; mistakes are named; secrets stay secret."""

from __future__ import annotations

import json
import pickle
import traceback

import pytest

from pagerag.errors import SettingsError
from pagerag.settings import Secret, Settings, variable


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def load(tmp_path, toml="", env=None, **flags):
    (tmp_path / "pagerag.toml").write_text(toml, encoding="utf-8")
    return Settings.load(env=env or {}, flags=flags.get("flags"))


def test_later_sources_win_and_are_remembered(tmp_path):
    toml = '[promote]\nk = 3\nmode = "paragraph"\n[chat]\nmodel = "file"\n'
    env = {"PAGERAG_PROMOTE_K": "4", "PAGERAG_CHAT_MODEL": "env"}
    made = load(tmp_path, toml, env, flags={"promote.k": 7, "retrieve.pool": None})
    assert (made.promote.k, made.chat.model, made.promote.mode, made.retrieve.pool) == (
        7,
        "env",
        "paragraph",
        20,
    )
    assert made.origin("promote.k") == "flag"
    assert made.origin("chat.model") == "$PAGERAG_CHAT_MODEL"
    assert made.origin("promote.mode") == "pagerag.toml"
    assert made.origin("retrieve.pool") == "default"


def test_the_user_file_is_below_the_project_file(tmp_path):
    home = tmp_path / "home"
    (home / ".config" / "pagerag").mkdir(parents=True)
    (home / ".config" / "pagerag" / "config.toml").write_text("[promote]\nk = 9\n[retrieve]\npool = 33\n")
    made = load(tmp_path, "[promote]\nk = 3\n", {"HOME": str(home)})
    assert (made.promote.k, made.retrieve.pool) == (3, 33)


def test_a_named_file_is_the_only_one(tmp_path):
    (tmp_path / "other.toml").write_text("[promote]\nk = 2\n")
    (tmp_path / "pagerag.toml").write_text("[retrieve]\npool = 5\n")
    made = Settings.load(tmp_path / "other.toml", env={})
    assert (made.promote.k, made.retrieve.pool) == (2, 20)
    assert Settings.load(env={"PAGERAG_CONFIG": str(tmp_path / "other.toml")}).promote.k == 2
    with pytest.raises(SettingsError, match="no settings file"):
        Settings.load(tmp_path / "absent.toml", env={})


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[promote]\nkk = 3\n", r"promote\.kk.*did you mean promote\.k"),
        ("[promot]\nk = 3\n", r"promot\.k.*did you mean promote\.k"),
        ("k = 3\n", "must be a table"),
        ("[promote\n", r"pagerag\.toml"),
        ('[promote]\nk = "many"\n', r"promote\.k must be a whole number.*pagerag\.toml"),
        ("[promote]\nk = 0\n", "at least 1"),
        ("[promote]\nk = 2.5\n", "whole number"),
        ("[promote]\nk = true\n", "whole number"),
        ('[promote]\nmode = "page"\n', "one of auto, sentence"),
        ("[chat]\ntemperature = 9\n", "at most 2"),
        ("[chat]\ntemperature = nan\n", "a number"),
        ('[retrieve]\nadaptive = "perhaps"\n', "true or false"),
        ("[chat]\nextra = 3\n", "table"),
        ("[chat]\nmodel = 3\n", "text"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, toml, message):
    with pytest.raises(SettingsError, match=message):
        load(tmp_path, toml)


def test_mistakes_in_the_environment_are_named(tmp_path):
    with pytest.raises(SettingsError, match=r"PAGERAG_CHAT_MODELL.*PAGERAG_CHAT_MODEL"):
        load(tmp_path, "", {"PAGERAG_CHAT_MODELL": "x"})
    with pytest.raises(SettingsError, match=r"from \$PAGERAG_PROMOTE_K"):
        load(tmp_path, "", {"PAGERAG_PROMOTE_K": "x"})
    assert load(tmp_path, "", {"PAGERAG_DATA": "/data", "OTHER": "1"}) == Settings()


def test_values_from_the_environment_are_typed(tmp_path):
    made = load(
        tmp_path,
        "",
        {
            "PAGERAG_RETRIEVE_ADAPTIVE": "off",
            "PAGERAG_CHAT_EXTRA": '{"top_p": 0.5}',
            "PAGERAG_CHAT_DEADLINE": "2.5",
        },
    )
    assert made.retrieve.adaptive is False
    assert made.chat.extra == {"top_p": 0.5}
    assert made.chat.deadline == 2.5


def test_secrets_never_show(tmp_path):
    made = load(tmp_path, "", {"PAGERAG_CHAT_API_KEY": "sk-very-secret"})
    assert made.chat.key().reveal() == "sk-very-secret"
    shown = f"{made} {made!r} {made.chat} {made.chat.api_key} {json.dumps(made.to_dict())}"
    assert "sk-very" not in shown
    assert made.to_dict()["chat"]["api_key"] == "***"
    assert made.get("chat.api_key") == Secret("sk-very-secret")
    try:
        raise ValueError(made.chat.api_key)
    except ValueError:
        assert "sk-very" not in traceback.format_exc()
    with pytest.raises(SettingsError) as problem:
        load(tmp_path, "[chat]\napi_key = 3\n")
    assert "3" not in str(problem.value).split("chat.api_key")[1].split("(")[0]
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301


def test_the_key_may_live_in_another_variable(tmp_path):
    made = load(tmp_path, '[chat]\napi_key_env = "MY_KEY"\n')
    assert made.chat.key({"MY_KEY": "k"}).reveal() == "k"
    with pytest.raises(SettingsError, match="MY_KEY, which is not set"):
        made.chat.key({})


def test_every_setting_has_a_name_a_doc_and_a_variable():
    for name, item in Settings.fields():
        assert item.metadata["doc"]
        assert variable(name).startswith("PAGERAG_")
        assert Settings().get(name) is not None
