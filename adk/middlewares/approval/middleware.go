package approval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

const (
	defaultExpiry = 24 * time.Hour
	grantedKey    = "_weft_approval_granted "

	tooLate    = "the decision came too late"
	usedBefore = "the decision was used before"

	rejected              = "The user rejected this call of the tool. Do not try it again unless the user asks for it."
	rejectedChinese       = "用户拒绝了此次工具调用。除非用户要求，请勿重试。"
	rejectedReason        = "The user rejected this call of the tool: %s"
	rejectedReasonChinese = "用户拒绝了此次工具调用：%s"
)

// Config configures [New]. One of Tools, Origins and Ask is required.
type Config struct {
	// Tools are asked for, by name. A tool that is called by an alias is always asked for.
	Tools []string
	// Origins are asked for with all of their tools, whatever those are called, also together with Tools: "mcp:bank" are
	// the tools of the MCP server bank. See [tool.OriginOf].
	Origins []string
	// Ask says whether to ask for a call, instead of Tools and Origins. Its error fails the call. Several calls may call
	// it at once.
	Ask func(ctx context.Context, call *adk.ToolContext, arguments string) (bool, error)
	// Expiry is the time for which a decision is good after the question. Default: a day.
	Expiry time.Duration
	// Key, if set, must have signed decisions. See [Decision.Sign].
	Key []byte
	// For is whom calls wait for: users, groups, roles, as the application names them. It is for lists of open questions.
	For []string
	// Ledger keeps decisions from being used twice. Default: one of this middleware's own, in memory.
	Ledger Ledger
}

type middleware[M adk.MessageType] struct {
	adk.TypedToolCallHooks[M]
	conf Config
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It fails if config has none of Tools, Origins and Ask, or Ask together with one of the
// others, or a negative Expiry. One middleware may serve any number of agents and runs at once. Put it first among the
// handlers that wrap tools: those before it run before the question.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	if config == nil || len(config.Tools)+len(config.Origins) == 0 && config.Ask == nil {
		return nil, errors.New("approval: say what to ask for, by Tools, Origins or Ask")
	}
	if len(config.Tools)+len(config.Origins) > 0 && config.Ask != nil {
		return nil, errors.New("approval: set Ask, or Tools and Origins, not both")
	}
	if config.Expiry < 0 {
		return nil, errors.New("approval: Expiry must not be negative")
	}
	m := &middleware[M]{conf: *config}
	m.conf.Tools, m.conf.Origins = slices.Clone(config.Tools), slices.Clone(config.Origins)
	m.conf.Key = slices.Clone(config.Key)
	if m.conf.Expiry == 0 {
		m.conf.Expiry = defaultExpiry
	}
	if typednil.Is(m.conf.Ledger) {
		m.conf.Ledger = NewMemoryLedger()
	}
	m.Wrap = m.askBefore
	return m, nil
}

// mustAsk reports whether a call needs an approval.
func (m *middleware[M]) mustAsk(ctx context.Context, tCtx *adk.ToolContext, arguments string) (bool, error) {
	switch {
	case m.conf.Ask != nil:
		return m.conf.Ask(ctx, tCtx, arguments)
	case slices.Contains(m.conf.Tools, tCtx.Name):
		return true, nil
	case len(m.conf.Origins) > 0 && slices.Contains(m.conf.Origins, originOf(ctx, tCtx.Name)):
		return true, nil
	}
	// A name that no tool has is an alias, maybe of a tool that must be asked for. A tool that cannot say its name because
	// the run has ended is none: a question would hide that.
	if toolsOf(ctx).has(ctx, tCtx.Name) {
		return false, nil
	}
	return true, ctx.Err()
}

// originOf returns the origin of the tool that the run calls by a name.
func originOf(ctx context.Context, name string) string {
	return tool.OriginOf(adk.ToolInfoOf(ctx, name))
}

// outcome says what to do with a call.
type outcome struct {
	arguments string
	// refusal, if not empty, is the result instead of the tool's.
	refusal string
	// key is the key under which the run remembers that the call may run, and origin the origin of the tool.
	key, origin string
}

// decide finds out whether a call may run. The error is an interrupt where it has to be asked.
func (m *middleware[M]) decide(ctx context.Context, tCtx *adk.ToolContext, arguments string) (outcome, error) {
	as := outcome{arguments: arguments}
	ask, err := m.mustAsk(ctx, tCtx, arguments)
	if err != nil || !ask {
		return as, err
	}
	address := compose.GetCurrentAddress(ctx)
	c := call{address.String(), tCtx.Name, originOf(ctx, tCtx.Name), tCtx.CallID, arguments}
	as.origin = c.origin
	as.key = grantedKey + c.place + " " + c.id
	wasInterrupted, isOurs, asked := tool.GetInterruptState[*pending](ctx)
	if !wasInterrupted {
		if as.refusal, err = misfit(ctx, tCtx, arguments); as.refusal != "" || err != nil {
			return as, err
		}
	}
	switch {
	case wasInterrupted && !isOurs:
		// The tool was interrupted itself, after it was allowed to run.
		if g, ok := as.grant(ctx); ok {
			as.arguments = g.Arguments
			return as, nil
		}
		return as, m.ask(ctx, c, newPending(""))
	case !isOurs:
		return as, m.ask(ctx, c, newPending(""))
	}
	d, request := decisionFrom(ctx), asked.request(c)
	// A call that was stopped behind its decision comes with the same one again, or with none.
	if g, ok := as.grant(ctx); ok && g.Hash == request.Hash && (d == nil || d.Hash == g.Hash) {
		return m.repeat(ctx, as, c, asked, g)
	}
	if d == nil {
		return as, m.ask(ctx, c, asked)
	}
	refused, err := m.refuse(ctx, asked, request, d)
	if err != nil {
		return as, err
	}
	if refused != "" {
		return as, m.ask(ctx, c, newPending(refused))
	}
	return as.with(ctx, d), nil
}

