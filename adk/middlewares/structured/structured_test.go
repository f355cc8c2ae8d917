package structured_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/structured"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

type forecast struct {
	City  string  `json:"city"`
	Sky   string  `json:"sky" jsonschema:"enum=sun,enum=rain"`
	Hours []int   `json:"hours,omitempty" jsonschema:"maxItems=2"`
	Note  *string `json:"note,omitempty"`
	Rain  float64 `json:"rain,omitempty" jsonschema:"minimum=0,maximum=1"`
	Inner struct {
		Yes bool `json:"yes"`
	} `json:"inner,omitempty"`
}

func made[T any](t testing.TB, c *structured.Config[T]) *structured.Output[T] {
	t.Helper()
	o, err := structured.New(c)
	require.NoError(t, err)
	return o
}

func TestConfig(t *testing.T) {
	minus := -1
	for _, c := range []*structured.Config[forecast]{{Mode: 9}, {Mode: structured.Native}, {MaxRepairs: &minus}} {
		_, err := structured.New(c)
		require.ErrorContains(t, err, "structured: ")
	}
	_, err := structured.New[chan int](nil)
	require.ErrorContains(t, err, "structured: ")
	type loop struct{ Next *loop }
	_, err = structured.New[loop](nil)
	require.ErrorContains(t, err, "structured: ")
	_, err = structured.New(&structured.Config[int]{Mode: structured.Native,
		NativeOptions: func(*jsonschema.Schema) []model.Option { panic("boom") }})
	require.ErrorContains(t, err, "boom")
}

func TestParse(t *testing.T) {
	o := made[forecast](t, nil)
	for in, want := range map[string]string{
		`{"city":"Lisbon","sky":"sun"}`: "",
		"Here it is:\n```json\n{\"city\":\"a\",\"sky\":\"rain\",\"hours\":[1,2],\"rain\":0.5}\n```\nBye": "",
		`Sure! {"city":"a","sky":"rain","note":null} Anything else?`:                                     "",
		``:                                       "it is empty",
		`no`:                                     "it is no JSON",
		`[]`:                                     "the value must be of type object, and is array",
		`{"sky":"sun"}`:                          "city is required",
		`{"city":null,"sky":"sun"}`:              "city must be of type string, and is null",
		`{"city":1,"sky":"sun"}`:                 "city must be of type string, and is number",
		`{"city":"a","sky":"snow"}`:              "sky must be one of \"sun\", \"rain\"",
		`{"city":"a","sky":"sun","hours":[1.5]}`: "hours[0] must be of type integer",
		`{"city":"a","sky":"sun","hours":[1,2,3]}`: "hours must have at most 2 elements",
		`{"city":"a","sky":"sun","rain":2}`:        "rain must be at most 1",
		`{"city":"a","sky":"sun","inner":{}}`:      "inner.yes is required",
		`{"city":"a","sky":"sun","other":1}`:       "other is unknown",
	} {
		v, err := o.Parse(t.Context(), in)
		if want == "" {
			require.NoError(t, err, in)
			require.NotEmpty(t, v.City)
			continue
		}
		var invalid *structured.InvalidError
		require.ErrorAs(t, err, &invalid, in)
		require.Equal(t, in, invalid.Text)
		require.ErrorContains(t, err, want)
	}
}

func TestParse_ValuesOfEveryType(t *testing.T) {
	ctx := t.Context()
	for _, text := range []string{"7", `{"result":7}`} {
		n, err := made[int](t, nil).Parse(ctx, text)
		require.NoError(t, err)
		require.Equal(t, 7, n)
	}
	list, err := made[[]string](t, nil).Parse(ctx, `["a","b"]`)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, list)
	m, err := made[map[string]int](t, nil).Parse(ctx, `{"result":1}`)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"result": 1}, m)
	p, err := made[*forecast](t, nil).Parse(ctx, `{"city":"a","sky":"sun"}`)
	require.NoError(t, err)
	require.Equal(t, "a", p.City)
	_, err = made[int](t, nil).Parse(ctx, `"x"`)
	require.Error(t, err)
	_, err = made(t, &structured.Config[int]{Check: func(context.Context, int) error { panic("odd") }}).Parse(ctx, "1")
	require.ErrorContains(t, err, "odd")
}

func run[M adk.MessageType, T any](
	t *testing.T, o *structured.Output[T], streaming bool, m model.BaseModel[M], tools ...tool.BaseTool,
) (T, error) {
	t.Helper()
	agent, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: "a", Model: m, ToolsConfig: adktest.Tools(tools...),
			Handlers: []adk.TypedChatModelAgentMiddleware[M]{structured.TypedHandler[M](o)}})
	require.NoError(t, err)
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: streaming})
	return structured.Read(t.Context(), o, runner.Query(t.Context(), "hi"))
}

func TestTool(t *testing.T) {
	messagetest.Both(t, testTool[*schema.Message], testTool[*schema.AgenticMessage])
}

