# syntax=docker/dockerfile:1
# One static binary on scratch, run as a user without rights. "make image" writes an image with the same
# program and configuration without a daemon; its certificates are those of the machine. The same commit and
# the same Go give the same program, whose version is the tag of the commit; without .git, as in an archive
# of the source, --build-arg VERSION=1.2.3 is. Images are named by digest; .github/dependabot.yml proposes
# newer ones.
FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN make programs PLATFORMS=linux/$(go env GOARCH) && mv build/linux/*/compat /compat \
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
