package budget

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

const (
	// spentKey is the run-local value of what a run has spent.
	spentKey = "_weft_budget_spent"
	// cutShortKey marks a last answer with the limit that made it the last.
	cutShortKey = "_weft_budget_cut_short"

	finalPrompt        = "The budget of this work is used up, and no tool can be called any more. Answer now with what you know, and say what is missing."
	finalPromptChinese = "本次工作的预算已用完，不能再调用任何工具。请根据已知内容立即作答，并说明还缺少什么。"
)

// Config configures [New].
type Config struct {
	// Limits hold for a run of an agent with the middleware. An agent that runs below another one may have none: it
	// spends from the accounts above it all the same.
	Limits
	// Prices are the prices of models, by their names; that under "" is for all others that Catalogue does not know.
	Prices map[string]Price
	// Catalogue looks up the prices of models that have no entry in Prices. A limit on money needs it or Prices, unless
	// OnUnknownPrice says otherwise. What a provider itself reports about the cost of a call, which is in US dollars
	// (catalogue.ExtraCost), counts before all prices.
	Catalogue catalogue.Catalogue
	// OnUnknownPrice decides what to do where there is a limit on money, also of an account above, and a model has no price.
	OnUnknownPrice UnknownPrice
	// Model is the name of the agent's model. An option of the call (model.WithModel) counts before it, and after the
	// call the name that the provider reported.
	Model string
	// Provider names the service of the agent's model, for Catalogue. Default: what the model says (model.HasProvider), and
	// after the call what the provider reported.
	Provider string
	// FinalAnswer lets the model answer once more when a limit is reached, without tools. Tools that it still wants are
	// not called, and say so. See [CutShort].
	FinalAnswer bool
	// FinalPrompt is the question to the model then. Default: a sentence of this package.
	FinalPrompt string
}

type middleware[M adk.MessageType] struct {
	adk.TypedToolCallHooks[M]
	conf    Config
	pricing *pricing
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It fails if config is nil or has a negative limit, and if it has a limit on money that
// cannot be kept: see [UnknownPrice]. One middleware may serve any number of agents and runs at once; each run has an
// account of its own.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	if config == nil {
		return nil, errors.New("budget: config must not be nil")
	}
	l := config.Limits
	if l.ModelCalls < 0 || l.ToolCalls < 0 || l.Tokens < 0 || l.Money < 0 || l.WallTime < 0 {
		return nil, errors.New("budget: limits must not be negative; 0 is no limit")
	}
	prices, err := newPricing(config)
	if err != nil {
		return nil, err
	}
	m := &middleware[M]{conf: *config, pricing: prices}
	m.Wrap = m.limited
	return m, nil
}

// CutShort reports whether an answer is the last one that a used-up budget allowed, and which limit it was.
func CutShort[M adk.MessageType](m M) (Limit, bool) {
	limit, ok := message.Extra(m)[cutShortKey].(string)
	return Limit(limit), ok
}

// BeforeAgent opens the account of the run, below the account of the context.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	above, limits := FromContext(ctx), m.conf.Limits
	for a := above; a != nil; a = a.parent {
		if a.owner == any(m) {
			limits = Limits{} // the same agents below each other share one budget
		}
	}
	return NewContext(ctx, open(limits, above, m)), runCtx, nil
}

// account is the account of the run, with what it spent before it was interrupted.
func (m *middleware[M]) account(ctx context.Context) *Account {
	a := FromContext(ctx)
	if a == nil || a.owner != any(m) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.restored {
		return a
	}
	a.restored = true
	value, ok, err := adk.GetRunLocalValue(ctx, spentKey)
	if before, isSpent := value.(Spent); err == nil && ok && isSpent {
		a.own.add(before)
		a.began = a.began.Add(-before.WallTime)
		for x := a; x != nil && x.owner != nil; x = x.parent { // one that lasts longer than runs knows already
			x.spent.add(before)
		}
	}
	return a
}

// save keeps what the run spent, for when it is interrupted.
func (a *Account) save(ctx context.Context) error {
	a.mu.Lock()
	s := a.own
	s.WallTime = a.now().WallTime
	a.mu.Unlock()
	return adk.SetRunLocalValue(ctx, spentKey, s)
}