func testTool[M adk.MessageType](t *testing.T) {
	const good = `{"city":"Lisbon","sky":"sun"}`
	o := made(t, &structured.Config[forecast]{Description: "A forecast."})
	for _, streaming := range []bool{false, true} {
		for name, script := range map[string][]adktest.Answer{
			"at once":      {adktest.Calls(adktest.Call("final_answer", good)).Offered("t", "final_answer")},
			"after a tool": {adktest.Calls(adktest.Call("t", "{}")), adktest.Calls(adktest.Call("final_answer", good))},
			"with a tool":  {adktest.Calls(adktest.Call("final_answer", good), adktest.Call("t", "{}"))},
			"repaired": {adktest.Calls(adktest.Call("final_answer", `{"sky":"sun"}`)),
				adktest.Calls(adktest.Call("final_answer",
					good)).SeeingLast("tool final_answer#call_1: The answer is not valid: city is required. Call the tool again with the whole answer.")},
			"asked to call it": {adktest.Says("Sunny."),
				adktest.Calls(adktest.Call("final_answer",
					good)).SeeingLast("user: This is no final answer: it is no JSON: invalid character 'S' looking for beginning of value. Call the tool final_answer to give it.")},
			"as a text": {adktest.Says(good)},
		} {
			t.Run(name, func(t *testing.T) {
				v, err := run[M](t, o, streaming, adktest.NewTypedModel[M](t, script...), adktest.NewTool("t"))
				require.NoError(t, err)
				require.Equal(t, "Lisbon", v.City)
			})
		}
	}
	one := 1
	o = made(t, &structured.Config[forecast]{MaxRepairs: &one,
		Check: func(_ context.Context, f forecast) error { return errors.New("no such city") }})
	_, err := run[M](t, o, true, adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("final_answer", good)),
		adktest.Calls(adktest.Call("final_answer", good))))
	var invalid *structured.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []string{"no such city"}, invalid.Problems)
}

func TestPromptAndNative(t *testing.T) {
	messagetest.Both(t, testPromptAndNative[*schema.Message], testPromptAndNative[*schema.AgenticMessage])
}

type format struct{ schema *jsonschema.Schema }

func testPromptAndNative[M adk.MessageType](t *testing.T) {
	native := func(s *jsonschema.Schema) []model.Option {
		return []model.Option{model.WrapImplSpecificOptFn(func(f *format) { f.schema = s })}
	}
	for _, streaming := range []bool{false, true} {
		for _, c := range []*structured.Config[[]int]{{Mode: structured.Prompt, Description: "Numbers."},
			{Mode: structured.Native, NativeOptions: native}} {
			o := made(t, c)
			m := adktest.NewTypedModel[M](t, adktest.Says("none"), adktest.Streams(`{"result":`, `[1,2]}`))
			v, err := run[M](t, o, streaming, m)
			require.NoError(t, err)
			require.Equal(t, []int{1, 2}, v)
			calls := m.Calls()
			if c.Mode == structured.Native {
				require.Same(t, o.Schema(), model.GetImplSpecificOptions(&format{}, calls[0].Implementation...).schema)
				require.Equal(t, "user: hi", calls[0].Lines[0])
			} else {
				require.Contains(t, calls[0].Lines[0], "system: Numbers.\n\nYour final answer must be")
				require.Contains(t, calls[0].Lines[0], `"type":"array"`)
			}
			require.Contains(t, calls[1].Lines[len(calls[1].Lines)-1], "user: This is no valid answer: it is no JSON")
		}
	}
}

// TestCutOffAnswer_IsNoValue: what can be read of an answer that was cut off may be a part of what the model meant.
func TestCutOffAnswer_IsNoValue(t *testing.T) {
	messagetest.Both(t, testCutOffAnswer[*schema.Message], testCutOffAnswer[*schema.AgenticMessage])
}

func testCutOffAnswer[M adk.MessageType](t *testing.T) {
	const whole, part = `{"result":1234}`, `12`
	for _, streaming := range []bool{false, true} {
		o := made(t, &structured.Config[int]{Mode: structured.Prompt})
		v, err := run[M](t, o, streaming, adktest.NewTypedModel[M](t, adktest.Says(part).Finishing("max_tokens"),
			adktest.Says(whole).SeeingLast("user: This is no valid answer: it was cut off (max_tokens) before it was complete. Give the whole answer again, as JSON that fits the schema.")))
		require.NoError(t, err)
		require.Equal(t, 1234, v)
		o = made(t, &structured.Config[int]{})
		v, err = run[M](t, o, streaming, adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("final_answer", `{"result":12}`)).Finishing("length"), adktest.Calls(adktest.Call("final_answer", whole))))
		require.NoError(t, err)
		require.Equal(t, 1234, v)
		none := 0
		o = made(t, &structured.Config[int]{Mode: structured.Prompt, MaxRepairs: &none})
		_, err = run[M](t, o, streaming, adktest.NewTypedModel[M](t, adktest.Says(part).Finishing("length")))
		require.ErrorContains(t, err, "it was cut off (length)")
	}
}

