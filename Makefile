# make test is for everybody who changes something: gofmt, vet, and the tests of all modules in their short form. make check
# is what must pass besides. Both need Go and make alone; what else they use, Go downloads.

GO      ?= go
MODULES := $(shell $(GO) list -m -f '{{.Dir}}')
BIN     := $(CURDIR)/bin

# The packages of all modules, for one command: what takes long on one core is beside something else.
PACKAGES := $(MODULES:=/...)

# staticcheck and race build with the race detector: so everything is compiled once for the two of them.
RACE    := GOFLAGS="$(shell $(GO) env GOFLAGS) -race"

.PHONY: chaos check orders faults interop interop-clients mutants test fmt tidy-check vet staticcheck short race stdjson api api-update bench-check bench-update fuzz kills soak bench generate catalogue tools temporal temporal-server recipes pictures tidy release release-check

test: fmt vet short
check: tidy-check staticcheck api shim-check stdjson race bench-check mutants

# The tools have a module of their own, so that users of Weft do not get them.
tools:
	@cd tools && GOWORK=off $(GO) build -o $(BIN)/ honnef.co/go/tools/cmd/staticcheck go.temporal.io/sdk/contrib/tools/workflowcheck go.uber.org/mock/mockgen ./testcount ./apicheck ./benchcheck ./shimgen
