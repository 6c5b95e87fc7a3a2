# The command line with one runtime: `docker build -t d2t-scorer .`, or with `--build-arg EXTRA=gpu` for CUDA.
FROM python:3.12-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /built /src && cp /src/requirements.lock /built

FROM python:3.12-slim
ARG EXTRA=cpu
# The lock pins the CPU runtime and everything else by hash; CUDA's wheels come from the extra `gpu`.
RUN --mount=type=bind,from=build,source=/built,target=/built \
  if [ "$EXTRA" = cpu ]; then \
    pip install --no-cache-dir --require-hashes -r /built/requirements.lock && \
    pip install --no-cache-dir --no-deps /built/*.whl; \
  else \
    pip install --no-cache-dir "$(ls /built/*.whl)[$EXTRA]"; \
  fi
USER 1000
ENV XDG_CACHE_HOME=/tmp
ENTRYPOINT ["scorer"]
