// Command durable kills the process of a run in the worst moment, after a payment and before its result is saved, and
// shows how another process continues with the run without paying twice.
//
//	go run ./examples/durable
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
)

// bank is a service somewhere else, which outlives the process. It knows payments by their idempotency key.
type bank struct {
	mu       sync.Mutex // guards receipts
	receipts map[string]string
}

// ServeHTTP pays with POST, and with GET returns the receipt of a payment.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := r.FormValue("key")
	if _, paid := b.receipts[key]; !paid && r.Method == http.MethodPost {
		b.receipts[key] = fmt.Sprintf("receipt %d over %s", len(b.receipts)+1, r.FormValue("amount"))
	}
	fmt.Fprint(w, b.receipts[key])
}

// ask sends a request to the bank.
func ask(ctx context.Context, method, bankURL string, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, bankURL+"?"+form.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	receipt, err := io.ReadAll(resp.Body)
	return string(receipt), err
}

// newRunner makes the runner of a process. With dies the process dies in the payment.
func newRunner(ctx context.Context, dir, bankURL string, dies bool) (*adk.Runner, error) {
	files, err := checkpoint.NewFileStore(dir)
	if err != nil {
		return nil, err
	}
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
		receipt, err := ask(ctx, http.MethodPost, bankURL,
			url.Values{"key": {adk.GetIdempotencyKey(ctx)}, "amount": {strconv.Itoa(in.Amount)}})
		if err != nil {
			return "", err
		}
		if dies {
			fmt.Println("  (the bank has been paid, and the process is killed)")
			return "", kill()
		}
		return receipt, nil
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
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: files, Durability: adk.EveryStep}), nil
}

// kill kills this process, as a machine that fails would.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {} // until it is dead
	}
	return err
}

const runID = "order-7"

// first is the process that dies.
func first(ctx context.Context, dir, bankURL string) error {
	runner, err := newRunner(ctx, dir, bankURL, true)
	if err != nil {
		return err
	}
	_, err = demo.Print(os.Stdout, runner.Query(ctx, "Two tickets, please.", adk.WithCheckPointID(runID)))
	return err
}

// second is the process that continues with the run.
func second(ctx context.Context, dir, bankURL string) error {
	runner, err := newRunner(ctx, dir, bankURL, false)
	if err != nil {
		return err
	}
	events, err := runner.Resume(ctx, runID)
	if err != nil {
		return err
	}
	stopped, err := demo.Print(os.Stdout, events)
	if err != nil {
		return err
	}
	point := stopped.Action.Interrupted.InterruptContexts[0]
	unknown := point.Info.(*adk.OutcomeUnknown)
	fmt.Printf("Nobody knows how %s(%s) ended. The bank is asked.\n", unknown.ToolName, unknown.Arguments)
	receipt, err := ask(ctx, http.MethodGet, bankURL, url.Values{"key": {unknown.IdempotencyKey}})
	if err != nil {
		return err
	}
	outcome := &adk.ToolOutcome{Result: receipt, Rerun: receipt == ""}
	events, err = runner.ResumeWithParams(ctx, runID, &adk.ResumeParams{Targets: map[string]any{point.ID: outcome}})
	if err != nil {
		return err
	}
	_, err = demo.Print(os.Stdout, events)
	return err
}

func run(ctx context.Context) error {
	if len(os.Args) == 4 && os.Args[1] == "first" {
		return first(ctx, os.Args[2], os.Args[3])
	}
	demo.Banner(os.Stderr)
	dir, err := os.MkdirTemp("", "weft-durable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bank{receipts: map[string]string{}}
	server := httptest.NewServer(b)
	defer server.Close()

	fmt.Println("The first process:")
	program, err := os.Executable()
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, program, "first", dir, server.URL)
	process.Stdout, process.Stderr = os.Stdout, os.Stderr
	if process.Run() == nil {
		return errors.New("the process should have died")
	}
	fmt.Println("It died. The second process:")
	if err := second(ctx, dir, server.URL); err != nil {
		return err
	}
	fmt.Printf("The bank was paid %d time(s).\n", len(b.receipts))
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
