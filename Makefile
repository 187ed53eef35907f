# Each target starts the servers that it needs, or names what is missing in one line.

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
# A profile of CPU time: the compiler inlines more on the hot paths.
PROFILE  := cmd/bellman/bellman.pgo
FUZZTIME ?= 60s
BENCH    ?= .
COUNT    ?= 1
SEEDS    ?= 400
LIVES    ?= 5000
DIST     ?= $(CURDIR)/dist
COVER    ?= cover.out
PICTURES ?= $(CURDIR)/screenshots
LONG     ?= 5m
SITE     ?= $(CURDIR)/site
# The version from which dist-test upgrades: the newest tag; a commit while there is no tag.
BEFORE   ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo cd438ae8)
ROUNDS   ?= 20
# A directory with a copy of the database: file:///path.
VULNDB   ?= https://vuln.go.dev
VULNCHECK = v1.9.0
# The race detector needs cgo. pebblegozstd selects the zstd in Go, as in a release, so that no C is compiled.
RACE      = -race -tags pebblegozstd
# make lint runs vet, so go test need not. The tests run without the settings of the compiler's memory, below.
TEST      = go test -vet=off -exec 'env -u GOGC -u GOMEMLIMIT'
# Packages tested at a time, and tests of one that run in parallel: two for each core, because many wait for databases,
# programs and browsers.
AT_ONCE  ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
# Packages that run without the race detector. The tests of the first read pages or run programs as processes, which are
# built without it. The others have no goroutine, and no state that two of their tests' goroutines share; of the console and of
# dispatch test-some runs the tests in which goroutines meet.
PLAIN    ?= ./internal/console ./internal/torture ./cmd/... ./clients/... . ./deploy/... ./examples/... ./internal/bench/... ./internal/demo ./internal/site \
	./client ./engine/internal/dispatch ./order ./order/alipay ./order/gateway ./order/internal/... ./order/poll ./order/states ./rule ./schedule ./store ./internal/account ./internal/bill ./internal/cause ./internal/cell ./internal/coded ./internal/nearest ./internal/config ./internal/endpoints \
	./deliver/sign ./engine/figures ./internal/attention ./internal/brokers ./internal/flatxml ./internal/importer ./internal/lines ./internal/mask ./internal/money ./internal/pack ./internal/results ./internal/sharelink
RACED     = $(filter-out $(shell go list $(PLAIN)),$(shell go list $(LONGEST) ./...))
# The longest packages of RACED, which start first: go test starts packages in the order of its arguments, and one that
# takes minutes and starts last leaves a core idle. The same holds for the console in PLAIN.
LONGEST  ?= ./server ./engine ./internal/sqlstore ./store/redis ./store/pebble ./internal/sim ./store/postgres ./internal/api ./internal/alarm ./store/mysql
# Packages of RACED whose tests are smaller with the race detector, and run without it too.
FULL     ?= ./engine
# Packages whose tests wait for something.
WAITING  ?= ./server ./engine ./cmd/bellman ./internal/torture ./internal/brokers/source/... ./internal/console ./store/memory ./store/pebble ./store/postgres ./store/mysql ./store/redis ./internal/sqlstore/...

# A program with the race detector sleeps a second before it exits, to catch goroutines that still run. Ours have ended by
# then, and the tests start hundreds of programs.
export GORACE ?= atexit_sleep_ms=0

# -ldflags sets the version, so that a build needs no git.
export GOFLAGS += -buildvcs=false

# Most of the processor time of lint and test is the compiler's, if nothing is compiled yet. Without data for debuggers, and
# with fewer garbage collections within a memory limit of each process, it takes a tenth to a quarter less.
lint test: export GOFLAGS += -gcflags=all=-dwarf=false
lint test: export GOGC = 400
lint test: export GOMEMLIMIT = 2GiB

.PHONY: build site clients dist dist-test test test-raced test-some test-plain test-full test-sim test-slow torture lint vulncheck bench profile fuzz cover screenshots

build: ## the static binary ./bellman
	CGO_ENABLED=0 go build -trimpath -pgo=$(PROFILE) -ldflags '$(LDFLAGS)' -o bellman ./cmd/bellman

site: ## these documents as a static site, in SITE
	go run ./internal/site $(SITE)

clients: ## the OpenAPI document in the repository, and the clients generated from it
	go test -count 1 ./clients -run TestDocument -update
	go run ./clients/java/generate clients/openapi.json clients/java/src/generated/java/io/github/bellmanhq/client
	cd clients/typescript && npm ci --ignore-scripts --no-audit --no-fund && npm run generate

