package mcpserve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// grace is the time for which a run that is canceled has to come to a safe point.
const grace = 5 * time.Second

// AgentOptions describe an agent to clients. Name and Description are required.
type AgentOptions struct {
	Name, Description, Title string
	// Input replaces the parameters. The agent gets the arguments as they are, as the text of a user message. Default: one
	// string, request, that becomes the user message.
	Input *schema.ParamsOneOf
	// Structured adds structured content to the text: {"text": …, "run": …, "usage": …}. usage is what all model calls of
	// the run have used, as far as the models say it: see runs.Usage.
	Structured bool
	// Conversations, if set, keeps threads: the default parameters then have a second, optional text, thread, and a call
	// with one continues what was said in the calls of that thread before. A thread is one of the principal that calls
	// (see HTTPOptions.Verify) and of this agent. One run of a thread can be under way, or wait for answers, at a time: a
	// client that calls meanwhile reads that. It needs an agent on ordinary messages, and no Input.
	Conversations conversation.Store
	// History bounds what a run of a thread is given of it.
	History conversation.HistoryOptions
	// RunOptions are options of each run.
	RunOptions []adk.AgentRunOption
}

// defaultInput is the schema of an agent that takes a text.
var defaultInput = json.RawMessage(`{"type":"object","properties":{"request":{"type":"string",` +
	`"description":"What the agent is to do."}},"required":["request"]}`)

// threadInput is the input schema of an agent with threads.
var threadInput = json.RawMessage(`{"type":"object","properties":{"request":{"type":"string",` +
	`"description":"What the agent is to do."},"thread":{"type":"string","pattern":"^[A-Za-z0-9._:-]{1,128}$",` +
	`"description":"Continues what was said under this name before, if anything was."}},"required":["request"]}`)

