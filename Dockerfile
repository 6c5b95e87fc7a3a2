# The command line with one runtime: `docker build -t d2t-scorer .`; `--build-arg EXTRA=gpu` for CUDA, `EXTRA=cpu,objects`
# for object stores too.
FROM python:3.12-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /built /src && cp /src/requirements*.lock /built

FROM python:3.12-slim
ARG EXTRA=cpu
# A lock for each extra pins its packages and those of the program by hash.
RUN --mount=type=bind,from=build,source=/built,target=/built \
  for extra in $(echo "$EXTRA" | tr , ' '); do \
    lock=/built/requirements-$extra.lock; [ "$extra" = cpu ] && lock=/built/requirements.lock; \
    pip install --no-cache-dir --require-hashes -r "$lock" || exit 1; \
  done && \
  pip install --no-cache-dir --no-deps /built/*.whl
USER 1000
ENV XDG_CACHE_HOME=/tmp
ENTRYPOINT ["scorer"]
