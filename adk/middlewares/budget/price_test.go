package budget_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// prices are such that a prompt of 1000 tokens costs 1 at model "one", 2 at model "two", and so on.
var prices = catalogue.Static(map[catalogue.Key]catalogue.ModelInfo{
	{Provider: "p", Model: "one"}: {Price: &catalogue.Price{Input: 1000, Output: 100}},
	{Provider: "p", Model: "two"}: {Price: &catalogue.Price{Input: 2000, Output: 50,
		ServiceTiers: map[string]float64{"flex": 0.5}}},
	{Provider: "q", Model: "one"}:     {Price: &catalogue.Price{Input: 3000}},
	{Model: "four"}:                   {Price: &catalogue.Price{Input: 4000}},
	{Provider: "p", Model: "free"}:    {Price: &catalogue.Price{}},
	{Provider: "p", Model: "windows"}: {ContextWindow: 1000},
})

// serving is a model that says who serves it.
type serving[M adk.MessageType] struct {
	model.BaseModel[M]
	provider string
}

func (s serving[M]) Provider() string { return s.provider }

// report holds what a provider reports about an answer with 1000 tokens of the prompt.
type report struct {
	provider, model, cost, tier string
	noUsage                     bool
}

func answer[M adk.MessageType](text string, r report) M {
	m := messagetest.Assistant[M](text)
	var usage *schema.TokenUsage
	if !r.noUsage {
		usage = &schema.TokenUsage{PromptTokens: 1000, TotalTokens: 1000}
	}
	switch m := any(m).(type) {
	case *schema.Message:
		m.ResponseMeta = &schema.ResponseMeta{Usage: usage, Provider: r.provider, Model: r.model}
	case *schema.AgenticMessage:
		m.ResponseMeta = &schema.AgenticResponseMeta{TokenUsage: usage, Provider: r.provider, Model: r.model}
	}
	for key, value := range map[string]string{catalogue.ExtraCost: r.cost, catalogue.ExtraServiceTier: r.tier} {
		if value != "" {
			m = message.WithExtra(m, key, any(value))
		}
	}
	return m
}

func TestMoney_OfACall(t *testing.T) {
	messagetest.Both(t, testMoney[*schema.Message], testMoney[*schema.AgenticMessage])
}

