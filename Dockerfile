# Turnwright's API and its workers, as one image: `docker run turnwright api`, `… worker`.
# tests/deploy carries out these same steps outside a container.

FROM python:3.11-slim-bookworm AS build
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /app
# Dependencies first: this layer stays when only the code changes.
COPY requirements.lock requirements-build.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: -r requirements.lock -r requirements-build.lock
COPY . .
# Editable: the application runs from its folder, where its migrations and its page are too.
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable .
RUN python -m compileall -q /app

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home turnwright
COPY --from=build /venv /venv
COPY --from=build /app /app
# Reachable from outside its container, hence with keys: Turnwright refuses one without the other.
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TURNWRIGHT_API_HOST=0.0.0.0 \
    TURNWRIGHT_AUTH=keys \
    TURNWRIGHT_LOG_FORMAT=json
WORKDIR /app
USER turnwright
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["turnwright"]
CMD ["api"]
