# A worker in a container: the released executable, tini in front of it, a user of its own, one volume.
# Build: npm run binary -- --target linux-x64 (or linux-arm64), then docker build -t interlock-worker .
# How it is run: docs/container.md, samples/container/compose.yaml
FROM debian:12-slim AS executable
COPY build/binary/interlock-worker-linux-* /built/
# The one for the image's own processor.
RUN case "$(dpkg --print-architecture)" in \
      amd64) built=x64 ;; \
      arm64) built=arm64 ;; \
      *) echo "There is no executable for $(dpkg --print-architecture)." >&2; exit 1 ;; \
    esac \
    && install -m 0755 "/built/interlock-worker-linux-$built" /interlock-worker \
    && /interlock-worker --version

FROM debian:12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends tini libstdc++6 libgcc-s1 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 interlock \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/interlock --no-create-home --shell /usr/sbin/nologin interlock \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/interlock \
    && install -d -m 0755 /handlers
COPY --from=executable /interlock-worker /usr/local/bin/interlock-worker

# What is owed to the control plane lies in the volume: a new container on the same volume sends it.
# INTERLOCK_URL and INTERLOCK_WORKER_ID are whoever's who runs it.
ENV STATE_DIRECTORY=/var/lib/interlock \
    INTERLOCK_SPOOL=/var/lib/interlock/spool \
    INTERLOCK_HANDLERS=/handlers \
    INTERLOCK_KEY_FILE=/run/secrets/interlock-key \
    INTERLOCK_STATUS_LISTEN=127.0.0.1:7421 \
    INTERLOCK_LOG_FORMAT=json
VOLUME /var/lib/interlock
WORKDIR /handlers
# By number, so that "runs as non-root" can be seen without the image's list of users.
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
    CMD ["/usr/local/bin/interlock-worker", "status"]
# tini passes signals on to the worker alone, which ends its handlers in order, and collects what they leave behind.
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/interlock-worker"]