// misfit returns what the model reads about arguments that do not fit the schema of the tool, "" if they fit or are not
// checked: no question is asked about a call that would not be executed.
func misfit(ctx context.Context, tCtx *adk.ToolContext, arguments string) (string, error) {
	wrong := wrongArguments(ctx, tCtx.Name, arguments)
	if wrong == nil {
		return "", nil
	}
	return adk.ReportArguments(ctx, tCtx, wrong)
}

// wrongArguments says what of arguments does not fit the schema of a tool, nil for nothing, and where the agent does not
// check them: see adk.ToolsConfig.ReportMistakes.
func wrongArguments(ctx context.Context, name, arguments string) *tool.ArgumentsError {
	info := adk.ToolInfoOf(ctx, name)
	if info == nil || !modelmistake.ChecksArguments(ctx) {
		return nil
	}
	_, err := utils.DecodeArguments[json.RawMessage](ctx, info, arguments, true)
	var wrong *tool.ArgumentsError
	_ = errors.As(err, &wrong)
	return wrong
}

// repeat lets a call run again that was given up because the run was cancelled, once for each time that it was.
func (m *middleware[M]) repeat(ctx context.Context, as outcome, c call, asked *pending, g granted) (outcome, error) {
	until := asked.Asked.Add(m.conf.Expiry)
	if time.Now().After(until) {
		return as, m.ask(ctx, c, newPending(tooLate))
	}
	switch first, err := m.use(ctx, g.Again, until); {
	case err != nil:
		return as, err
	case !first:
		return as, m.ask(ctx, c, newPending(usedBefore))
	}
	return as.granted(ctx, g.Arguments, g.Hash), nil
}

// grant returns what the run remembers of the call.
func (o outcome) grant(ctx context.Context) (g granted, ok bool) {
	value, _, err := adk.GetRunLocalValue(ctx, o.key)
	if err != nil {
		return g, false
	}
	g, ok = value.(granted)
	return g, ok && g.Origin == o.origin // the tool of the name may be another one by now
}

// granted lets the call run. Outside a run nothing can be remembered: a tool that is interrupted is asked for again.
func (o outcome) granted(ctx context.Context, arguments, hash string) outcome {
	o.arguments = arguments
	_ = adk.SetRunLocalValue(ctx, o.key, granted{arguments, o.origin, hash, rand.Text()})
	return o
}

// with takes a decision over.
func (o outcome) with(ctx context.Context, d *Decision) outcome {
	switch d.Verdict {
	case runs.Rejected:
		o.refusal = language.Select(rejected, rejectedChinese)
		if d.Text != "" {
			o.refusal = fmt.Sprintf(language.Select(rejectedReason, rejectedReasonChinese), d.Text)
		}
		return o
	case runs.Edited:
		return o.granted(ctx, d.Arguments, d.Hash)
	}
	return o.granted(ctx, o.arguments, d.Hash)
}

// finished forgets a call that has run. One whose result is a stream has not yet.
func (o outcome) finished(ctx context.Context, out *compose.ToolCallOutput) {
	if o.key != "" && !out.Streams() {
		_ = adk.DeleteRunLocalValue(ctx, o.key)
	}
}

func (m *middleware[M]) ask(ctx context.Context, c call, p *pending) error {
	r := p.request(c)
	r.For = m.conf.For
	return tool.StatefulInterrupt(ctx, r, p)
}

func decisionFrom(ctx context.Context) *Decision {
	if _, ok, d := tool.GetResumeContext[*Decision](ctx); ok {
		return d
	}
	if _, ok, d := tool.GetResumeContext[Decision](ctx); ok {
		return &d
	}
	return nil
}

// refuse says why a decision does not count, "" if it does. A decision that counts is used up.
func (m *middleware[M]) refuse(ctx context.Context, p *pending, r *Request, d *Decision) (why string, err error) {
	if why := r.wrongHash(d); why != "" {
		return why, nil
	}
	until := p.Asked.Add(m.conf.Expiry)
	switch {
	case len(m.conf.Key) > 0 && !d.signedWith(m.conf.Key):
		return "the decision is not signed with the right key", nil
	case time.Now().After(until):
		return tooLate, nil
	case d.Verdict != runs.Approved && d.Verdict != runs.Rejected && d.Verdict != runs.Edited:
		return fmt.Sprintf("the verdict %q is unknown", d.Verdict), nil
	case d.Verdict == runs.Edited && !json.Valid([]byte(d.Arguments)):
		return "the edited arguments are no JSON", nil
	case d.Verdict == runs.Edited:
		if wrong := wrongArguments(ctx, r.Tool, d.Arguments); wrong != nil {
			return "the edited arguments do not fit: " + wrong.Error(), nil
		}
	}
	first, err := m.use(ctx, d.Hash, until)
	if err == nil && !first {
		why = usedBefore
	}
	return why, err
}

func (m *middleware[M]) use(ctx context.Context, hash string, until time.Time) (first bool, err error) {
	ledger, knowsCalls := m.conf.Ledger.(CallLedger)
	if call := adk.GetIdempotencyKey(ctx); knowsCalls && call != "" && adk.GetFencingToken(ctx) > 0 {
		first, err = ledger.UseFor(ctx, hash, call, until)
	} else {
		first, err = m.conf.Ledger.Use(ctx, hash, until)
	}
	if err != nil {
		err = fmt.Errorf("approval: whether the decision was used before: %w", err)
	}
	return first, err
}