dist: ## a release, in DIST: binaries of all platforms or TARGETS, bills of materials, Debian packages, checksums
	scripts/dist $(DIST)

dist-test: ## checks a release: reproducible builds, the package installs, manifests fit their schemas, BEFORE is upgraded under load
	go test -v -count 1 -timeout 60m ./deploy -run 'TestDist|TestDebian' -dist $(DIST)
	cd deploy/check && DIST=$(DIST) go test -count 1 ./...
	scripts/torture-env go test -v -count 1 -timeout 30m ./internal/torture -run TestRollingUpgrade -upgrade $(BEFORE)

test: ## every test in random order, those of RACED with the race detector; then those of FULL and some of the server at full size, SEEDS simulated clusters, and the order of locks in some
	scripts/test-env sh -c '$(MAKE) test-raced && $(MAKE) -j 4 --output-sync=target test-plain test-full test-sim test-some'

# The five share the servers of scripts/test-env. Packages with the race detector use both cores, so they run alone; of the
# others, the packages wait for programs while the engine and the simulation compute. The engine's tests run one after the
# other, so test-full would be the last to end; the other three have a lower priority. test-some runs the tests of PLAIN in
# which goroutines meet, with the race detector: the packages are compiled by then.
test-raced:
	$(TEST) $(RACE) -p $(AT_ONCE) -parallel $(AT_ONCE) -shuffle=on -timeout 60m $(RACED)

test-plain test-sim test-some: TEST := nice -n 5 $(TEST)
test-some:
	$(TEST) $(RACE) -shuffle=on -timeout 60m ./internal/console
	$(TEST) $(RACE) ./engine/internal/dispatch -run TestConcurrent

test-plain test-full test-sim: export CGO_ENABLED = 0
test-plain:
	$(TEST) -p $(AT_ONCE) -parallel $(AT_ONCE) -shuffle=on -timeout 60m $(PLAIN)

test-full:
	$(TEST) $(FULL) -timeout 60m
	$(TEST) ./server -run 'TestFlood|TestForgedNoticesFlood|TestWrongRequests|TestHangingEndpointHoldsNobody|TestNoticeLives' -lives=$(LIVES) -timeout 60m

test-sim:
	$(TEST) ./internal/sim -run 'TestSim|TestReplay' -sim.seeds=$(SEEDS) -timeout 60m
	$(TEST) -tags lockorder ./internal/sim -run TestSim -sim.seeds=2 -timeout 60m

test-slow: ## the tests of WAITING, three times each, beside four endless loops that end with it; those of the console in the browser without the race detector
	scripts/test-env scripts/slow $(TEST) $(RACE) -shuffle=on -count 3 -timeout 90m $(WAITING)
	$(if $(filter ./internal/console,$(WAITING)),scripts/test-env scripts/slow env CGO_ENABLED=0 $(TEST) -shuffle=on -count 3 -timeout 90m ./internal/console)

torture: ## 1,000 simulated clusters and 100,000 lives of orders with notices; processes and databases that fail, each kind of database for LONG; then figures of ROUNDS
	CGO_ENABLED=0 $(TEST) ./internal/sim -run TestSim -sim.seeds=1000 -timeout 60m
	CGO_ENABLED=0 $(TEST) ./server -run TestNoticeLives -lives=100000 -timeout 60m
	scripts/torture-env go test -v -count 1 -timeout 0 ./internal/torture -long $(LONG) -rounds $(ROUNDS)

# All without cgo: with it vet and staticcheck would compile every dependency once more.
lint: export CGO_ENABLED = 0
lint: ## format, vet, staticcheck; make test links the programs
	scripts/gofmt
	go vet ./...
	go tool staticcheck ./...

vulncheck: ## known vulnerabilities that the code reaches, by the database at VULNDB
	go run golang.org/x/vuln/cmd/govulncheck@$(VULNCHECK) -db $(VULNDB) ./...

bench: ## benchmarks alone: make bench BENCH=Timers COUNT=6
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m ./...

profile: ## PROFILE anew, by which the binary is compiled
	scripts/postgres scripts/profile $(PROFILE)

fuzz: ## each fuzz target of each package for FUZZTIME
	scripts/fuzz $(FUZZTIME)

cover: ## what the tests reach; COVER is the profile
	go test -coverpkg=./... -coverprofile=$(COVER) ./...
	go tool cover -func=$(COVER) | tail -n 1

screenshots: ## a picture of each page of the console, in PICTURES
	BELLMAN_SCREENSHOTS=$(PICTURES) scripts/chromium go test -count 1 -run TestScreenshots ./internal/console
