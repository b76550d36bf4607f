.DEFAULT_GOAL := help
.PHONY: help build test tools lint vuln docs site data demo chaos attack replay screens bench model scale growth \
	conformance minbase llvmdiff bumps programs wheels packages image chart roots recipes s3 twice cluster valkey masters \
	schemas archives alerts survey abirun elfedits plans rolling fuzz fuzz-list

GOTEST ?= go test
PREPARE ?= .ci/prepare
VERSITYGW := github.com/versity/versitygw/cmd/versitygw@v1.8.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER ?= go run github.com/goreleaser/goreleaser/v2@v2.15.1
NFPM ?= go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
GOSEC := github.com/securego/gosec/v2@v2.29.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the static binary ./compat
	CGO_ENABLED=0 go build -tags nomsgpack -trimpath -ldflags "-s -w" -o compat ./cmd/compat

# A release is built from a tag; the version of other commits is 0.0.0.dev0.
VERSION ?= $(patsubst v%,%,$(shell git describe --tags --exact-match 2>/dev/null || echo 0.0.0.dev0))
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASE = -s -w -buildid= -X main.release=$(VERSION) -X main.commit=$(shell git rev-parse HEAD) \
	-X main.date=$(shell TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)

programs: # the programs of a release, in build/GOOS/GOARCH
	for p in $(PLATFORMS); do GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build -tags nomsgpack -trimpath \
		-buildvcs=false -ldflags "$(RELEASE)" -o build/$$p/ ./cmd/compat || exit 1; done

wheels: programs ## Build the wheels for pip and uv in build/ (PLATFORMS=linux/amd64 for one)
	go run ./internal/gen/wheels -out build -version $(VERSION) \
		$(foreach p,$(PLATFORMS),$(p)=build/$(p)/compat$(if $(filter windows/%,$(p)),.exe))

