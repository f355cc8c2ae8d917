package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// MistakeKind says what a model did wrong.
type MistakeKind string

const (
	// MistakeUnknownTool is a call of a tool that does not exist.
	MistakeUnknownTool MistakeKind = "unknown tool"
	// MistakeArguments is a call whose arguments cannot be decoded or do not fit the schema of the tool: the tool has
	// returned a [tool.ArgumentsError].
	MistakeArguments MistakeKind = "arguments"
	// MistakeTransfer is a transfer to an agent that the run cannot be handed over to.
	MistakeTransfer MistakeKind = "transfer"
	// MistakeCutOff is a call of an answer that was cut off, such as by the limit of tokens, before the provider said that
	// the call is complete. It is never executed. The model reads why, also without ReportMistakes; the run ends with the
	// mistake when MaxMistakes answers in a row had such calls alone.
	MistakeCutOff MistakeKind = "cut off"
)

// ModelMistake is the error of a tool call that the model made wrongly, so that only the model can mend it. A run ends
// with it, wrapped, unless [ToolsConfig].ReportMistakes has it shown to the model.
type ModelMistake struct {
	Kind MistakeKind
	// Agent is the agent whose model it was. Tool and CallID are the name and ID of the call.
	Agent, Tool, CallID string
	// Text says to the model what is wrong: "quantity must be at most 10; size is required".
	Text string
	// Err is the error of the tools node or the tool.
	Err error
}

// Error returns the text of Err.
func (e *ModelMistake) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ModelMistake) Unwrap() error { return e.Err }

// defaultMaxMistakes is the number of answers in a row that may be mistaken.
const defaultMaxMistakes = 3

const (
	reported        = "The call was not executed: "
	reportedChinese = "调用未执行："
)

// isReport reports whether the result of a tool is one that a mistake was reported by.
func isReport[M MessageType](result M) bool {
	text := opsOf[M]().resultText(result)
	return strings.HasPrefix(text, reported) || strings.HasPrefix(text, reportedChinese)
}

// report returns what the model reads instead of a mistake, or the mistake, if it has to end the run.
func (r *agentRun[M]) report(ctx context.Context, m *ModelMistake) (string, error) {
	if !r.agent.conf.ToolsConfig.ReportMistakes {
		return "", m
	}
	return r.show(ctx, m)
}

// show is report for a mistake that the model is always shown: the mistake ends the run after MaxMistakes in a row.
func (r *agentRun[M]) show(ctx context.Context, m *ModelMistake) (string, error) {
	limit := r.agent.conf.ToolsConfig.MaxMistakes
	if limit <= 0 {
		limit = defaultMaxMistakes
	}
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if s.mistakesInARow() >= limit {
			return m
		}
		return nil
	})
	return language.Select(reported, reportedChinese) + m.Text, err
}

// mistakesInARow counts the answers before the current one of which every call was reported as a mistake. It reads the
// history, where a resumed run has it, too.
func (s *agentState[M]) mistakesInARow() (n int) {
	ops, rest := opsOf[M](), s.Messages
	last := func() (m M) { return rest[len(rest)-1] }
	for first := true; ; first = false {
		results := 0
		for ; len(rest) > 0 && ops.isResult(last()); rest = rest[:len(rest)-1] {
			if !isReport(last()) {
				return n
			}
			results++
		}
		if results > 0 {
			n++
		} else if !first {
			return n
		}
		if len(rest) == 0 || !ops.isAnswer(last()) || !ops.hasToolCalls(last()) {
			return n
		}
		rest = rest[:len(rest)-1]
	}
}

// continueAfterMistake has the run continue if the result that was to end it reports a mistake.
func (s *agentState[M]) continueAfterMistake(results []M) {
	for i, m := range results {
		if !opsOf[M]().isNil(m) && labelOf(results, i) == s.ReturnDirectlyToolCallID && isReport(m) {
			s.HasReturnDirectly, s.ReturnDirectlyToolCallID = false, ""
			return
		}
	}
}

// unknownTool makes the mistake of a call of a tool that does not exist.
func (r *agentRun[M]) unknownTool(name, callID string, err error) *ModelMistake {
	text := fmt.Sprintf("there is no tool %q", name)
	var names []string
	for _, info := range r.graph.infos {
		if !slices.Contains(names, info.Name) {
			names = append(names, info.Name)
		}
	}
	if len(names) > 0 {
		text += "; the tools are " + strings.Join(names, ", ")
	}
	return &ModelMistake{
		Kind: MistakeUnknownTool, Agent: r.agent.conf.Name, Tool: name, CallID: callID, Text: text, Err: err,
	}
}

