// Package desk is the agent of the recipes: it takes an order, asks a person whether it may, and pays.
package desk

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// clerk is a model that pays, so many times, and then says so.
type clerk struct{ times int }

func (c clerk) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	paid := 0
	for _, m := range history {
		if m.Role == schema.Tool {
			paid++
		}
	}
	if paid == c.times {
		return schema.AssistantMessage("Done: "+history[len(history)-1].Content, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint("pay-", paid), Type: "function",
		Function: schema.FunctionCall{Name: "pay", Arguments: "{}"}}}), nil
}

func (c clerk) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := c.Generate(ctx, history)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

// New makes the agent.
func New(ctx context.Context) (adk.Agent, error) {
	pay, err := utils.InferTool("pay", "Pays the order.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, yes := tool.GetResumeContext[bool](ctx); !answered {
			return "", tool.Interrupt(ctx, "May I pay?")
		} else if !yes {
			return "not paid", nil
		}
		return "paid under " + adk.GetIdempotencyKey(ctx), nil
	})
	if err != nil {
		return nil, err
	}
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "desk", Description: "takes orders", Model: clerk{1},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{pay}}}})
}

// NewSlow makes an agent that calls a tool so many times, one after the other, which takes a while, and counts the calls
// that begin.
func NewSlow(ctx context.Context, takes time.Duration, times int) (agent adk.Agent, calls *atomic.Int32, err error) {
	calls = new(atomic.Int32)
	pay, err := utils.InferTool("pay", "Pays the order.", func(context.Context, struct{}) (string, error) {
		calls.Add(1)
		time.Sleep(takes)
		return "paid", nil
	})
	if err != nil {
		return nil, nil, err
	}
	agent, err = adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "desk", Description: "takes orders",
		Model: clerk{times}, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{pay}}}})
	return agent, calls, err
}

// Job is an order.
func Job(id string) dispatch.Job {
	return dispatch.Job{ID: id, Agent: "desk", Messages: []*schema.Message{schema.UserMessage("Two tickets, please.")}}
}

// Serve submits orders, puts them into the queue, says yes to what they ask, and returns when all have ended.
func Serve(ctx context.Context, store *dispatch.Dispatcher, n int, put func(id string) error) error {
	for i := range n {
		id := fmt.Sprint("order-", i)
		if _, err := store.Submit(ctx, Job(id)); err != nil {
			return err
		}
		if err := put(id); err != nil {
			return err
		}
	}
	for i := range n {
		o, err := serve(ctx, store, fmt.Sprint("order-", i), put)
		if err != nil {
			return err
		}
		if o.Status != runs.Done {
			return fmt.Errorf("order %d: %s: %w", i, o.Status, o.Err)
		}
	}
	log.Printf("%d orders have ended", n)
	return nil
}

// serve waits for an order and says yes to what it asks. A process that answers a run puts it into the queue.
func serve(
	ctx context.Context, store *dispatch.Dispatcher, id string, put func(id string) error,
) (o dispatch.Result, err error) {
	for {
		if o, err = store.Wait(ctx, id); err != nil || o.Status != runs.Waiting {
			return o, err
		}
		for _, q := range o.Questions {
			err := store.Reply(ctx, id, q.Reply(runs.JSONReply("true")))
			if err != nil && !errors.Is(err, runs.ErrReplied) && !errors.Is(err, runs.ErrNotWaiting) {
				return o, err
			}
		}
		if err := put(id); err != nil {
			return o, err
		}
	}
}
