// Command durable lets the process of a run die in the worst moment, after a payment and before its result is saved,
// and shows how another process continues with the run without paying twice.
//
//	go run ./examples/durable
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

var errDied = errors.New("the process died")

// process is what lives and dies with a process: its store does not write any more when it is dead.
type process struct {
	*checkpoint.FileStore
	dead atomic.Bool
}

func (p *process) AppendRecord(ctx context.Context, id string, record []byte) error {
	if p.dead.Load() {
		return errDied
	}
	return p.FileStore.AppendRecord(ctx, id, record)
}

// bank is a service somewhere else, which outlives the process. It knows payments by their idempotency key.
type bank struct{ receipts map[string]string }

func (b *bank) pay(key string, amount int) string {
	if receipt, done := b.receipts[key]; done {
		return receipt
	}
	b.receipts[key] = fmt.Sprintf("receipt %d over %d", len(b.receipts)+1, amount)
	return b.receipts[key]
}

// newRunner makes the runner of a process. With dies it dies in the payment.
func newRunner(ctx context.Context, dir string, b *bank, dies bool) (*adk.Runner, error) {
	files, err := checkpoint.NewFileStore(dir)
	if err != nil {
		return nil, err
	}
	p := &process{FileStore: files}
	price, err := utils.InferTool("price", "Tells what the tickets cost.",
		func(ctx context.Context, _ struct{}) (string, error) {
			return "40", demo.Note(ctx, "the price is looked up")
		})
	if err != nil {
		return nil, err
	}
	pay, err := utils.InferTool("pay", "Pays.", func(ctx context.Context, in struct {
		Amount int `json:"amount"`
	}) (string, error) {
		receipt := b.pay(adk.GetIdempotencyKey(ctx), in.Amount)
		p.dead.Store(dies)
		return receipt, demo.Note(ctx, "the bank has been paid")
	})
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "tickets",
		Model: &demo.Model{Answer: demo.Script(
			demo.Calls(demo.Call("price", "{}")),
			demo.Calls(demo.Call("pay", `{"amount":40}`)),
			demo.Says("The tickets are yours: {results}."),
		)},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{price, pay}},
			ReportMistakes:  true,
		},
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: p, Durability: adk.EveryStep}), nil
}

const runID = "order-7"

func run(ctx context.Context, out io.Writer) error {
	demo.Banner(out)
	dir, err := os.MkdirTemp("", "weft-durable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bank{receipts: map[string]string{}}

	fmt.Fprintln(out, "The first process:")
	runner, err := newRunner(ctx, dir, b, true)
	if err != nil {
		return err
	}
	if _, err := demo.Print(out, runner.Query(ctx, "Two tickets, please.", adk.WithCheckPointID(runID))); !errors.Is(err,
		errDied) {
		return fmt.Errorf("the process should have died: %w", err)
	}

	fmt.Fprintln(out, "It died. The second process:")
	if runner, err = newRunner(ctx, dir, b, false); err != nil {
		return err
	}
	events, err := runner.Resume(ctx, runID)
	if err != nil {
		return err
	}
	stopped, err := demo.Print(out, events)
	if err != nil {
		return err
	}
	point := stopped.Action.Interrupted.InterruptContexts[0]
	unknown := point.Info.(*adk.OutcomeUnknown)
	fmt.Fprintf(out, "Nobody knows how %s(%s) ended. The bank is asked.\n", unknown.ToolName, unknown.Arguments)
	outcome := &adk.ToolOutcome{Rerun: true}
	if receipt, found := b.receipts[unknown.IdempotencyKey]; found {
		outcome = &adk.ToolOutcome{Result: receipt}
	}
	events, err = runner.ResumeWithParams(ctx, runID, &adk.ResumeParams{Targets: map[string]any{point.ID: outcome}})
	if err != nil {
		return err
	}
	if _, err = demo.Print(out, events); err != nil {
		return err
	}
	fmt.Fprintf(out, "The bank was paid %d time(s).\n", len(b.receipts))
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