func TestRead_Failures(t *testing.T) {
	o := made[int](t, nil)
	boom := errors.New("boom")
	_, err := run[*schema.Message](t, o, false, adktest.NewModel(t, adktest.Fails(boom)))
	require.ErrorIs(t, err, boom)
}

func TestOtherToolsThatEndTheRun(t *testing.T) {
	o := made[int](t, nil)
	agent, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "a", Exit: adk.ExitTool{}, Handlers: []adk.ChatModelAgentMiddleware{o.Handler()},
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("exit", `{"final_result":"bye"}`)))})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "hi").ExpectNoError()
}

func TestCosts(t *testing.T) {
	h := made[forecast](t, nil).Handler()
	state := &adk.ChatModelAgentState{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = h.BeforeModelRewriteState(t.Context(), state, nil)
		_, _ = h.WrapModel(t.Context(), nil, nil)
	}))
}

func FuzzParse(f *testing.F) {
	f.Add("```json\n{}\n```")
	f.Add(`{"city":"a","sky":"sun","hours":[1]}`)
	o, err := structured.New[forecast](nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := o.Parse(context.Background(), text)
		var invalid *structured.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		if err == nil && v.Sky != "sun" && v.Sky != "rain" {
			t.Fatalf("%q gave %+v", text, v)
		}
	})
}

func TestOf_IsTheSchemaOfAText(t *testing.T) {
	o, err := structured.Of([]byte(`{"type":"object","required":["sky"],"properties":{"sky":{"$ref":"#/$defs/s"}},`+
		`"$defs":{"s":{"enum":["sun","rain"]}}}`), nil)
	require.NoError(t, err)
	require.Equal(t, "object", o.Schema().Type)
	value, err := o.Parse(t.Context(), "Here: ```json\n{\"sky\": \"sun\"}\n```")
	require.NoError(t, err)
	require.Equal(t, `{"sky": "sun"}`, string(value))
	for text, want := range map[string]string{`{}`: "sky is required", `{"sky":"snow"}`: "sky must be one of", `no`: "no JSON"} {
		_, err := o.Parse(t.Context(), text)
		require.ErrorContains(t, err, want)
	}
	for _, mode := range []structured.Mode{structured.Tool, structured.Prompt} {
		for text, isGood := range map[string]bool{``: false, `{`: false, `7`: false, `[]`: false, `{"type":"object"}`: true,
			`{"type":"array"}`: mode == structured.Prompt, `{}`: mode == structured.Prompt} {
			_, err := structured.Of([]byte(text), &structured.Config[json.RawMessage]{Mode: mode})
			require.Equal(t, isGood, err == nil, "%s in mode %d: %v", text, mode, err)
		}
	}
}

// The schema of a text is given to the model in each way.
func TestOf_HasAgentsEndWithAValue(t *testing.T) {
	messagetest.Both(t, endsWithRaw[*schema.Message], endsWithRaw[*schema.AgenticMessage])
}

func endsWithRaw[M adk.MessageType](t *testing.T) {
	const text = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	for mode, replies := range map[structured.Mode][]adktest.Answer{
		structured.Tool:   {adktest.Calls(adktest.Call("final_answer", `{"n":"x"}`)), adktest.Calls(adktest.Call("final_answer", `{"n":1}`))},
		structured.Prompt: {adktest.Says(`{"n":"x"}`), adktest.Says(`{"n":1}`)},
	} {
		o, err := structured.Of([]byte(text), &structured.Config[json.RawMessage]{Mode: mode})
		require.NoError(t, err)
		value, err := run(t, o, false, adktest.NewTypedModel[M](t, replies...))
		require.NoError(t, err)
		require.Equal(t, `{"n":1}`, string(value))
	}
}

// 5.0 and 1e2 are integers for a schema, and so for the Go type.
func TestParse_IntegersWithFractionOrExponent(t *testing.T) {
	type report struct {
		Count int   `json:"count"`
		Sizes []int `json:"sizes"`
	}
	o, err := structured.New[report](nil)
	require.NoError(t, err)
	got, err := o.Parse(t.Context(), `{"count":5.0,"sizes":[1e2,3]}`)
	require.NoError(t, err)
	require.Equal(t, report{Count: 5, Sizes: []int{100, 3}}, got)
	n, err := structured.New[int](nil)
	require.NoError(t, err)
	wrapped, err := n.Parse(t.Context(), "7.0")
	require.NoError(t, err)
	require.Equal(t, 7, wrapped)
	_, err = o.Parse(t.Context(), `{"count":5.5,"sizes":[]}`)
	require.ErrorAs(t, err, new(*structured.InvalidError))
}
