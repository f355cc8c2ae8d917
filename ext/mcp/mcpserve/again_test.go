package mcpserve_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// brittleLedger fails once.
type brittleLedger struct {
	approval.Ledger
	failed atomic.Bool
}

func (l *brittleLedger) Use(ctx context.Context, hash string, until time.Time) (bool, error) {
	if l.failed.CompareAndSwap(false, true) {
		return false, errors.New("canary: no ledger")
	}
	return l.Ledger.Use(ctx, hash, until)
}

// An answer is not lost when the store or the ledger fails before the run continues: the client only says that it is
// to be tried again, and the answer counts once.
// Rule mcp/MS4.
func TestAgent_AnswersOutliveAStoreThatFails(t *testing.T) {
	for _, broken := range []string{"store", "ledger"} {
		t.Run(broken, func(t *testing.T) {
			pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
			store := adktest.NewStore()
			conf := mcpserve.Config{}
			if broken == "ledger" {
				conf.Ledger = &brittleLedger{Ledger: approval.NewMemoryLedger()}
			}
			s := deskOn(t, store, conf, pay, adktest.Calls(adktest.Call("pay", `{}`)),
				adktest.Says("done").SeeingLast("tool pay#call_1: paid"))
			client := connect(t, s, mcpserve.HTTPOptions{}, nil)
			first := answered(t, call(t, client, request), "accept", map[string]any{"approve": true})
			if broken == "store" {
				store.Fail(errors.New("canary: no store"))
			}
			offered := call(t, client, first)
			store.Fail(nil)
			require.Len(t, offered.InputRequests, 1)
			require.Contains(t, offered.InputRequests["again"].(*mcp.ElicitParams).Message, "Accept to try again")
			require.NotContains(t, offered.InputRequests["again"].(*mcp.ElicitParams).Message, "canary")
			require.Empty(t, pay.Calls())

			no := call(t, client, answered(t, offered, "decline", nil))
			require.True(t, no.IsError)
			again := answered(t, offered, "accept", nil)
			require.Equal(t, "done", text(t, call(t, client, again)))
			for _, spent := range []mcp.CallToolParams{first, again} {
				refuses(t, client, spent)
			}
			require.Len(t, pay.Calls(), 1)
		})
	}
}

// A run that is gone cannot be tried again.
func TestAgent_OffersNothingForARunThatIsGone(t *testing.T) {
	store := adktest.NewStore()
	s := deskOn(t, store, mcpserve.Config{}, adktest.NewTool("pay"), adktest.Calls(adktest.Call("pay", `{}`)))
	client := connect(t, s, mcpserve.HTTPOptions{}, nil)
	again := answered(t, call(t, client, request), "accept", map[string]any{"approve": true})
	for _, line := range store.Log() {
		if id, set := strings.CutPrefix(line, "set "); set {
			require.NoError(t, store.Delete(t.Context(), id))
		}
	}
	require.True(t, call(t, client, again).IsError)
}
