"""A wrong setting is one clear line naming its variable; secrets are never in it."""

import base64
import os
from pathlib import Path

import pytest

from turnwright.settings import (
    Settings,
    SettingsError,
    export_provider_keys,
    load_settings,
    sqlalchemy_url,
)

KEY = base64.b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith("TURNWRIGHT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_nothing_has_to_be_set() -> None:
    settings = load_settings()
    assert settings.database_url == "sqlite:///.turnwright/turnwright.db"
    assert settings.temporal_address == "127.0.0.1:7233"
    assert (settings.api_host, settings.api_port) == ("127.0.0.1", 8000)
    assert settings.auth == "none"
    assert not settings.uses_tls
    assert settings.payload_keys == ()
    assert not settings.given("database_url")


def test_an_argument_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text(
        "TURNWRIGHT_API_PORT=1\nTURNWRIGHT_TASK_QUEUE=file\nTURNWRIGHT_TEMPORAL_NAMESPACE=file\n"
    )
    monkeypatch.setenv("TURNWRIGHT_API_PORT", "2")
    monkeypatch.setenv("TURNWRIGHT_TASK_QUEUE", "environment")
    settings = load_settings(api_port=3, task_queue=None)
    assert settings.api_port == 3
    assert settings.task_queue == "environment"
    assert settings.temporal_namespace == "file"
    assert settings.given("task_queue")


def test_an_empty_variable_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWRIGHT_RATE_LIMIT", "")
    assert not load_settings().given("rate_limit")


def test_agents_are_a_comma_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWRIGHT_AGENTS", "agents.py, my.package ,")
    assert load_settings().agents == ("agents.py", "my.package")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_PORT", "eighty"),
        ("API_PORT", "65536"),
        ("AUTH", "maybe"),
        ("DATABASE_URL", "mysql://root:hunter2@host/db"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "postgresql+asyncpg://u:hunter2@host/db"),
        ("LOG_FORMAT", "xml"),
        ("MAX_BODY_BYTES", "0"),
        ("PAYLOAD_KEY", "hunter2"),
        ("PAYLOAD_KEY", f"{KEY},hunter2"),
        ("PAYLOAD_KEY", "clé"),
        ("RATE_LIMIT", "-1"),
        ("TEMPORAL_TLS", "perhaps"),
        ("TEMPORAL_TLS_CA", "no/such/file.pem"),
        ("API_HOST", "0.0.0.0"),  # noqa: S104  (refused is what it is)
        ("API_HOST", "example.org"),
        ("TEMPORAL_ADRESS", "typo"),
    ],
)
def test_a_wrong_setting_is_one_line_naming_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"TURNWRIGHT_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    message = str(caught.value)
    assert f"TURNWRIGHT_{name}" in message
    assert "\n" not in message
    assert "hunter2" not in message


def test_a_misspelt_setting_in_the_file_is_refused() -> None:
    Path(".env").write_text("TURNWRIGHT_DATABSE_URL=sqlite:///x.db\nOTHER=1\n")
    with pytest.raises(SettingsError, match="TURNWRIGHT_DATABSE_URL: there is no such setting"):
        load_settings()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_without_keys_only_this_machine_is_served(host: str) -> None:
    assert load_settings(api_host=host).api_host == host


def test_with_keys_every_machine_may_be_served() -> None:
    assert load_settings(api_host="0.0.0.0", auth="keys").auth == "keys"  # noqa: S104


def test_secrets_are_not_shown() -> None:
    settings = load_settings(
        database_url="postgresql://u:hunter2@host/db", temporal_api_key="hunter2", payload_key=KEY
    )
    assert "hunter2" not in repr(settings)
    assert KEY not in repr(settings)


def test_several_payload_keys_allow_rotation() -> None:
    settings = load_settings(payload_key=f"{KEY}, {OTHER_KEY}")
    assert settings.payload_keys == (bytes(range(32)), bytes(32))


def test_a_temporal_key_turns_tls_on_unless_told_otherwise() -> None:
    assert load_settings(temporal_api_key="k").uses_tls
    assert not load_settings(temporal_api_key="k", temporal_tls=False).uses_tls


def test_a_client_certificate_needs_its_key(tmp_path: Path) -> None:
    certificate = tmp_path / "cert.pem"
    certificate.touch()
    with pytest.raises(SettingsError, match="TURNWRIGHT_TEMPORAL_TLS_KEY go together"):
        load_settings(temporal_tls_cert=certificate)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("sqlite:///relative.db", "sqlite:///relative.db"),
        ("sqlite:////absolute.db", "sqlite:////absolute.db"),
        (
            "postgresql://u:p@h:5/d?sslmode=require",
            "postgresql+psycopg://u:p@h:5/d?sslmode=require",
        ),
        ("postgres://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_the_database_driver_is_ours(given: str, used: str) -> None:
    assert sqlalchemy_url(given) == used


def test_provider_keys_in_the_file_reach_their_libraries_and_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "environment")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("PATHOLOGICAL", raising=False)
    Path(".env").write_text("OPENAI_API_KEY=file\nANTHROPIC_API_KEY=file\nPATHOLOGICAL=1\n")
    export_provider_keys()
    assert os.environ["OPENAI_API_KEY"] == "file"
    assert os.environ["ANTHROPIC_API_KEY"] == "environment"
    assert "PATHOLOGICAL" not in os.environ


def test_every_setting_is_described() -> None:
    undescribed = [n for n, field in Settings.model_fields.items() if not field.description]
    assert undescribed == []
