// Command resilience shows what happens when a model fails: it is called again, and when it fails once too often,
// another model answers.
//
//	go run ./examples/resilience
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

var errOverloaded = errors.New("503: the model is overloaded")

// failing is a model that fails the first times it is called.
func failing(out io.Writer, name string, failures int64) *demo.Model {
	var calls atomic.Int64
	return &demo.Model{Answer: func(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
		n := calls.Add(1)
		if n <= failures {
			fmt.Fprintf(out, "  call %d of %s: %v\n", n, name, errOverloaded)
			return nil, errOverloaded
		}
		fmt.Fprintf(out, "  call %d of %s: answers\n", n, name)
		return demo.Script(demo.Says("Here is what "+name+" says about: {question}"))(ctx, history)
	}}
}

func newAgent(ctx context.Context, out io.Writer, first model.BaseChatModel) (adk.Agent, error) {
	backup := failing(out, "the backup", 0)
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:  "assistant",
		Model: first,
		// Each model is called three times at most.
		ModelRetryConfig: &adk.ModelRetryConfig{
			MaxRetries:  2,
			IsRetryAble: func(_ context.Context, err error) bool { return errors.Is(err, errOverloaded) },
			BackoffFunc: func(context.Context, int) time.Duration { return 10 * time.Millisecond },
		},
		// When the last call has failed, one other model gets a chance.
		ModelFailoverConfig: &adk.ModelFailoverConfig[*schema.Message]{
			MaxRetries: 1,
			// The error of the last call is wrapped in one that says how often it was tried.
			ShouldFailover: func(_ context.Context, _ *schema.Message, err error) bool {
				return errors.Is(err, adk.ErrExceedMaxRetries)
			},
			GetFailoverModel: func(_ context.Context,
				failed *adk.FailoverContext[*schema.Message],
			) (model.BaseChatModel, []*schema.Message, error) {
				fmt.Fprintf(out, "  over to the backup, because: %v\n", failed.LastErr)
				return backup, nil, nil // nil: the same input
			},
		},
	})
}

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	for _, c := range []struct {
		title    string
		failures int64
	}{
		{"A model that fails twice is called a third time:", 2},
		{"A model that fails for good is replaced:", 1000},
	} {
		fmt.Fprintln(out, c.title)
		agent, err := newAgent(ctx, out, failing(out, "the first model", c.failures))
		if err != nil {
			return err
		}
		runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
		if _, err := demo.Print(out, runner.Query(ctx, "tides")); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