// mistakeOf returns the mistake that the error of a tool stands for, nil if the tool itself has failed.
func (r *agentRun[M]) mistakeOf(in *compose.ToolInput, err error) *ModelMistake {
	m := &ModelMistake{Agent: r.agent.conf.Name, Tool: in.Name, CallID: in.CallID, Err: err}
	if nobody := new(transferError); errors.As(err, &nobody) && nobody.agent == any(r.agent) {
		m.Kind, m.Text = MistakeTransfer, nobody.text()
		return m
	}
	if wrong := argumentsErrorIn(err); wrong != nil {
		m.Kind, m.Text = MistakeArguments, wrong.Error()
		return m
	}
	return nil
}

// argumentsErrorIn finds what a tool says of its own arguments. What agents, graphs and tools inside it have said of
// theirs is not for this model.
func argumentsErrorIn(err error) *tool.ArgumentsError {
	if core.IsInterrupt(err) {
		return nil
	}
	for tools := 0; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case *tool.ArgumentsError:
			return e
		case *utils.ToolError:
			if tools++; tools > 1 {
				return nil
			}
		case *ModelMistake, *compose.RunError, *safe.PanicError:
			return nil
		}
	}
	return nil
}

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// reportedMistake returns what the model reads instead of the error of a call, or the error.
func reportedMistake[M MessageType](ctx context.Context, in *compose.ToolInput, err error) (string, error) {
	r := agentRunFrom[M](ctx)
	if r == nil {
		return "", err
	}
	if m := r.mistakeOf(in, err); m != nil {
		return r.report(ctx, m)
	}
	return "", err
}

// ReportArguments returns what the model reads about a call whose arguments do not fit, or the error that ends the run,
// instead of calling the tool: a [tool.ArgumentsError] of the tool itself has exactly the same effect. Middlewares that
// hold a call up, such as for an approval, call it for what need not be held up. ctx is the context of the call.
func ReportArguments(ctx context.Context, call *ToolContext, wrong *tool.ArgumentsError) (string, error) {
	if r := innermostRun(ctx); r != nil {
		return r.reportArguments(ctx, call, wrong)
	}
	return "", wrong
}

func (r *agentRun[M]) reportArguments(ctx context.Context, call *ToolContext, wrong *tool.ArgumentsError) (string, error) {
	return reportedMistake[M](ctx, &compose.ToolInput{Name: call.Name, CallID: call.CallID}, wrong)
}

// reportUnknownTools returns the handler for calls of tools that do not exist: the user's, or that which reports them.
func reportUnknownTools[M MessageType](conf *ToolsConfig) unknownHandler {
	if conf.UnknownToolsHandler != nil || !conf.ReportMistakes {
		return conf.UnknownToolsHandler
	}
	return func(ctx context.Context, name, _ string) (string, error) {
		r := agentRunFrom[M](ctx)
		err := fmt.Errorf("tool %s not found in toolsNode indexes", name)
		return r.report(ctx, r.unknownTool(name, compose.GetToolCallID(ctx), err))
	}
}

// cutOffCall answers a call that is not executed because its answer was cut off, for which the provider has a word.
func cutOffCall[M MessageType](ctx context.Context, name, word string) (string, error) {
	return sendsItsEvent[M](func(ctx context.Context, name, _ string) (string, error) {
		r := agentRunFrom[M](ctx)
		return r.show(ctx, &ModelMistake{Kind: MistakeCutOff, Agent: r.agent.conf.Name, Tool: name, CallID: compose.GetToolCallID(ctx),
			Text: compose.InternalCutOffReason(word),
			Err: fmt.Errorf("the answer of the model of agent %q was cut off (%s) in its call of tool %q, again and again: "+
				"raise the model's limit of tokens", r.agent.conf.Name, word, name)})
	})(ctx, name, "")
}

// failedBy is failed for the error of the graph. A transfer of the agent's model to an agent that does not exist has the
// text that it has in any agent.
func (r *agentRun[M]) failedBy(err error) error {
	if nobody := new(transferError); errors.As(err, &nobody) && nobody.agent == any(r.agent) {
		if mistake := new(ModelMistake); errors.As(err, &mistake) {
			return &ModelMistake{Kind: mistake.Kind, Agent: mistake.Agent, Tool: mistake.Tool, CallID: mistake.CallID,
				Text: mistake.Text, Err: nobody}
		}
	}
	return r.failed(err)
}
