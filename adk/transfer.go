package adk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// The words in which a model reads about handing a run over to another agent.
const (
	TransferToAgentToolName        = "transfer_to_agent"
	TransferToAgentToolDesc        = "Transfer the question to another agent."
	TransferToAgentToolDescChinese = "将问题移交给其他 Agent。"

	// TransferToAgentInstruction is formatted with the list of agents and the name of the tool.
	TransferToAgentInstruction = `You work together with these other agents:%s

Decide who answers:
- If your own description fits the question best, answer it yourself.
- If the description of another agent fits it better, call the function '%s' with the name of that agent. Write nothing else then, only the call.`
	// TransferToAgentInstructionChinese is the same in Chinese.
	TransferToAgentInstructionChinese = `与你协作的其他 Agent 有：%s

请决定由谁来回答：
- 如果你自己的描述最符合这个问题，就由你来回答。
- 如果另一个 Agent 的描述更符合，就调用函数 '%s' 并传入该 Agent 的名称。此时只输出这个函数调用，不要输出其他任何内容。`
)

const (
	agentLine        = "\n- Agent name: %s\n  Agent description: %s"
	agentLineChinese = "\n- Agent 名称：%s\n  Agent 描述：%s"

	transferred        = "successfully transferred to agent [%s]"
	transferredChinese = "成功移交任务至 agent [%s]"

	// Of several transfers in one answer the first is carried out. The others have this result, with the name of the agent.
	notTransferred        = "The transfer to agent [%s] was not carried out: an earlier call of the same answer ends the work of this agent."
	notTransferredChinese = "未移交至 agent [%s]：同一回答中较早的调用已结束此 Agent 的工作。"
)

// transferInstruction describes to a model the agents that it can hand the run over to.
func transferInstruction[M MessageType](ctx context.Context, targets []TypedAgent[M]) string {
	var list strings.Builder
	for _, a := range targets {
		fmt.Fprintf(&list, language.Select(agentLine, agentLineChinese), a.Name(ctx), a.Description(ctx))
	}
	return fmt.Sprintf(language.Select(TransferToAgentInstruction, TransferToAgentInstructionChinese),
		list.String(), TransferToAgentToolName)
}

// transferTool lets the model of an agent hand the run over to one of the targets.
type transferTool[M MessageType] struct {
	agent   *chatModelAgent[M]
	targets []TypedAgent[M]
}

// GetType returns "transferToAgent".
func (*transferTool[M]) GetType() string { return "transferToAgent" }

func (*transferTool[M]) Info(_ context.Context) (*schema.ToolInfo, error) {
	return transferToolInfo(), nil
}

func transferToolInfo() *schema.ToolInfo {
	return &schema.ToolInfo{
		Name: TransferToAgentToolName,
		Desc: language.Select(TransferToAgentToolDesc, TransferToAgentToolDescChinese),
		ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
			"agent_name": {Desc: "the name of the agent to transfer to", Required: true, Type: schema.String},
		}),
	}
}

// Idempotent reports true: the call only says what is to come.
func (*transferTool[M]) Idempotent() bool { return true }

type transferArguments struct {
	AgentName string `json:"agent_name"`
}

func (t *transferTool[M]) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	arguments, err := decodeArguments[transferArguments](ctx, transferToolInfo, argumentsInJSON)
	if err != nil {
		return "", fmt.Errorf("arguments of %s: %w", TransferToAgentToolName, err)
	}
	if err := t.check(ctx, arguments.AgentName); err != nil {
		return "", err
	}
	if t.comesTooLate(ctx) {
		return fmt.Sprintf(language.Select(notTransferred, notTransferredChinese), arguments.AgentName), nil
	}
	if err := SendToolGenAction(ctx, TransferToAgentToolName, NewTransferToAgentAction(arguments.AgentName)); err != nil {
		return "", err
	}
	return transferResult(arguments.AgentName), nil
}

// comesTooLate reports whether another call of the answer ends the work of the agent.
func (t *transferTool[M]) comesTooLate(ctx context.Context) (late bool) {
	label := compose.InternalToolCallLabel(ctx)
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		late = s.HasReturnDirectly && s.ReturnDirectlyToolCallID != label
		return nil
	})
	return late
}

