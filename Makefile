.DEFAULT_GOAL := help
.PHONY: help build test tools lint vuln docs data demo chaos attack replay screens bench model scale

GOTEST ?= go test
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@latest

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## The binary, static, at ./compat
	CGO_ENABLED=0 go build -tags nomsgpack -trimpath -ldflags "-s -w" -o compat ./cmd/compat

test: ## Every test, with the race detector, on an embedded queue and on real redis-servers
	go vet ./...
	$(GOTEST) -race -timeout 40m ./...
	COMPAT_STORIES=redis $(GOTEST) -race -timeout 40m -count=1 ./internal/test/stories

chaos: ## 10,000 deliveries for 500 pull requests, processes and Redis killed all the time, embedded and on Redis (minutes)
	COMPAT_CHAOS=1 $(GOTEST) -count 1 -v -timeout 60m ./internal/test/chaos

replay: ## The log of several stories, shuffled, in duplicate and with a kill at each call to GitHub (minutes)
	COMPAT_FAILPOINTS=all $(GOTEST) -count 1 -v -timeout 60m -run TestNothingIsWrittenTwice ./internal/test/stories

attack: ## Slow and oversized requests, 100,000 of garbage, 1,000 pushes to one repository, bombs in every worker, at full size
	COMPAT_ATTACK=1 $(GOTEST) -count 1 -v -timeout 60m -run 'Slowloris|Oversized|Replayed|Garbage|PushesAllTheTime|BombsInEvery' ./internal/test/stories

bench: build ## compat check of WHEELS beside pure inflating, compat ldd beside ldd -r, lddtree and libtree, as ratios of one run; ROOT=DIR asks about another root (as root)
	go run ./internal/test/bench -root $(or $(ROOT),/) ./compat $(WHEELS)

model: ## The queue against its model, 1,000,000 steps embedded and 250,000 on Redis (long)
	COMPAT_MODEL_STEPS=1000000 $(GOTEST) -count 1 -v -timeout 6h -run Model ./internal/queue

scale: ## What enqueue and claim cost Redis beside 1,000,000 waiting jobs (long)
	COMPAT_SCALE=1000000 $(GOTEST) -tags scale -count 1 -v -timeout 2h -run Scale ./internal/queue

conformance: ## Real packages of every kind of archive, from their registries, beside what libarchive reads (fetches)
	CI=true $(GOTEST) -tags conformance -count 1 -v -timeout 30m ./internal/test/conformance

tools: ## Fetch and build what make lint runs
	go run $(STATICCHECK) -version
	go run $(GOLANGCI) version

lint: ## staticcheck and golangci-lint
	go run $(STATICCHECK) ./...
	go run $(GOLANGCI) run ./...

vuln: ## Known vulnerabilities of what is imported (asks the Go vulnerability database)
	go run $(GOVULNCHECK) ./...

docs: ## Write the generated pages and the goldens of the rules anew
	go test ./internal/gen/docs ./cmd/compat -run 'Pages|Schemas' -update

screens: ## Pictures of what authors see into docs/screens (needs npm and chromium)
	dir=$$(mktemp -d) && (cd $$dir && npm pack --silent github-markdown-css@5.9.0 && tar xzf *.tgz) && mkdir -p docs/screens && \
	COMPAT_SCREENS=$(CURDIR)/docs/screens COMPAT_MARKDOWN_CSS=$$dir/package/github-markdown.css $(GOTEST) -count 1 -run TestScreens ./internal/test/stories; rm -rf $$dir

data: ## Write the embedded tables of platforms and packages anew (needs apt's mirror and a package index)
	go generate ./analyzer/platform ./analyzer/packages ./analyzer/abi3 ./analyzer/cpython

demo: ## Play the founding cases against a GitHub on this machine
	go run ./cmd/compat demo
