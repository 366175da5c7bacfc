"""The container's steps, tried outside a container."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.deploy.dockerfile import Build, Stage

ROOT = Path(__file__).parents[2]

# It is built once: half a minute.
pytestmark = pytest.mark.xdist_group("image")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Build.of(ROOT, tmp_path_factory.mktemp("image")).image


def test_the_image_has_a_working_command_line(image: Stage) -> None:
    done = image.run(*image.entrypoint, "--help")
    assert done.returncode == 0, done.stderr
    assert "migrate" in done.stdout


def test_the_image_runs_its_own_code_with_its_own_packages(image: Stage) -> None:
    code = "import turnwright, workflows, sqlalchemy as s; print(turnwright.__file__, workflows.__file__, s.__file__)"
    turnwright, workflows, sqlalchemy = image.run("python", "-c", code).stdout.split()
    assert Path(turnwright).is_relative_to(image.path("/app"))
    assert Path(workflows).is_relative_to(image.path("/app"))
    assert Path(sqlalchemy).is_relative_to(image.path("/venv"))


def test_the_image_holds_no_test_tool_and_no_secret(image: Stage) -> None:
    assert not (image.path("/venv") / "bin" / "pytest").exists()
    assert not (image.path("/app") / "tests").exists()
    assert list(image.path("/app").glob(".env*")) == []
    assert image.user != "root"


def test_the_image_serves_other_machines_with_keys_alone(image: Stage) -> None:
    code = "from turnwright.settings import load_settings; print(load_settings().api_host)"
    assert (
        image.run("python", "-c", code).stdout.strip() == image.environment["TURNWRIGHT_API_HOST"]
    )
    image.environment["TURNWRIGHT_AUTH"] = "none"
    refused = image.run("python", "-c", code)
    image.environment["TURNWRIGHT_AUTH"] = "keys"
    assert "needs TURNWRIGHT_AUTH=keys" in refused.stderr


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_health_check_asks_the_api(image: Stage, status: int, *, healthy: bool) -> None:
    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        check = [part.replace("8000", str(server.server_port)) for part in image.healthcheck]
        assert check != image.healthcheck
        assert (image.run(*check).returncode == 0) is healthy
        server.shutdown()