// ErrExceedMaxTransfers ends a run, wrapped, whose agents hand it over to each other more often than [WithMaxTransfers]
// says.
var ErrExceedMaxTransfers = errors.New("exceeds max transfers")

// defaultMaxTransfers is the number of times that a run is handed over.
const defaultMaxTransfers = 25

// transferLimit is the number of times that the run may be handed over.
func (o *runnerOptions) transferLimit() int {
	if o.maxTransfers > 0 {
		return o.maxTransfers
	}
	return defaultMaxTransfers
}

// check reports a target that there is not, and an agent that runs without the agents around it.
func (t *transferTool[M]) check(ctx context.Context, to string) error {
	var names []string
	for _, target := range t.targets {
		names = append(names, target.Name(ctx))
	}
	if !slices.Contains(names, to) {
		return &transferError{agent: t.agent, from: t.agent.conf.Name, to: to, targets: names}
	}
	if t.agent.family.isOfFlow() && !runsInFlow(ctx, t.agent) {
		return fmt.Errorf("agent '%s' cannot transfer to '%s': it runs without the agents around it; "+
			"SetSubAgents returns the agent that has them, run that one", t.agent.conf.Name, to)
	}
	return nil
}

// transferError is a transfer to an agent that there is not.
type transferError struct {
	agent    any // the agent, to tell it from others of its name
	from, to string
	targets  []string
}

func (e *transferError) Error() string {
	return fmt.Sprintf("transfer failed: agent '%s' not found when transferring from '%s'", e.to, e.from)
}

// text says the same to the model.
func (e *transferError) text() string {
	return fmt.Sprintf("there is no agent %q to transfer to; the agents are %s", e.to, strings.Join(e.targets, ", "))
}

func transferResult(destAgentName string) string {
	return fmt.Sprintf(language.Select(transferred, transferredChinese), destAgentName)
}

// handOver runs the agent that x's agent hands the run over to, if there is one.
func handOver(x *execution[Message]) {
	action := x.outcome()
	if action == nil || action.Interrupted != nil || action.Exit || action.TransferToAgent == nil {
		return
	}
	if err := contextEnd(x); err != nil { // the agents may not look, and hand the run over to each other without an end
		x.out.send(x.named(&AgentEvent{Err: x.failed(err)}))
		return
	}
	to := action.TransferToAgent.DestAgentName
	if limit := x.run.options.transferLimit(); x.transfers >= limit {
		x.out.send(x.named(&AgentEvent{Err: x.failed(fmt.Errorf("%w: the run was handed over %d times, and is to be handed over to agent '%s' again; "+
			"WithMaxTransfers sets the limit", ErrExceedMaxTransfers, x.transfers, to))}))
		return
	}
	next, err := successorNamed(x, to)
	if err != nil {
		x.out.send(x.named(&AgentEvent{Err: err}))
		return
	}
	next.begin(nil, nil).execute()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = next.outcome()
}

// successorNamed finds the agent that takes over from x, and makes its execution. It asks agents for their names: a
// panic of one becomes the error.
func successorNamed(x *execution[Message], name string) (next *execution[Message], err error) {
	defer func() {
		if v := recover(); v != nil {
			err = x.failed(fmt.Errorf("transfer to '%s': %w", name, safe.NewPanicError(v, debug.Stack())))
		}
	}()
	target := x.flow.transferTarget(x, name)
	if target == nil {
		return nil, fmt.Errorf("transfer failed: agent '%s' not found when transferring from '%s'", name, x.name)
	}
	return successor(x, target), nil
}

// successor makes the execution of the agent that takes over from x. An agent that the run comes back to obeys the
// cancels that it did before: the outermost one is the outermost one.
func successor(x *execution[Message], target *flowAgent) *execution[Message] {
	next := x.child(x, target, x.out, x.opts)
	next.transfers = x.transfers + 1
	for above := x; above != nil; above = above.parent {
		if above.flow == target {
			next.view = above.view
		}
	}
	return next
}

// transferTarget finds an agent among the sub-agents, or the parent.
func (f *flowAgent) transferTarget(ctx context.Context, name string) *flowAgent {
	for _, sub := range f.subAgents {
		if sub.Name(ctx) == name {
			return sub
		}
	}
	if parent := f.parentAgent(); parent != nil && !f.sealed && parent.Name(ctx) == name {
		return parent
	}
	return nil
}