packages: programs ## Build packages for Debian, Fedora and Alpine in build/
	for p in $(filter linux/%,$(PLATFORMS)); do gzip -9nc docs/compat.1 >build/$$p/compat.1.gz && \
		for s in bash zsh fish; do go run -tags nomsgpack -trimpath ./cmd/compat completion $$s >build/$$p/compat.$$s || exit 1; done && \
		for f in deb rpm apk; do VERSION=$(VERSION) ARCH=$${p#*/} DIST=build/$$p \
			SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(NFPM) package -f deploy/nfpm.yaml -p $$f -t build/ || exit 1; \
		done || exit 1; done

archives: ## Build the archives of a release, the cask for Homebrew and the manifest for Scoop in dist/
	$(GORELEASER) release --snapshot --clean --skip=sbom,sign

twice: ## Build the archives, packages, wheels and image twice and compare their SHA-256 (PLATFORMS=linux/amd64 for one; long)
	internal/test/install/twice.sh $(if $(filter command,$(firstword $(origin PLATFORMS))),$(PLATFORMS))

chart: ## Lint the Helm chart with Helm's library, and validate its objects (downloads both)
	dir=$$(mktemp -d) && python3 -m venv $$dir && $$dir/bin/pip install -q helm-python-sdk==0.2.2 kubernetes-validate==1.37.0 && \
	$$dir/bin/python internal/test/install/chart.py; code=$$?; rm -rf $$dir; exit $$code

alerts: ## Test the alert rules (PROMTOOL=FILE, of Prometheus)
	$(or $(PROMTOOL),promtool) test rules internal/test/install/alerts.yml

roots: ## Install the packages in roots of Debian and Alpine, start the image (ALPINE=DIR, QEMU=FILE, root rights)
	$(GOTEST) -tags install -count 1 -v -timeout 30m ./internal/test/install

image: programs ## Write the container image and its SBOM to build/image, an OCI image layout
	rm -rf build/image
	go run ./internal/gen/image -out build/image -version $(VERSION) \
		$(foreach p,$(filter linux/%,$(PLATFORMS)),$(p)=build/$(p)/compat)

# A process with the race detector waits before it exits, by default for a second, for reports of other
# threads. The tests start hundreds.
# go vet ran before. Linking the test programs without DWARF takes half the CPU; stack traces and
# reports of races do not need it. The stories on Redis wait more than they compute, so they run along with
# the others; the race detector sees their goroutines in the stories on the embedded queue, and those of
# Redis in the tests of the queue.
test: FLAGS = -vet=off -ldflags=-w -timeout 40m
test: export GORACE ?= atexit_sleep_ms=100
test: export PATH := $(CURDIR)/build/venv/bin:$(PATH)
test: ## Install what the tests need (PREPARE= does not), run all, with the race detector and Redis
	$(PREPARE)
	go vet ./...
	mkdir -p build && .ci/raced >build/raced
	code=0; \
	$(GOTEST) $(FLAGS) $$(go list ./... | grep -vxFf build/raced) || code=1; \
	COMPAT_STORIES=redis $(GOTEST) $(FLAGS) -count=1 ./internal/test/stories >build/redis.log 2>&1 & \
	$(GOTEST) $(FLAGS) -race $$(cat build/raced) || code=1; \
	wait $$! || code=1; \
	cat build/redis.log; \
	exit $$code

chaos: ## 10,000 deliveries while processes, masters of Redis and object storage are killed (minutes)
	COMPAT_CHAOS=1 $(GOTEST) -count 1 -v -timeout 60m ./internal/test/chaos

rolling: ## Chaos with processes of two releases, this one and COMMIT, in turns (minutes; COMMIT=main~100)
	dir=$$(mktemp -d) && git worktree add --detach $$dir/other $(COMMIT) && \
	(cd $$dir/other && CGO_ENABLED=0 go build -o $$dir/compat ./cmd/compat) && \
	COMPAT_CHAOS=1 COMPAT_OTHER=$$dir/compat $(GOTEST) -count 1 -v -timeout 30m -run 'Embedded|Redis' ./internal/test/chaos; \
	end=$$?; git worktree remove --force $$dir/other; rm -rf $$dir; exit $$end

cluster: ## The queue's tests and all stories on Clusters of 3 and 6 masters with 16 partitions (long)
	for n in 3 6; do export COMPAT_MASTERS=$$n; \
		$(GOTEST) -count 1 -v -timeout 30m -run Cluster ./internal/queue && \
		COMPAT_STORIES=cluster $(GOTEST) -count 1 -timeout 1h ./internal/test/stories || exit 1; done

valkey: export COMPAT_REDIS_SERVER = $(CURDIR)/build/valkey/valkey-server
valkey: ## The queue's tests, chaos and make cluster on Valkey, from Debian's backports (downloads it; long)
	internal/test/redistest/valkey.sh build/valkey
	$(GOTEST) -count 1 -v -timeout 30m ./internal/queue
	COMPAT_CHAOS=1 $(GOTEST) -count 1 -v -timeout 60m -run 'Redis|Cluster' ./internal/test/chaos
	$(MAKE) cluster

masters: ## Print how the load is distributed over 1, 3 and 6 masters of a Cluster (minutes)
	$(GOTEST) -tags scale -count 1 -v -timeout 30m -run TestScaleCluster ./internal/queue

replay: ## Repeat stories with shuffled and duplicate events and a kill at each GitHub call (minutes)
	COMPAT_FAILPOINTS=all $(GOTEST) -count 1 -v -timeout 60m -run TestNothingIsWrittenTwice ./internal/test/stories

attack: ## Slow, oversized and invalid requests, 1,000 pushes to one repository, bombs, all hostile files (minutes)
	COMPAT_ATTACK=1 $(GOTEST) -count 1 -v -timeout 60m -run 'Slowloris|ManyConnections|Oversized|Replayed|Garbage|PushesAllTheTime|BombsInEvery|HostileArtifacts' ./internal/test/stories

bench: build ## Compare compat check of WHEELS with inflating, and compat ldd with ldd -r, lddtree, libtree (ROOT=DIR)
	go run ./internal/test/bench -root $(or $(ROOT),/) ./compat $(WHEELS)

model: ## Compare the queue with its model: 1,000,000 steps embedded, 250,000 on Redis (long)
	COMPAT_MODEL_STEPS=1000000 $(GOTEST) -count 1 -v -timeout 6h -run Model ./internal/queue

scale: ## What a push costs, a simulated day of 100,000 installations, enqueue and claim with 100,000 jobs (minutes)
	$(GOTEST) -tags scale -count 1 -v -timeout 30m -run TestCostOfAPush ./internal/test/stories
	COMPAT_SCALE=100000 $(GOTEST) -tags scale -count 1 -v -timeout 2h -run 'TestScale$$|TestScaleBackends|TestSimulation|TestMarks' ./internal/queue

growth: ## Compare the CPU time of 1x and 10x of each size that an attacker chooses (minutes)
	$(GOTEST) -tags growth -count 1 -v -timeout 1h ./internal/test/growth

.PHONY: parts
parts: ## Compare what is read of the wheels in the folder WHEELS in parts with what is read of whole ones
	COMPAT_WHEELS=$(abspath $(or $(WHEELS),build)) $(GOTEST) -tags parts -count 1 -v -timeout 2h ./internal/test/parts

fuzz-list: # the fuzz tests: folder and name
	@grep -rEo '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | \
		sed -E 's|^\./(.*)/[^/]+:func (.*)$$|\1 \2|' | sort

fuzz: ## Run each fuzz test for FUZZTIME (30s; with 60 tests half an hour)
	@$(MAKE) -s fuzz-list | while read -r folder name; do \
		$(GOTEST) -run '^$$' -fuzz "^$$name$$" -fuzztime $(or $(FUZZTIME),30s) "./$$folder" || exit 1; done

recipes: ## Run the recipes of docs/ci.md (after make wheels; downloads tools; needs groovy, cargo)
	$(GOTEST) -tags recipes -count 1 -v -timeout 1h ./internal/test/recipes

s3: ## Test the bucket with a real S3 server, versitygw (compiles it: minutes; uses port 7070)
	dir=$$(mktemp -d) && mkdir -p $$dir/data/blobs $$dir/meta && GOBIN=$$dir go install $(VERSITYGW) && \
	{ ROOT_ACCESS_KEY=id ROOT_SECRET_KEY=secretkey $$dir/versitygw --port 127.0.0.1:7070 --region r \
		posix --sidecar $$dir/meta $$dir/data >$$dir/log & pid=$$!; sleep 3; \
	AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secretkey COMPAT_S3_DATA=$$dir/data/blobs/prefix \
		COMPAT_S3="s3://blobs/prefix?region=r&endpoint=http://127.0.0.1:7070" \
		$(GOTEST) -tags s3 -count 1 -v -run TestRealS3 ./internal/bucket && \
	COMPAT_VERSITYGW=$$dir/versitygw $(GOTEST) -count 1 -v -run TestCluster ./internal/test/chaos; \
	end=$$?; kill $$pid; rm -rf $$dir; exit $$end; }

conformance: ## Compare archive reading with libarchive, on real packages (downloads them)
	CI=true $(GOTEST) -tags conformance -count 1 -v -timeout 30m ./internal/test/conformance

llvmdiff: build ## Compare what is read of the binaries of 60 wheels with LLVM's tools (downloads them)
	go run ./internal/test/llvmdiff -wheels internal/test/llvmdiff/wheels.txt ./compat $(WHEELS)

bumps: build ## Review 70 commits that change pins, in clones OWNER+NAME in REPOS (needs a package index)
	go run ./internal/test/bumps -repos $(or $(REPOS),.) ./compat

abirun: build ## Run 225 programs with another build of their library, and compare that with compat diff (needs gcc, clang; minutes)
	go run ./internal/test/abirun ./compat

elfedits: ## Compare 400 edits of ELF files with those of patchelf (ROOTS=DIR:DIR of Debian, other glibc and machines)
	COMPAT_EDITS=400 COMPAT_ROOTS=$(ROOTS) $(GOTEST) -count 1 -v ./internal/test/elfedits

plans: build ## Run the fixes of 73 wheels, and ask pip, twine, auditwheel and the loader about the results (needs a package index; long)
	go run ./internal/test/plans ./compat

survey: build ## Compare compat with real installs (SEED, BUDGET in MB, LOCKS; needs a package index; long)
	mkdir -p build && go run ./internal/test/survey -seed $(or $(SEED),1) \
		$(if $(BUDGET),-budget $(BUDGET)) $(if $(LOCKS),-locks $(LOCKS)) -store internal/test/survey/results \
		-results build/survey-$(or $(SEED),1).json ./compat
	go run ./internal/test/survey -page docs/accuracy.md internal/test/survey/results/*.json

facts: build ## Fill build/facts with facts about the packages of deploy/facts.txt, signed with KEY (needs a package index)
	tr -s ' ' '\n' <deploy/facts.txt | sed 's/^/pypi:/' | \
		xargs ./compat facts add --to build/facts $(if $(KEY),--key $(KEY)) --python 3.12

schemas: ## Download the schemas of SARIF and JUnit to build/schemas; COMPAT_SCHEMAS names it to tests
	rm -rf build/schemas && mkdir -p build/schemas && go mod download $(GOSEC)
	cp "$$(go env GOMODCACHE)/$(GOSEC)/report/sarif/testdata/sarif-schema-2.1.0.json" build/schemas/
	python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary pytest \
		-d build/schemas pytest==9.0.0
	tar xzf build/schemas/pytest-9.0.0.tar.gz -C build/schemas --strip-components 3 \
		--wildcards '*/junit-10.xsd'

tools: ## Download and build the linters
	go run $(GOLANGCI) version

lint: ## golangci-lint, with staticcheck and go vet among its linters
	go run $(GOLANGCI) run ./...

vuln: ## Search the dependencies for known vulnerabilities (uses the Go vulnerability database)
	go run $(GOVULNCHECK) ./...

docs: ## Write the generated pages
	go test ./internal/gen/docs ./cmd/compat -run 'Page|Schema|FoundingCases' -update

site: ## Build the documentation as a site in build/site (needs pip install mkdocs-material)
	COMPAT_VERSION=$(VERSION) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) NO_MKDOCS_2_WARNING=1 \
		mkdocs build --strict

