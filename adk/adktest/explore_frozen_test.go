package adktest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// TestExplore_TakenOver: at each boundary another process takes the run over while the first one stands still.
// Rule distributed/K8.
func TestExplore_TakenOver(t *testing.T) {
	var all []string
	if !testsize.Full() {
		all = []string{"react", "eager", "agent tool two deep", "sequential with a plan", "transfer"}
	}
	eachTakenOver(t, all, func(t *testing.T, name string, agent func(explored[*schema.Message]) adk.Agent) {
		exploreTakenOver(t, name, agent, adktest.Exploration[*schema.Message]{})
	})
}

// TestExplore_TakenOverOnFiles: at three boundaries of each. Leases are real time: without WEFT_THOROUGH some scenarios do.
// Rule distributed/K8.
func TestExplore_TakenOverOnFiles(t *testing.T) {
	some := []string{"react", "agent tool two deep", "plan with an approval", "parallel"}
	if os.Getenv("WEFT_THOROUGH") != "" {
		some = nil
	}
	eachTakenOver(t, some, func(t *testing.T, name string, agent func(explored[*schema.Message]) adk.Agent) {
		dir, stores := t.TempDir(), new(atomic.Int64)
		exploreTakenOver(t, name, agent, adktest.Exploration[*schema.Message]{Boundaries: 3,
			Store: func() adk.CheckPointStore {
				s, err := checkpoint.NewFileStore(filepath.Join(dir, fmt.Sprint(stores.Add(1))))
				require.NoError(t, err)
				return s
			}})
	})
}

// eachTakenOver tests scenarios, all without names.
func eachTakenOver(t *testing.T, names []string, test func(*testing.T, string, func(explored[*schema.Message]) adk.Agent)) {
	scenarios := workflows()
	maps.Copy(scenarios, map[string]func(explored[*schema.Message]) adk.Agent{
		"react": explored[*schema.Message].react, "eager": explored[*schema.Message].eager,
		"return directly":     explored[*schema.Message].direct,
		"agent tool two deep": explored[*schema.Message].deep, "plan with an approval": explored[*schema.Message].plan,
	})
	for name, agent := range scenarios {
		if names == nil || slices.Contains(names, name) {
			t.Run(name, func(t *testing.T) { test(t, name, agent) })
		}
	}
}

func exploreTakenOver(t *testing.T, name string, agent func(explored[*schema.Message]) adk.Agent, e adktest.Exploration[*schema.Message]) {
	for _, streaming := range []bool{false, true} {
		isOneWay := e.Boundaries > 0 || testing.Short() // leases of three boundaries take as long as leases of all
		if name == "eager" && !streaming || isOneWay && name != "eager" && streaming != (len(name)%2 == 0) {
			continue
		}
		made := new(made[*schema.Message])
		e.Query, e.Streaming, e.Durability, e.TakeOver, e.Answer = "Do it.", streaming, adk.EveryStep, true, approve
		e.Speculative, e.Unordered = name == "eager", name == "parallel" || name == "sequential with a plan"
		e.Agent = func(p *adktest.Probe[*schema.Message]) adk.Agent { return agent(explored[*schema.Message]{t, p, made}) }
		adktest.Explore(t.Context(), t, e)
		if t.Failed() {
			t.Logf("streaming=%v", streaming)
			return
		}
	}
}