func testMoney[M adk.MessageType](t *testing.T) {
	own := map[string]budget.Price{"one": {Input: 10_000}, "": {Input: 20_000}}
	for _, test := range []struct {
		name   string
		conf   budget.Config
		serves string // what the model says of itself
		asks   string // the model of the call
		report report
		want   float64
	}{
		{"provider and model of the config", budget.Config{Provider: "p", Model: "one"}, "", "", report{}, 1},
		{"the model says who serves it", budget.Config{Model: "one"}, "q", "", report{}, 3},
		{"the config counts before the model", budget.Config{Provider: "p", Model: "one"}, "q", "", report{}, 1},
		{"nobody knows who serves it", budget.Config{Model: "four"}, "", "", report{}, 4},
		{"the model of the call", budget.Config{Provider: "p", Model: "one"}, "", "two", report{}, 2},
		{"a router took another model", budget.Config{Model: "one"}, "p", "", report{model: "two"}, 2},
		{"a router took another provider", budget.Config{Model: "one"}, "p", "", report{provider: "q"}, 3},
		{"the config counts before the report", budget.Config{Provider: "p", Model: "one"}, "", "",
			report{provider: "q"}, 1},
		{"who answered is unknown", budget.Config{Provider: "p", Model: "one"}, "", "", report{model: "new"}, 1},
		{"a dated version", budget.Config{Provider: "p", Model: "two"}, "", "", report{model: "two-20250101"}, 2},
		{"a service tier", budget.Config{Provider: "p", Model: "two"}, "", "", report{tier: "flex"}, 1},
		{"a free model", budget.Config{Provider: "p", Model: "free"}, "", "", report{}, 0},
		{"the provider says what it costs", budget.Config{Provider: "p", Model: "one"}, "", "",
			report{cost: "0.125"}, 0.125},
		{"the provider says that it costs nothing", budget.Config{Provider: "p", Model: "one"}, "", "",
			report{cost: "0"}, 0},
		{"what the provider says is no amount", budget.Config{Provider: "p", Model: "one"}, "", "",
			report{cost: "much"}, 1},
		{"a cost without tokens", budget.Config{Provider: "p", Model: "one"}, "", "",
			report{cost: "0.125", noUsage: true}, 0.125},
		{"own prices before the catalogue", budget.Config{Prices: own, Provider: "p", Model: "one"}, "", "", report{}, 10},
		{"own prices hold for versions", budget.Config{Prices: own, Model: "one"}, "p", "",
			report{model: "two"}, 10},
		{"own price of who answered", budget.Config{Prices: own, Model: "two"}, "p", "", report{model: "one"}, 10},
		{"the catalogue before the price of all others", budget.Config{Prices: own, Provider: "p", Model: "two"}, "", "",
			report{}, 2},
		{"the price of all others", budget.Config{Prices: own, Provider: "p", Model: "new"}, "", "", report{}, 20},
		{"ignored", budget.Config{OnUnknownPrice: budget.UnknownPriceIgnore, Model: "new"}, "p", "", report{}, 0},
		{"ignored until who answered is known", budget.Config{OnUnknownPrice: budget.UnknownPriceIgnore}, "", "",
			report{provider: "p", model: "two"}, 2},
		{"ignored but reported", budget.Config{OnUnknownPrice: budget.UnknownPriceIgnore, Model: "new"}, "p", "",
			report{cost: "0.5"}, 0.5},
		{"estimated from own prices", budget.Config{OnUnknownPrice: budget.UnknownPriceEstimate,
			Prices: map[string]budget.Price{"a": {Input: 10_000}, "b": {Input: 30_000}}, Model: "new"}, "p", "", report{}, 30},
		{"estimated from the model of the config", budget.Config{OnUnknownPrice: budget.UnknownPriceEstimate,
			Provider: "p", Model: "two"}, "", "new", report{}, 2},
	} {
		for mode, ask := range map[string]asks[M]{"whole": adktest.Ask[M], "streamed": adktest.AskStreaming[M]} {
			t.Run(test.name+", "+mode, func(t *testing.T) {
				account := budget.NewAccount(budget.Limits{Money: 1000})
				conf := test.conf
				conf.Catalogue = prices
				var m model.BaseModel[M] = adktest.NewTypedModel[M](t, adktest.Messages(answer[M]("x", test.report)))
				if test.serves != "" {
					m = serving[M]{m, test.serves}
				}
				var opts []adk.AgentRunOption
				if test.asks != "" {
					opts = append(opts, adk.WithChatModelOptions([]model.Option{model.WithModel(test.asks)}))
				}
				ask(budget.NewContext(t.Context(), account), t, agentOf(t, m, made[M](t, conf)), "hi", opts...).ExpectText("x")
				require.InDelta(t, test.want, account.Spent().Money, 1e-9)
			})
		}
	}
}

// chunked is a model that streams the same chunks each time.
type chunked struct{ chunks []*schema.Message }

func (c chunked) Generate(_ context.Context, _ []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return schema.ConcatMessages(c.chunks)
}

func (c chunked) Stream(
	_ context.Context, _ []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray(c.chunks), nil
}

// TestMoney_OfAStreamIsThatOfTheWholeAnswer: also where a later chunk corrects an earlier one.
func TestMoney_OfAStreamIsThatOfTheWholeAnswer(t *testing.T) {
	used := func(prompt, completion int) *schema.ResponseMeta {
		return &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: prompt, CompletionTokens: completion}}
	}
	text := func(meta *schema.ResponseMeta, extra map[string]any) *schema.Message {
		return &schema.Message{Role: schema.Assistant, Content: "x", ResponseMeta: meta, Extra: extra}
	}
	for name, test := range map[string]struct {
		chunks []*schema.Message
		want   float64
	}{
		"running totals": {[]*schema.Message{text(used(1000, 0), nil), text(used(1000, 1000), nil),
			text(used(0, 2000), nil), text(nil, nil)}, 1.2},
		"the cost is reported later": {[]*schema.Message{text(used(1000, 2000), nil), text(nil, nil),
			text(nil, map[string]any{catalogue.ExtraCost: "0.75"})}, 0.75},
		"who answered is reported later": {[]*schema.Message{text(used(1000, 2000), nil),
			text(&schema.ResponseMeta{Model: "two"}, nil)}, 2.1},
		"the service tier is reported later": {[]*schema.Message{text(&schema.ResponseMeta{Model: "two"}, nil),
			text(used(1000, 2000), nil), text(nil, map[string]any{catalogue.ExtraServiceTier: "flex"})}, 1.05},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []asks[*schema.Message]{adktest.Ask[*schema.Message], adktest.AskStreaming[*schema.Message]} {
				account := budget.NewAccount(budget.Limits{})
				conf := budget.Config{Catalogue: prices, Provider: "p", Model: "one"}
				events := ask(budget.NewContext(t.Context(), account), t,
					agentOf(t, chunked{test.chunks}, made[*schema.Message](t, conf)), "hi")
				require.NoError(t, events.Err())
				require.InDelta(t, test.want, account.Spent().Money, 1e-9)
			}
		})
	}
}

