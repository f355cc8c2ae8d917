package howto

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
)

// How do I try a model again?
//
// Models of providers do it by themselves for what passes: 429, 503, lost connections. To try again for reasons of your
// own, such as an empty answer, configure it in the agent below, with Adjust.
func Example_retry() {
	agent := must(weft.New(weft.Config{
		Model: answers(errors.New("overloaded"), "Here I am."),
		Adjust: func(c *adk.ChatModelAgentConfig) {
			c.ModelRetryConfig = &adk.ModelRetryConfig{
				MaxRetries:  2,
				BackoffFunc: func(context.Context, int) time.Duration { return time.Millisecond },
			}
		},
	}))
	fmt.Println(must(agent.Ask(context.Background(), "Are you there?")))
	// Output: Here I am.
}