documentation: site ## Pack the site as build/compat_VERSION_documentation.tar.gz
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) \
		--transform 's,^site,compat-$(VERSION)-documentation,' -C build -cf - site | \
		gzip -9n >build/compat_$(VERSION)_documentation.tar.gz

screens: ## Render docs/screens (needs npm and chromium)
	dir=$$(mktemp -d) && (cd $$dir && npm pack --silent github-markdown-css@5.9.0 axe-core@4.14.1 && \
	for f in *.tgz; do tar xzf $$f; done) && mkdir -p docs/screens && \
	COMPAT_SCREENS=$(CURDIR)/docs/screens COMPAT_AXE=$$dir/package/axe.min.js COMPAT_MARKDOWN_CSS=$$dir/package/github-markdown.css $(GOTEST) -count 1 -run 'TestScreens|TestBrowser|TestPictures' ./internal/test/stories ./internal/reportpage; rm -rf $$dir

data: ## Write the built-in tables of platforms and packages (needs the mirror of apt and a package index)
	go generate ./analyzer/platform ./analyzer/platform/debian ./analyzer/packages ./analyzer/abi3 ./analyzer/cpython \
		./analyzer/torchabi

minbase: ## Write what roots of debootstrap have, for the test of the platforms (root rights, debootstrap; minutes)
	go run ./internal/gen/minbase -out analyzer/platform/testdata/minbase.txt debian11=bullseye debian12=bookworm \
		debian13=trixie ubuntu22.04=jammy ubuntu24.04=noble

demo: ## Review the founding cases with a simulated GitHub
	go run ./cmd/compat demo
