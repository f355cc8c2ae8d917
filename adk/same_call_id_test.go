package adk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// TestSameCallID_CallsAreToldApartByTheirPlaces: calls of one answer that have the same ID are calls of their own: each has an
// idempotency key, an address, a question and an action of its own, and its result in its place.
// Rule agent/R-9.
func TestSameCallID_CallsAreToldApartByTheirPlaces(t *testing.T) {
	matrix(t, testSameCallID[*schema.Message], testSameCallID[*schema.AgenticMessage])
}

func testSameCallID[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, arguments := range [][2]string{{`{"to":"alice"}`, `{"to":"bob"}`}, {`{"to":"ann"}`, `{"to":"ann"}`}} {
		for _, eager := range []bool{false, true} {
			for _, durability := range []Durability{OnInterrupt, EveryStep} {
				what := fmt.Sprint(arguments, " eager=", eager, " durability=", durability)
				m := &scripted[M]{answers: [][]M{{d.answer("", wanted{"pay", "c1", arguments[0]}, wanted{"pay", "c1", arguments[1]})}, {d.answer("done")}}}
				var mu sync.Mutex
				var keys, addresses, paid []string
				pay := &toolFunc{"pay", func(ctx context.Context, args string) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					keys = append(keys, GetIdempotencyKey(ctx))
					_, answered, who := tool.GetResumeContext[string](ctx)
					if !answered {
						return "", tool.Interrupt(ctx, args)
					}
					paid = append(paid, args+" for "+who)
					return args + " for " + who, SendToolGenAction(ctx, "pay", &AgentAction{CustomizedAction: args + " for " + who})
				}}
				a := setup[M](t, m, []tool.BaseTool{pay}, func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
				store := checkpoint.NewMemoryStore()
				runner := NewTypedRunner(TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming, CheckPointStore: store, Durability: durability})
				all := read(t, runner.Run(t.Context(), []M{opsOf[M]().user("hi")}, WithCheckPointID("1")))
				interrupted := all[len(all)-1].Action.Interrupted
				require.NotNil(t, interrupted, what)
				targets := map[string]any{}
				for i, c := range interrupted.InterruptContexts {
					require.Equal(t, arguments[i], c.Info, what)
					addresses = append(addresses, c.Address.String())
					targets[c.ID] = fmt.Sprint("person ", i)
				}
				require.Len(t, targets, 2, what)
				require.NotEqual(t, addresses[0], addresses[1], what)
				events, err := runner.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: targets})
				require.NoError(t, err, what)
				rest := read(t, events)
				require.NoError(t, rest[len(rest)-1].Err, what)

				slices.Sort(keys)
				require.Len(t, slices.Compact(keys), 2, "%s: a key for each call, the same when it is repeated", what)
				first, second := arguments[0]+" for person 0", arguments[1]+" for person 1"
				require.ElementsMatch(t, []string{first, second}, paid, what)
				require.Equal(t, []string{"tool pay#c1: " + first, "tool pay#c1: " + second}, m.transcript()[1][2:], what)
				var ids []string
				for _, o := range rest {
					if o.Action != nil {
						require.Equal(t, "tool pay#c1: "+fmt.Sprint(o.Action.CustomizedAction), dialectOf[M]().line(o.message), what)
						ids = append(ids, opsOf[M]().id(o.message))
					}
				}
				require.Len(t, ids, 2, what)
				require.NotEqual(t, ids[0], ids[1], what)
			}
		}
	}
}