func TestUnknownPrice_RefusesTheCallBeforeItIsMade(t *testing.T) {
	for name, conf := range map[string]budget.Config{
		"no prices":                  {},
		"not in the catalogue":       {Catalogue: prices, Provider: "p", Model: "new"},
		"no price in the catalogue":  {Catalogue: prices, Provider: "p", Model: "windows"},
		"of another provider":        {Catalogue: prices, Provider: "z", Model: "one"},
		"nobody knows who serves it": {Catalogue: prices, Model: "one"},
		"nobody knows the model":     {Catalogue: prices, Provider: "p"},
		"other own prices":           {Prices: map[string]budget.Price{"one": {Input: 1}}, Model: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := agentOf(t, adktest.NewModel(t), made[*schema.Message](t, conf))
			ctx := budget.NewContext(t.Context(), budget.NewAccount(budget.Limits{Money: 1}))
			require.ErrorContains(t, adktest.Ask(ctx, t, agent, "hi").Err(), "no price for model")

			agent = agentOf(t, adktest.NewModel(t, adktest.Says("x")), made[*schema.Message](t, conf))
			adktest.Ask(t.Context(), t, agent, "hi").ExpectText("x") // money is not limited
		})
	}
}

func TestNew_FailsWhereALimitOnMoneyCannotBeKept(t *testing.T) {
	limits := budget.Limits{Money: 1}
	own := map[string]budget.Price{"one": {Input: 1}}
	var none *nothing
	for name, test := range map[string]struct {
		conf  budget.Config
		fails string // empty: it does not
	}{
		"no prices": {budget.Config{Limits: limits}, "needs Prices or a Catalogue"},
		"known":     {budget.Config{Limits: limits, Catalogue: prices, Provider: "p", Model: "one"}, ""},
		"unknown": {budget.Config{Limits: limits, Catalogue: prices, Provider: "p", Model: "new"},
			`model "new" of provider "p"`},
		"unknown, no limit":          {budget.Config{Catalogue: prices, Provider: "p", Model: "new"}, ""},
		"the provider comes later":   {budget.Config{Limits: limits, Catalogue: prices, Model: "one"}, ""},
		"the model comes later":      {budget.Config{Limits: limits, Catalogue: prices, Provider: "p"}, ""},
		"own prices of other models": {budget.Config{Limits: limits, Prices: own, Model: "new"}, ""},
		"ignored":                    {budget.Config{Limits: limits, OnUnknownPrice: budget.UnknownPriceIgnore}, ""},
		"estimated from own prices":  {budget.Config{OnUnknownPrice: budget.UnknownPriceEstimate, Prices: own}, ""},
		"estimated from nothing": {budget.Config{OnUnknownPrice: budget.UnknownPriceEstimate, Catalogue: prices},
			"estimate from"},
		"a constant that is not one":  {budget.Config{OnUnknownPrice: "guess"}, `OnUnknownPrice is "guess"`},
		"a catalogue that is nothing": {budget.Config{Catalogue: none}, "nil pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := budget.New(t.Context(), &test.conf)
			if test.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.fails)
		})
	}
}

type nothing struct{}

func (*nothing) Lookup(string, string) (catalogue.ModelInfo, bool) {
	return catalogue.ModelInfo{}, false
}