$(BIN)/testcount: $(wildcard tools/testcount/*.go)
	@cd tools && GOWORK=off $(GO) build -o $@ ./testcount
$(BIN)/gremlins: tools/go.mod
	@cd tools && GOWORK=off $(GO) build -o $@ github.com/go-gremlins/gremlins/cmd/gremlins

# temporal-server builds the Temporal server that tests of ext/engine/temporal talk to. The first time takes ten minutes of
# CPU time; its dependencies are in a module outside of the workspace. Without it, those tests skip.
temporal-server: $(BIN)/temporal-devserver
$(BIN)/temporal-devserver: $(wildcard ext/engine/temporal/devserver/*.go) ext/engine/temporal/devserver/go.mod
	@cd ext/engine/temporal/devserver && GOWORK=off nice -n 19 $(GO) build -ldflags="-s -w" -o $@ .

# temporal tests ext/engine/temporal, which is outside of the workspace: it would raise what all other modules require.
# workflowcheck finds what a replay could do otherwise.
temporal: tools
	@cd ext/engine/temporal && GOWORK=off $(GO) vet ./... && GOWORK=off $(BIN)/staticcheck ./... && \
		GOWORK=off $(BIN)/workflowcheck ./... && GOWORK=off $(GO) test -race -vet=off -ldflags=-w -timeout 30m -json ./... | $(BIN)/testcount

# chaos has each store shared by worker processes that are killed, frozen, drained and cut off, for CHAOS_TIME each (such as
# 8h; see adk/dispatch/chaostest).
CHAOS_TIME ?= 45s
chaos: orders
	@WEFT_CHAOS=$(CHAOS_TIME) $(GO) test -count 1 -timeout 0 -v -run '^TestChaos' ./adk/dispatch/chaostest
	@for d in sqlite postgres redis nats; do \
	  (cd ext/store/$$d && WEFT_CHAOS=$(CHAOS_TIME) $(GO) test -count 1 -timeout 0 -v -run '^TestChaos$$' .) || exit 1; done

# orders has CHAOS orders paid by worker processes that are killed and frozen, on SQLite, on PostgreSQL and on Temporal, whose
# server is killed, too: each order is approved once and paid once. What is not installed is skipped, but in CI.
CHAOS ?= 500
orders: tools
	@cd examples && $(GO) run ./workers -runs $(CHAOS)
	@cd ext/store/postgres && WEFT_CHAOS_ORDERS=$(CHAOS) $(GO) test -count 1 -timeout 20m -v -run '^TestWorkers_PayEveryOrderOnce$$' .
	@cd ext/engine/temporal && GOWORK=off WEFT_TEMPORAL_CHAOS=$(CHAOS) $(GO) test -count 1 -timeout 30m -v -run '^TestChaos_' .

# recipes tests examples/recipes, runs on queues, which is outside of the workspace for the same reason.
recipes: tools
	@cd examples/recipes && GOWORK=off $(GO) vet ./... && GOWORK=off $(BIN)/staticcheck ./... && GOWORK=off $(GO) test -race -vet=off -ldflags=-w -timeout 30m -json ./... | $(BIN)/testcount

fmt:
	@unformatted=$$(gofmt -l $(MODULES)); \
	if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi

vet:
	@$(GO) vet $(PACKAGES)

staticcheck: tools
	@$(RACE) $(BIN)/staticcheck $(PACKAGES)

# short runs the tests of all modules and prints the counts: those that could take any time do a part, and packages whose tests
# wait do so beside others. Linking without the tables for debuggers takes a third less time.
short: $(BIN)/testcount
	@$(GO) test -short -vet=off -ldflags=-w -p 3 -timeout 10m -json $(PACKAGES) | $(BIN)/testcount

# race runs them with the race detector. Here, and below, vet has looked at them before.
race: tools
	@$(RACE) $(GO) test -vet=off -ldflags=-w -timeout 10m -json $(PACKAGES) | $(BIN)/testcount

# stdjson tests what uses JSON with encoding/json in place of the JIT, and without the race detector, which hides
# allocations. What stops runs everywhere, and kills them, is in it, too: only here it does all that it was written for.
JSON_USERS = $(shell $(GO) list -f '{{$$p := .ImportPath}}{{range .Imports}}{{if eq . "github.com/weftgo/weft/internal/json"}}{{$$p}}{{end}}{{end}}' ./...)
stdjson:
	@$(GO) test -tags weft_stdjson -vet=off -ldflags=-w -timeout 10m ./internal/json ./compose $(JSON_USERS) ./adk/adktest ./adk/middlewares/internal/hookrules

# api holds the exported API against what users of Eino expect, and against what it was: see tools/apicheck.
api: tools
	@GOWORK=off $(BIN)/apicheck
api-update: tools
	@GOWORK=off $(BIN)/apicheck -update

# shim writes compat/eino, Weft under Eino's import paths, from api/eino.txt: see tools/shimgen. shim-check fails when it is
# out of date. It also has the checks of weft vet look at programs, which is too slow with the race detector.
shim: tools
	@GOWORK=off $(BIN)/shimgen
shim-check:
	@cd tools && GOWORK=off $(GO) test ./shimgen
	@cd cmd/weft && GOWORK=off $(GO) test ./migrate

# interop runs published extension modules for Eino, and some that are written like them, on Weft through compat/eino. Their
# dependencies are in a module outside of the workspace, so that nothing else is built with them.
interop: tools
	@cd compat/eino/interop && GOWORK=off $(GO) vet ./... && GOWORK=off $(GO) test -vet=off -ldflags=-w -json ./... | $(BIN)/testcount
	@$(MAKE) interop-clients

# interop-clients runs clients of others, of Go and of npm, against Weft's servers. Those of npm are skipped without npm,
# but with CI=true: there everything has to be installed.
interop-clients: tools
	@cd interop && if command -v npm >/dev/null; then npm ci --silent --no-audit --no-fund; \
		elif [ "$$CI" = true ]; then echo "npm is not installed, and tests are not skipped in CI" >&2; exit 1; fi
	@cd interop && GOWORK=off $(GO) vet ./... && GOWORK=off $(BIN)/staticcheck ./... && GOWORK=off $(GO) test -vet=off -ldflags=-w -timeout 10m -json ./... | $(BIN)/testcount

# bench-check compares the allocations of the benchmarks of the runtime with bench/baseline.txt: see tools/benchcheck.
MEASURED  := ./adk ./adk/internal/eager ./adk/runlog ./compose ./schema ./internal/callbacks ./internal/eventring ./internal/core ./internal/jsonscan
BENCHMARKS = $(GO) test -run '^$$' -bench . -benchmem -benchtime 200x -count 2 $(MEASURED)
bench-check: tools
	@$(BENCHMARKS) | $(BIN)/benchcheck -baseline bench/baseline.txt
bench-update: tools
	@mkdir -p bench && $(BENCHMARKS) | $(BIN)/benchcheck -baseline bench/baseline.txt -update

# fuzz runs every fuzz target for FUZZTIME.
FUZZTIME ?= 20s
fuzz:
	@for d in $$(grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$d/*_test.go | cut -c6-); do \
	    (cd $$d && $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) .) || exit 1; done; done

# kills has KILLS processes killed at random moments while they run random trees of agents, and others resume the runs.
# soak has RUNS mixed runs in one process, for SECONDS at least, and watches heap and goroutines. Both take a SEED, and
# print it.
KILLS   ?= 20000
RUNS    ?= 100000
SECONDS ?= 0
SEED    ?= $(shell date +%s)
kills:
	@WEFT_KILLS=$(KILLS) WEFT_KILLS_SEED=$(SEED) \
	  $(GO) test -tags weft_stdjson -count 1 -timeout 0 -v -run '^TestKills_' ./adk/adktest
# faults has each step of each call of each store fail, lists with 10,000 runs, and random lives of runs, without the race
# detector, with which make test takes a part of that.
faults:
	@WEFT_THOROUGH=1 WEFT_WALKS=20000 $(GO) test -tags weft_stdjson -count 1 -timeout 60m \
	  -run '_IsWhole|ThereIsRoom|_Conforms|_TakenOver|RandomLives|TakesNoDamaged' ./adk/checkpoint ./adk/adktest
	@for d in sqlite postgres redis nats; do \
	  (cd ext/store/$$d && WEFT_THOROUGH=1 $(GO) test -count 1 -timeout 60m -run '_IsWhole|ThereIsRoom|_Conforms$$|TakesNoDamaged' .) || exit 1; done
soak:
	@WEFT_SOAK_RUNS=$(RUNS) WEFT_SOAK_SECONDS=$(SECONDS) WEFT_SOAK_SEED=$(SEED) \
	  $(GO) test -count 1 -timeout 0 -v -run '^TestSoak_' ./adk/adktest

bench:
	@$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)

# mutants changes the packages PKG in one place after another, and prints the changes that their tests do not notice, as
# LIVED. It fails when fewer than NOTICED percent are noticed.
PKG     ?= ./internal/turnqueue
NOTICED ?= 90
mutants: $(BIN)/gremlins
	@for p in $(PKG); do $(BIN)/gremlins unleash --workers 2 --timeout-coefficient 20 --threshold-efficacy $(NOTICED) $$p || exit 1; done

generate: tools
	@PATH="$(BIN):$$PATH" $(GO) generate ./...

# catalogue makes the table of models and prices of ext/catalogue/catwalk anew, from a version of charm.land/catwalk.
CATWALK ?= v0.52.86
catalogue:
	@cd tools && GOWORK=off $(GO) run ./catwalkgen -version $(CATWALK) -out ../ext/catalogue/catwalk

# The modules outside of the workspace that have to be tidy, too.
OUTSIDE := $(addprefix $(CURDIR)/,tools interop ext/engine/temporal examples/recipes)

# tidy writes into every go.mod what its module needs, no less and no more.
tidy:
	@for d in $(MODULES) $(OUTSIDE); do (cd $$d && GOWORK=off $(GO) mod tidy) || exit 1; done

# tidy-check fails where tidy would change something.
tidy-check:
	@for d in $(MODULES) $(OUTSIDE); do \
	  (cd $$d && GOWORK=off $(GO) mod tidy -diff >/dev/null) || { echo "$$d is not tidy (make tidy mends it)"; exit 1; }; done

# release-check builds and runs what users get, from a copy of the tree. release does that, too, commits and tags, and
# pushes nothing: see docs/releasing.md.
release-check:
	@cd tools && GOWORK=off $(GO) vet ./release && GOWORK=off $(GO) test ./release
	@cd tools && GOWORK=off $(GO) run ./release -dir .. -check
release:
	@cd tools && GOWORK=off $(GO) run ./release -dir .. -version "$(VERSION)"

# pictures holds the pictures that the library draws, and those in docs, against the parsers of Mermaid and Graphviz. It
# needs node and npm.
pictures:
	@cd tools/pictures && npm install --silent --no-audit --no-fund --no-package-lock
	@$(GO) test -count 1 -run '^TestParsers_' ./internal/drawing