// BeforeModelRewriteState asks for the last answer, if a limit is reached.
func (m *middleware[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	a := m.account(ctx)
	if a == nil || state == nil {
		return ctx, state, nil
	}
	exceeded := a.Exceeded()
	if exceeded == nil {
		exceeded = a.noToolLeft()
	}
	if exceeded == nil || !m.conf.FinalAnswer || !a.takeFinal() {
		return ctx, state, nil
	}
	prompt := m.conf.FinalPrompt
	if prompt == "" {
		prompt = language.Select(finalPrompt, finalPromptChinese)
	}
	changed := *state
	changed.Messages = append(slices.Clip(state.Messages), message.NewUser[M](prompt))
	changed.ToolInfos, changed.DeferredToolInfos = nil, nil
	var limit *ExceededError
	errors.As(exceeded, &limit)
	return context.WithValue(ctx, finalKey{}, string(limit.Limit)), &changed, nil
}

// finalKey is the place where the context of the last turn has the limit.
type finalKey struct{}

// noToolLeft returns an error if no tool can be called any more.
func (a *Account) noToolLeft() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exceeded(Spent{ToolCalls: 1})
}

// takeFinal allows one more call of the model, once.
func (a *Account) takeFinal() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.final
	a.final = true
	return !taken
}

func (a *Account) finalTaken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.final
}

// AfterModelRewriteState keeps what was spent.
func (m *middleware[M]) AfterModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if a := m.account(ctx); a != nil {
		if err := errors.Join(a.store(ctx), a.save(ctx)); err != nil {
			return ctx, state, err
		}
	}
	return ctx, state, nil
}

// AfterAgent hands what was spent over to the run above.
func (m *middleware[M]) AfterAgent(ctx context.Context, _ *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	if a := m.account(ctx); a != nil && a.parent != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.parent.own.add(a.own)
		a.own = Spent{}
	}
	return ctx, nil
}

// WrapModel asks before each call, and counts what it took.
func (m *middleware[M]) WrapModel(
	ctx context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M],
) (model.BaseModel[M], error) {
	a := m.account(ctx)
	if a == nil {
		return inner, nil
	}
	l := &limitedModel[M]{pricing: m.pricing, account: a, inner: inner}
	if p, ok := inner.(model.HasProvider); ok {
		l.provider = p.Provider()
	}
	return l, nil
}

type limitedModel[M adk.MessageType] struct {
	pricing  *pricing
	account  *Account
	inner    model.BaseModel[M]
	provider string
}

// Provider returns who serves the model, for the middlewares around it.
func (l *limitedModel[M]) Provider() string { return l.provider }

// begin asks for a call.
func (l *limitedModel[M]) begin(ctx context.Context, opts []model.Option) (meter, error) {
	meter, err := l.pricing.begin(l.provider, opts, l.account.limitsMoney())
	if err != nil {
		return meter, err
	}
	return meter, l.account.begin(ctx, Spent{ModelCalls: 1})
}

func (l *limitedModel[M]) count(meter *meter, m M) {
	provider, name := message.Served(m)
	if s, ok := meter.more(message.Usage(m), message.Extra(m), served{provider, name}); ok {
		l.account.used(s)
	}
}

func (l *limitedModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (answer M, err error) {
	meter, err := l.begin(ctx, opts)
	if err != nil {
		return answer, err
	}
	answer, err = l.inner.Generate(ctx, input, opts...)
	var none M
	if answer == none {
		return answer, err
	}
	l.count(&meter, answer)
	if limit, final := ctx.Value(finalKey{}).(string); final && err == nil {
		answer = message.WithExtra(answer, cutShortKey, limit)
	}
	return answer, err
}

func (l *limitedModel[M]) Stream(
	ctx context.Context, input []M, opts ...model.Option,
) (*schema.StreamReader[M], error) {
	meter, err := l.begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	stream, err := l.inner.Stream(ctx, input, opts...)
	if err != nil || stream == nil {
		return stream, err
	}
	limit, mark := ctx.Value(finalKey{}).(string)
	return schema.StreamReaderWithConvert(stream, func(chunk M) (M, error) {
		l.count(&meter, chunk)
		var none M
		if mark && chunk != none {
			mark = false // once: the texts of chunks are joined
			chunk = message.WithExtra(chunk, cutShortKey, limit)
		}
		return chunk, nil
	}), nil
}
