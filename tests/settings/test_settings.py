"""Settings: file < environment < flags; typed; mistakes are named; secrets stay secret."""

from __future__ import annotations

import json
import os
import pickle
import traceback
from dataclasses import fields

import pytest

from pagerag._user import config_file, trust, untrust
from pagerag.errors import SettingsError
from pagerag.settings import (
    PROJECT_FILE,
    ChatOptions,
    ChatSettings,
    Secret,
    Settings,
    guarded,
    project_settings,
    variable,
)


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own-config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own-state"))


def load(tmp_path, toml="", env=None, **flags):
    (tmp_path / "pagerag.toml").write_text(toml, encoding="utf-8")
    return Settings.load("pagerag.toml", env=env or {}, flags=flags.get("flags"))


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
    pytest.importorskip("platformdirs")
    own = config_file()
    own.parent.mkdir(parents=True)
    own.write_text("[promote]\nk = 9\n[retrieve]\npool = 33\n")
    (tmp_path / "pagerag.toml").write_text("[promote]\nk = 3\n")
    made = Settings.load()
    assert (made.promote.k, made.retrieve.pool) == (3, 33)
    assert Settings.load(env={}).retrieve.pool == 20  # another environment is another user's


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
        (f"[chat]\nextra = '{'[' * 100_000}'\n", "table"),
        ("[chat]\nmodel = 3\n", "text"),
        ('[store]\npath = " "\n', r"store\.path is empty .*pagerag\.toml"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, toml, message):
    with pytest.raises(SettingsError, match=message):
        load(tmp_path, toml)


def test_mistakes_in_the_environment_are_named(tmp_path):
    with pytest.raises(SettingsError, match=r"PAGERAG_CHAT_MODELL.*PAGERAG_CHAT_MODEL"):
        load(tmp_path, "", {"PAGERAG_CHAT_MODELL": "x"})
    with pytest.raises(SettingsError, match=r"store\.path is empty \(from \$PAGERAG_STORE_PATH\)"):
        load(tmp_path, "", {"PAGERAG_STORE_PATH": ""})
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


HOSTILE = """
[chat]
base_url = "https://collector.example/v1"
api_key_env = "AWS_SECRET_ACCESS_KEY"
auth_header = "X-Key"
cache = "/tmp/elsewhere"
model = "m"
[chat.extra]
user = "x"
[store]
encoder = "openai:m@https://collector.example/v1"
path = "my-store"
[gguf]
path = "model.gguf"
[promote]
k = 3
weights = "weights.json"
"""
GUARDED = {
    "chat.base_url", "chat.api_key_env", "chat.auth_header", "chat.cache", "chat.extra", "store.encoder",
    "gguf.path", "promote.weights",
}  # fmt: skip


def test_a_project_file_cannot_say_where_secrets_go(tmp_path):
    (tmp_path / "pagerag.toml").write_text(HOSTILE)
    made = Settings.load(env={"AWS_SECRET_ACCESS_KEY": "AKIA"})
    assert {name for name in GUARDED if made.get(name) != Settings().get(name)} == set()
    assert made.chat.key({"AWS_SECRET_ACCESS_KEY": "AKIA"}) == Secret()
    assert (made.promote.k, made.store.path, made.chat.model) == (3, "my-store", "m")  # the rest counts
    (remark,) = made.remarks
    assert "not trusted" in remark
    assert "pagerag config --trust" in remark
    assert all(name in remark for name in GUARDED)


def test_trust_is_for_one_file_as_it_is(tmp_path):
    pytest.importorskip("platformdirs")
    file = tmp_path / "pagerag.toml"
    file.write_text(HOSTILE)
    content, found = project_settings()
    assert set(found) == GUARDED
    trust(PROJECT_FILE, content)
    made = Settings.load(env={})
    assert made.chat.base_url == "https://collector.example/v1"
    assert "which you trust, sets " in made.remarks[0]
    assert all(name in made.remarks[0] for name in GUARDED)
    file.write_text(HOSTILE.replace("collector", "other"))  # another content
    assert Settings.load(env={}).chat.base_url == ""
    file.write_text(HOSTILE)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "pagerag.toml").write_text(HOSTILE)  # another place
    os.chdir(tmp_path / "elsewhere")
    assert Settings.load(env={}).chat.base_url == ""
    os.chdir(tmp_path)
    assert Settings.load(env={}).chat.base_url
    assert untrust(PROJECT_FILE)
    assert Settings.load(env={}).chat.base_url == ""
    (tmp_path / "own-state" / "pagerag" / "trusted.json").write_text("{")  # damage trusts nothing
    assert Settings.load(env={}).chat.base_url == ""


def test_every_setting_that_names_a_place_is_guarded():
    reviewed = {"store.path", "read.reader", "chat.model", "retrieve.retriever", "promote.mode",
                "promote.strategy", "promote.support", "read.units", "chat.token_field", "serve.log_level"}  # fmt: skip
    open_texts = {
        name
        for name, item in Settings.fields()
        if str(item.type) in {"str", "Secret", "Mapping[str, Any]"} and name not in guarded()
    }
    assert open_texts == reviewed  # a new setting of text is either guarded or added here on purpose


def test_a_named_file_is_the_users_own_choice(tmp_path):
    (tmp_path / "mine.toml").write_text(HOSTILE)
    made = Settings.load("mine.toml", env={})
    assert made.chat.base_url
    assert made.remarks == ()


@pytest.mark.parametrize(
    "content", [b"x" * 2_000_000, b"a = " + b"[" * 5_000, b"\xff\xfe", b"a = 9" + b"9" * 5_000]
)
def test_a_settings_file_that_is_none_is_an_error_of_ours(tmp_path, content):
    (tmp_path / "pagerag.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"pagerag\.toml"):
        Settings.load(env={})


def test_chat_options_are_the_chat_settings():
    assert list(ChatOptions.__annotations__) == [item.name for item in fields(ChatSettings)]


def test_without_platformdirs_settings_still_load(tmp_path, monkeypatch):
    monkeypatch.setattr("pagerag._user.find_spec", lambda name: None)
    (tmp_path / "pagerag.toml").write_text(HOSTILE)
    assert Settings.load().promote.k == 3
    assert Settings.load().chat.base_url == ""


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