// outputSchema is the schema of structured content.
var outputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},` +
	`"run":{"type":"string"},"usage":{"type":"object","description":"tokens",` +
	`"additionalProperties":{"type":"integer"}}},"required":["text","run"]}`)

// agentOutput is structured content.
type agentOutput struct {
	Text  string      `json:"text"`
	Run   string      `json:"run"`
	Usage *runs.Usage `json:"usage,omitempty"`
}

// agentTool is an agent that clients call.
type agentTool[M adk.MessageType] struct {
	server *Server
	runner *adk.TypedRunner[M]
	opts   AgentOptions
	info   *schema.ToolInfo
}

// AddAgent serves what a runner runs as a tool: a call is a run, and its result the last text. Config.Keys are
// required. The runner needs a store if the agent can be interrupted, and all processes behind one address need the
// same.
func AddAgent[M adk.MessageType](s *Server, runner *adk.TypedRunner[M], o AgentOptions) error {
	switch {
	case runner == nil:
		return fmt.Errorf("mcpserve: server %q: agent %q: the runner is nil", s.conf.Name, o.Name)
	case o.Description == "":
		return fmt.Errorf("mcpserve: server %q: agent %q has no description", s.conf.Name, o.Name)
	case len(s.conf.Keys) == 0:
		return fmt.Errorf("mcpserve: server %q: agent %q: set Config.Keys", s.conf.Name, o.Name)
	}
	a := &agentTool[M]{server: s, runner: runner, opts: o}
	if err := a.checkThreads(); err != nil {
		return fmt.Errorf("mcpserve: server %q: agent %q: %w", s.conf.Name, o.Name, err)
	}
	a.info = &schema.ToolInfo{Name: o.Name, Desc: o.Description, ParamsOneOf: o.Input}
	switch {
	case o.Input != nil:
	case o.Conversations != nil:
		a.info.ParamsOneOf = schema.NewParamsOneOfByRawJSON(threadInput)
	default:
		a.info.ParamsOneOf = schema.NewParamsOneOfByRawJSON(defaultInput)
	}
	options := ToolOptions{Title: o.Title}
	if o.Structured {
		options.Output = schema.NewParamsOneOfByRawJSON(outputSchema)
	}
	return s.add(a.info, options, false, a.call)
}

// call begins a run, or continues one with the answers of the client.
func (a *agentTool[M]) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	checked, err := utils.DecodeArguments[json.RawMessage](ctx, a.info, string(r.Params.Arguments), true)
	if err != nil {
		return nil, err
	}
	// The run outlives the context of the call until it has stopped: what it has done is saved.
	option, cancel := adk.WithCancel()
	run := context.WithoutCancel(ctx)
	defer context.AfterFunc(ctx, func() {
		cancel(adk.WithAgentCancelMode(adk.CancelAfterChatModel|adk.CancelAfterToolCalls),
			adk.WithAgentCancelTimeout(grace), adk.WithRecursive())
	})()
	options := append([]adk.AgentRunOption{option}, a.opts.RunOptions...)
	in := a.input(checked)
	if in.Thread != "" {
		turn, err := a.turn(ctx, principal(r), in.Thread)
		if err != nil {
			return nil, err
		}
		options = append(options, turn)
	}
	if r.Params.RequestState != "" || len(r.Params.InputResponses) > 0 {
		return a.resume(run, r, options)
	}
	id := "mcp-" + rand.Text()
	used, options := a.counted(nil, options)
	events := a.runner.Query(run, in.Request, append(options, adk.WithCheckPointID(id))...)
	return a.follow(ctx, r, id, used, events)
}

// counted adds to the options of a run what counts its usage, if clients are to read it.
func (a *agentTool[M]) counted(before *schema.TokenUsage, options []adk.AgentRunOption) (*tally, []adk.AgentRunOption) {
	used := newTally(before)
	if a.opts.Structured {
		options = append(options, adk.WithCallbacks(used.handler()))
	}
	return used, options
}

// agentInput holds the arguments of a client's call of an agent.
type agentInput struct {
	// Request is the message of the user, and Thread "" for a call of its own.
	Request, Thread string
}

// input reads the arguments, which fit the schema.
func (a *agentTool[M]) input(arguments json.RawMessage) (in agentInput) {
	if a.opts.Input != nil {
		return agentInput{Request: string(arguments)}
	}
	_ = json.Unmarshal(arguments, &in)
	return in
}

// principal returns the user ID of the caller's token, "" without a token.
func principal(r *mcp.CallToolRequest) string {
	if r.Extra != nil && r.Extra.TokenInfo != nil {
		return r.Extra.TokenInfo.UserID
	}
	return ""
}

// resume continues a run with the answers of the client. Points without one are asked again.
func (a *agentTool[M]) resume(
	ctx context.Context, r *mcp.CallToolRequest, options []adk.AgentRunOption,
) (*mcp.CallToolResult, error) {
	state, err := a.server.unseal(r.Params.RequestState, principal(r), a.opts.Name, r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	responses := r.Params.InputResponses
	if state.Given != nil {
		if said, ok := responses[againID].(*mcp.ElicitResult); !ok || said == nil || said.Action != "accept" {
			return failed("the agent was not continued, and the answers were not used"), nil
		}
		if responses, err = savedResponses(state.Given); err != nil {
			return nil, err
		}
	}
	targets := map[string]any{}
	for _, p := range state.Points {
		value, given, err := answersOf(p, responses)
		if err != nil {
			return failed(fmt.Sprintf("the answer to %q is not of its kind: %v", p.ID, err)), nil
		}
		if given {
			targets[p.ID] = value
		}
	}
	if err := a.server.use(ctx, &state); err != nil {
		return a.offerAgain(ctx, state, responses, err)
	}
	used, options := a.counted(state.Used, options)
	events, err := a.runner.ResumeWithParams(ctx, state.Run, &adk.ResumeParams{Targets: targets}, options...)
	if err != nil { // nothing of the run was executed
		state.Nonce = rand.Text()
		return a.offerAgain(ctx, state, responses, err)
	}
	return a.follow(ctx, r, state.Run, used, events)
}

// offerAgain asks the client whether to try again to continue a run that an error kept from being continued, such as
// one of its store. The answers are in the state, so that the user need not give them twice.
func (a *agentTool[M]) offerAgain(
	ctx context.Context, state requestState, responses mcp.InputResponseMap, err error,
) (*mcp.CallToolResult, error) {
	if errors.Is(err, errState) || errors.Is(err, runs.ErrNotFound) {
		return nil, err
	}
	given, broken := json.Marshal(responses)
	if broken != nil {
		return nil, errors.Join(err, broken)
	}
	state.Given = given
	sealed, broken := a.server.seal(state)
	if broken != nil {
		return nil, errors.Join(err, broken)
	}
	a.server.conf.Logger.WarnContext(ctx, "a run could not be continued over MCP: the client may try again",
		"tool", a.opts.Name, "run", state.Run, "error", err)
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{againID: again()}, RequestState: sealed}, nil
}

// follow reads the events of a run to its end, and says what came of it.
func (a *agentTool[M]) follow(
	ctx context.Context, r *mcp.CallToolRequest, id string, used *tally,
	events *adk.AsyncIterator[*adk.TypedAgentEvent[M]],
) (*mcp.CallToolResult, error) {
	p := &reporter{request: r, token: r.Params.GetProgressToken()}
	var last final
	var failure error
	var stopped *adk.InterruptInfo
	for {
		event, ok := events.Next()
		if !ok {
			break
		}
		if event.Err != nil {
			failure = event.Err
			continue
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			stopped = event.Action.Interrupted
		}
		p.agent(ctx, event.AgentName)
		message, _, err := adk.TypedGetMessage(event)
		if err != nil {
			failure = err
			continue
		}
		if m, isMessage := read(message); isMessage {
			p.message(ctx, m)
			last.see(m)
		}
	}
	var open *conversation.OpenError
	switch {
	case errors.As(failure, &open):
		return failed("the thread has a call that has not ended: wait for it, or answer it"), nil
	case failure != nil:
		return nil, failure
	case stopped != nil:
		return a.ask(r, id, used, stopped.InterruptContexts)
	}
	text := a.server.bounded(last.text())
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if a.opts.Structured {
		result.StructuredContent = &agentOutput{Text: text, Run: id, Usage: usageOf(used.total())}
	}
	return result, nil
}

// ask answers a call with the questions of an interrupted run.
func (a *agentTool[M]) ask(
	r *mcp.CallToolRequest, id string, used *tally, contexts []*adk.InterruptCtx,
) (*mcp.CallToolResult, error) {
	state := requestState{Run: id, Principal: principal(r), Tool: a.opts.Name, Arguments: hashOf(r.Params.Arguments),
		Nonce: rand.Text(), Expires: time.Now().Add(a.server.conf.AnswerTime).Unix(), Used: used.total()}
	requests := mcp.InputRequestMap{}
	var can *mcp.ElicitationCapabilities
	if c := r.ClientCapabilities(); c != nil {
		can = c.Elicitation
	}
	var texts []string
	for _, c := range contexts {
		if c == nil || !c.IsRootCause {
			continue
		}
		p, params := asked(c, can != nil && can.URL != nil)
		state.Points = append(state.Points, p)
		for _, request := range slices.Sorted(maps.Keys(params)) {
			requests[request] = params[request]
			texts = append(texts, params[request].Message)
		}
	}
	if len(requests) == 0 {
		return nil, errors.New("the run was interrupted without a question")
	}
	if can == nil {
		return failed("the agent needs an answer of the user, and this client cannot ask: " + strings.Join(texts, "; ")), nil
	}
	sealed, err := a.server.seal(state)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: requests, RequestState: sealed}, nil
}
