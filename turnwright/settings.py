"""Every setting, its default and its meaning. Nothing else reads the environment.

A setting is an environment variable with the prefix `TURNWRIGHT_`, or a line of the `.env` file
in the working directory (the environment wins; an empty value counts as not given). The one
exception is the providers' own variables, such as `OPENAI_API_KEY`: see `export_provider_keys`.
"""

import base64
import binascii
import ipaddress
import os
from pathlib import Path
from typing import Annotated, Literal, Self

from dotenv import dotenv_values
from pydantic import (
    BeforeValidator,
    Field,
    FilePath,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "TURNWRIGHT_"
ENV_FILE = Path(".env")
PROVIDER_PREFIXES = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


class SettingsError(Exception):
    """A setting is wrong. The message is one line that names its variable."""


def _comma_list(value: object) -> object:
    if isinstance(value, str):
        return tuple(part for item in value.split(",") if (part := item.strip()))
    return value


Port = Annotated[int, Field(ge=0, le=65535)]
CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_list)]


class Settings(BaseSettings):
    """The settings of one process, checked when it starts and never changed."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )

    database_url: str = Field(default="sqlite:///.turnwright/turnwright.db", repr=False)
    """The database: `sqlite:///path` or `postgresql://user:password@host/name`."""

    temporal_address: str = "127.0.0.1:7233"
    """Where Temporal's frontend answers, as `host:port`."""
    temporal_namespace: str = "default"
    """The Temporal namespace that everything runs in."""
    temporal_api_key: SecretStr | None = None
    """The key of a Temporal that asks for one (Temporal Cloud). Turns TLS on."""
    temporal_tls: bool | None = None
    """TLS towards Temporal. Not given: on if a key or any file below is given."""
    temporal_tls_ca: FilePath | None = None
    """The certificates (PEM) that Temporal's own is checked against. Not given: the system's."""
    temporal_tls_cert: FilePath | None = None
    """Our client certificate (PEM). Needs `temporal_tls_key`."""
    temporal_tls_key: FilePath | None = None
    """The private key of our client certificate (PEM)."""
    temporal_tls_server_name: str | None = None
    """The name to expect in Temporal's certificate, where it is not the address's."""
    temporal_ui_url: str | None = None
    """Where people reach the Temporal UI. Not given: runs carry no link to it."""
    task_queue: str = "turnwright"
    """The Temporal task queue that API and workers share."""

    agents: CommaList = ()
    """The modules that define the agents: `path/to/agents.py` or `package.module`, by commas."""

    api_host: str = "127.0.0.1"
    """The address that the API listens on."""
    api_port: Port = 8000
    """The port that the API listens on. 0 picks a free one."""
    auth: Literal["none", "keys"] = "none"
    """`keys` asks every caller for an API key. `none` is for loopback addresses alone."""
    max_body_bytes: PositiveInt = 1024 * 1024
    """The largest request body that is accepted, in bytes."""
    rate_limit: PositiveInt | None = None
    """Requests per minute and key. Not given: no limit."""

    api_url: str = "http://127.0.0.1:8000"
    """Where the operator's commands find the API."""
    api_key: SecretStr | None = None
    """The API key that the operator's commands send."""

    log_format: Literal["console", "json"] = "console"
    """`console` for people, `json` for one object a line."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe level that is logged."""

    payload_key: SecretStr | None = None
    """Encrypts Temporal payloads: base64 of 32 bytes; several by commas, the first encrypts."""

    @field_validator("database_url")
    @classmethod
    def _database_is_known(cls, url: str) -> str:
        sqlalchemy_url(url)
        return url

    @field_validator("payload_key")
    @classmethod
    def _keys_have_32_bytes(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys is not None:
            _decode_keys(keys)
        return keys

    @model_validator(mode="after")
    def _rest_is_consistent(self) -> Self:
        if (self.temporal_tls_cert is None) is not (self.temporal_tls_key is None):
            raise ValueError(f"{PREFIX}TEMPORAL_TLS_CERT and {PREFIX}TEMPORAL_TLS_KEY go together")
        if self.auth == "none" and not _is_loopback(self.api_host):
            raise ValueError(
                f"{PREFIX}API_HOST={self.api_host} is reachable from other machines:"
                f" that needs {PREFIX}AUTH=keys"
            )
        return self

    def given(self, name: str) -> bool:
        """Whether somebody chose the setting `name`, rather than its default holding."""
        return name in self.model_fields_set

    @property
    def sqlalchemy_url(self) -> str:
        """`database_url` with our driver in it."""
        return sqlalchemy_url(self.database_url)

    @property
    def uses_tls(self) -> bool:
        """Whether the connection to Temporal is encrypted."""
        if self.temporal_tls is not None:
            return self.temporal_tls
        return any((self.temporal_api_key, self.temporal_tls_ca, self.temporal_tls_cert))

    @property
    def payload_keys(self) -> tuple[bytes, ...]:
        """The keys for Temporal payloads, the encrypting one first; empty: not encrypted."""
        return _decode_keys(self.payload_key) if self.payload_key else ()


def load_settings(env_file: Path | None = ENV_FILE, **overrides: object) -> Settings:
    """Settings from `overrides` (None: not given), else the environment, else `env_file`.

    Raises `SettingsError` for a wrong value and for a `TURNWRIGHT_` variable that is none of
    ours, so that a misspelt one is never silently without effect.
    """
    _refuse_unknown(env_file)
    chosen = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(_env_file=env_file, **chosen)  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError(_one_line(error)) from None


def export_provider_keys(env_file: Path = ENV_FILE) -> None:
    """Put the providers' own variables of `env_file` where their libraries look for them.

    What the environment already holds stays. Called once, by a composition root.
    """
    for name, value in dotenv_values(env_file).items():
        if name.startswith(PROVIDER_PREFIXES) and value:
            os.environ.setdefault(name, value)


def sqlalchemy_url(url: str) -> str:
    """`url` as SQLAlchemy wants it, with our driver. Raises ValueError, without quoting `url`."""
    scheme, separator, rest = url.partition("://")
    match scheme:
        case "sqlite" if separator and rest.startswith("/") and len(rest) > 1:
            return url
        case "postgresql" | "postgres" if separator and rest:
            return f"postgresql+psycopg://{rest}"
        case _:
            raise ValueError("must be sqlite:///path or postgresql://user:password@host/name")


def _refuse_unknown(env_file: Path | None) -> None:
    in_file = dotenv_values(env_file) if env_file else {}
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted({*os.environ, *in_file}):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            raise SettingsError(f"{name}: there is no such setting")


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ").replace("\n", " ")
    if not first["loc"]:
        return message
    return f"{PREFIX}{str(first['loc'][0]).upper()}: {message}"


def _decode_keys(keys: SecretStr) -> tuple[bytes, ...]:
    try:
        decoded = tuple(
            base64.b64decode(part.strip(), validate=True)
            for part in keys.get_secret_value().split(",")
        )
    except binascii.Error:
        decoded = ()
    if not decoded or any(len(key) != 32 for key in decoded):  # noqa: PLR2004  (AES-256)
        raise ValueError("must be base64 of 32 bytes, or several of them separated by commas")
    return decoded


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
