package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/ext/store/postgres"
	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// leaseTime is after how long the runs of a worker that died are taken over.
const leaseTime = 2 * time.Second

// openStore opens the store that all processes share.
func openStore(ctx context.Context, where string) (store interface {
	runs.Store
	io.Closer
}, err error) {
	if strings.HasPrefix(where, "postgres") {
		return postgres.Open(ctx, where)
	}
	return sqlite.Open(ctx, where)
}

// work executes runs until the process is interrupted.
func work(where, bankURL string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := openStore(ctx, where)
	if err != nil {
		return err
	}
	defer store.Close()
	desk, err := newDesk(ctx, bankURL)
	if err != nil {
		return err
	}
	courier, err := newAgent(ctx, "courier", "delivers", []tool.BaseTool{quick("route", "Finds the way.", "the short way")},
		demo.Calls(demo.Call("route", "{}")), demo.Says("on its way: {results}"))
	if err != nil {
		return err
	}
	d := dispatch.New(store, dispatch.Config{TTL: leaseTime, Agents: dispatch.Agents{
		"desk": dispatch.RunnerOf(desk), "courier": dispatch.RunnerOf(courier)}})
	return d.Work(ctx, dispatch.WorkerConfig{Poll: 100 * time.Millisecond, DrainTimeout: 5 * time.Second})
}

// newDesk makes the agent of the orders, which hands them over to a clerk. The clerk asks for the price and for
// approval, pays, and has a run of another agent deliver.
func newDesk(ctx context.Context, bankURL string) (adk.Agent, error) {
	clerk, err := newAgent(ctx, "clerk", "handles orders", []tool.BaseTool{
		quick("price", "Tells what the tickets cost.", "40"),
		approval(),
		&payment{bankURL: bankURL},
		dispatch.AsRun("courier", "Delivers."),
	},
		demo.Calls(demo.Call("price", "{}")),
		demo.Calls(demo.Call("approve", "{}")),
		demo.Calls(demo.Call("pay", "{}")),
		demo.Calls(demo.Call("courier", `{"request":"the tickets"}`)),
		demo.Says("The tickets are yours: {results}."))
	if err != nil {
		return nil, err
	}
	desk, err := newAgent(ctx, "desk", "takes orders", nil,
		demo.Calls(demo.Call("transfer_to_agent", `{"agent_name":"clerk"}`)))
	if err != nil {
		return nil, err
	}
	return adk.SetSubAgents(ctx, desk, []adk.Agent{clerk})
}

func newAgent(ctx context.Context, name, description string, tools []tool.BaseTool, lines ...demo.Line) (adk.Agent, error) {
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: name, Description: description,
		Model:       &demo.Model{Answer: demo.Script(lines...)},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}, ReportMistakes: true}})
}

func infoOf(name, description string) *schema.ToolInfo {
	return &schema.ToolInfo{Name: name, Desc: description}
}

// quick is a tool that answers always the same, after a while. It may be called again, as the other idempotent ones
// may.
func quick(name, description, answer string) tool.InvokableTool {
	return utils.NewTool(infoOf(name, description), func(ctx context.Context, _ struct{}) (string, error) {
		time.Sleep(20 * time.Millisecond)
		return answer, nil
	}, utils.WithIdempotent())
}

// approval returns a tool that asks a person.
func approval() tool.InvokableTool {
	return utils.NewTool(infoOf("approve", "Asks for approval."), func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, yes := tool.GetResumeContext[bool](ctx); answered {
			return fmt.Sprint("approved: ", yes), nil
		}
		return "", tool.Interrupt(ctx, "May I pay?")
	}, utils.WithIdempotent())
}

// payment pays an order. What became of a payment whose process died, it asks the bank.
type payment struct{ bankURL string }

func (p *payment) Outcome(ctx context.Context, u *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	receipt, err := p.ask(ctx, http.MethodGet, url.Values{"key": {u.IdempotencyKey}})
	if err != nil {
		return nil, err
	}
	return &adk.ToolOutcome{Result: receipt, Rerun: receipt == ""}, nil
}

func (p *payment) Info(context.Context) (*schema.ToolInfo, error) { return infoOf("pay", "Pays."), nil }

func (p *payment) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	order, _ := adk.GetSessionValue(ctx, "order")
	time.Sleep(20 * time.Millisecond)
	return p.ask(ctx, http.MethodPost, url.Values{"key": {adk.GetIdempotencyKey(ctx)}, "order": {fmt.Sprint(order)},
		"amount": {"40"}, "token": {strconv.FormatUint(adk.GetFencingToken(ctx), 10)}})
}

func (p *payment) ask(ctx context.Context, method string, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.bankURL+"?"+form.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the bank: %s", answer)
	}
	return string(answer), err
}
