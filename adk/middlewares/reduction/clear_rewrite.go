package reduction

import (
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/middlewares/internal/message"
)

// rewrite has the user's rewriter replace each message with calls, together with its results. What else is there
// stays, but results that answer no call before them.
func (c *clearRun[M]) rewrite(ctx context.Context, start int) error {
	rewritten := slices.Clone(c.messages[:start])
	for i := start; i < len(c.messages); {
		m := c.messages[i]
		switch message.KindOf(m) {
		case message.Result:
			i++
			c.changed = true
			continue
		case message.Other:
			return fmt.Errorf("[applyClearRewrite] unexpected message: %v", m)
		}
		i++
		calls := message.Calls(m)
		if len(calls) == 0 {
			rewritten = append(rewritten, m)
			continue
		}
		results, next := c.resultsOf(calls, i)
		i = next
		if processed(m) {
			rewritten = append(append(rewritten, m), results...)
			continue
		}
		replacement, err := c.m.conf.ClearMessageRewriter(ctx, m, results)
		if err != nil {
			return err
		}
		rewritten = append(rewritten, replacement...)
		c.changed = true
	}
	c.messages = rewritten
	return nil
}

// resultsOf are the results of calls among the results from an index on, nil if there are none, and what comes behind
// them.
func (c *clearRun[M]) resultsOf(calls []message.Call, from int) (results []M, next int) {
	wanted := make(map[string]bool, len(calls))
	for _, call := range calls {
		wanted[call.ID] = true
	}
	for next = from; next < len(c.messages) && message.KindOf(c.messages[next]) == message.Result; next++ {
		belongs := func(r message.Call) bool { return wanted[r.ID] }
		if slices.ContainsFunc(message.Results(c.messages[next]), belongs) {
			results = append(results, c.messages[next])
		}
	}
	return results, next
}
