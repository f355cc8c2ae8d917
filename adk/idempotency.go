package adk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// GetIdempotencyKey returns a key for the tool call of ctx that is the same whenever the call is repeated: after a retry
// of the model with the same call, a failover, or a resume. Services that take such keys do nothing twice then. It is ""
// outside a tool call of an agent. After the death of the process it is the same if the run is saved at every step (see
// [EveryStep]); other runs begin anew then.
func GetIdempotencyKey(ctx context.Context) string {
	call, id, ok := compose.InternalToolCall(ctx)
	if !ok {
		return ""
	}
	for r := innermostRun(ctx); r != nil; r = innermostRun(ctx) {
		outside := r.outside()
		if _, around, _ := compose.InternalToolCall(outside); around != id {
			return r.idempotencyKey(ctx, call)
		}
		ctx = outside // the call is of an agent around the innermost one
	}
	return ""
}

// callSeedKey is the run-local value that the keys of the calls of a run are made with. It is there once a key was asked
// for, and saved with the run.
const callSeedKey = "_weft_call_seed"

// idempotencyKey makes the key out of what a repeated call has in common.
func (r *agentRun[M]) idempotencyKey(ctx context.Context, call schema.ToolCall) (key string) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		seed, ok := s.Extra[callSeedKey].(string)
		if !ok {
			seed = r.newCallSeed()
			if s.Extra == nil {
				s.Extra = map[string]any{}
			}
			s.Extra[callSeedKey] = seed
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %q", seed, s.RemainingIterations, call.ID, call.Function.Name, call.Function.Arguments))
		key = hex.EncodeToString(sum[:])
		return nil
	})
	return key
}

// newCallSeed tells the run from all others. One that is saved at every step finds its seed again when the process dies
// before it is saved.
func (r *agentRun[M]) newCallSeed() string {
	if r.durable == nil {
		return newMessageID()
	}
	return fmt.Sprintf("%q %q", r.durable.visit.Journal().ID(), r.durable.visit.Position())
}
