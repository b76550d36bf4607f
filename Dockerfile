# syntax=docker/dockerfile:1
# One static binary on scratch, run as a user without rights. Reproducible: the same commit and the same Go
# give the same bytes. "make image" writes the same image without a daemon. Images are named by digest;
# .github/dependabot.yml proposes newer ones.
FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -tags nomsgpack -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o /compat ./cmd/compat \
 && mkdir -p /data/tmp && touch -d @0 /compat

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /compat /compat
USER 65532:65532
ENV COMPAT_DATA=/data TMPDIR=/data/tmp
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s CMD ["/compat", "serve", "--healthcheck"]
ENTRYPOINT ["/compat"]
CMD ["serve"]
