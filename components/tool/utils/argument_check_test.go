package utils

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/schema"
)

type order struct {
	Item     string `json:"item" jsonschema:"minLength=2"`
	Size     string `json:"size" jsonschema:"enum=small,enum=large"`
	Quantity int    `json:"quantity,omitempty" jsonschema:"minimum=1,maximum=10,default=1"`
	Code     string `json:"code,omitempty" jsonschema:"pattern=^[A-Z]+$"`
	Address  *struct {
		Street string `json:"street"`
		Floor  int    `json:"floor,omitempty" jsonschema:"default=2"`
	} `json:"address,omitempty"`
	Notes []string `json:"notes,omitempty" jsonschema:"maxItems=1"`
}

var orderCalls = map[string]string{
	`{"item":"tea","size":"small"}`:                          "",
	`{"item":"tea","size":"small","quantity":null}`:          "",
	`{"item":"tea","size":"small","address":{"street":"x"}}`: "",
	`{}`: "item is required; size is required",
	``:   "item is required; size is required",
	`{"item":"tea","size":"small","quantity":99}`:     "quantity must be at most 10",
	`{"item":"tea","quantity":11}`:                    "size is required; quantity must be at most 10",
	`{"item":"t","size":"huge"}`:                      `item must have at least 2 characters; size must be one of "small", "large"`,
	`{"item":"tea","size":"small","quantity":"two"}`:  "quantity must be of type integer, and is string",
	`{"item":"tea","size":"small","quantity":1.5}`:    "quantity must be of type integer, and is number",
	`{"item":"tea","size":"small","code":"ab"}`:       "code must match ^[A-Z]+$",
	`{"item":"tea","size":"small","address":{}}`:      "address.street is required",
	`{"item":"tea","size":"small","notes":["a","b"]}`: "notes must have at most 1 elements",
	`{"item":"tea","size":"small","notes":[1]}`:       "notes[0] must be of type string, and is number",
	`{"item":"tea","size":"small","bogus":1}`:         "bogus is unknown (known: item, size, quantity, code, address, notes)",
	`[]`:                               "the value must be of type object, and is array",
	`{"item":"tea"`:                    "the arguments are not valid JSON: unexpected EOF",
	`{"item":"tea","size":"small"} {}`: "the arguments are not valid JSON: there is more after the JSON value, at character 31",
	`{"item":"tea","size":"small","quantity":12345678901234567890}`: "quantity must be at most 10",
}

// Every kind of tool checks its arguments in the same way: by its own option, or because the agent wants it.
func TestArgumentCheck_NamesEveryField(t *testing.T) {
	var got order
	keep := func(_ context.Context, o order) (string, error) { got = o; return "ok", nil }
	kept := func(opts ...Option) tool.InvokableTool {
		built, err := InferTool("order", "", keep, opts...)
		require.NoError(t, err)
		return built
	}
	asked := context.WithValue(background, modelmistake.CheckKey{}, true)
	for arguments, want := range orderCalls {
		for _, run := range []func() (string, error){
			func() (string, error) { return kept(WithArgumentCheck()).InvokableRun(background, arguments) },
			func() (string, error) { return kept().InvokableRun(asked, arguments) },
		} {
			got = order{}
			text, err := run()
			if want == "" {
				require.NoError(t, err, arguments)
				require.Equal(t, "ok", text)
				require.Equal(t, 1, got.Quantity, "the default is applied")
				require.Equal(t, got.Address != nil, got.Address != nil && got.Address.Floor == 2)
				continue
			}
			var wrong *tool.ArgumentsError
			require.ErrorAs(t, err, &wrong, arguments)
			require.Equal(t, want, wrong.Error())
			require.ErrorContains(t, err, "[LocalFunc] ")
			require.Zero(t, got, "the function was called")
		}
	}
}

func TestArgumentCheck_WithoutItToolsTakeWhatTheyCanDecode(t *testing.T) {
	built, err := InferTool("order", "", func(_ context.Context, o order) (int, error) { return o.Quantity, nil })
	require.NoError(t, err)
	text, err := built.InvokableRun(context.WithValue(background, modelmistake.CheckKey{}, false),
		`{"item":"t","bogus":1,"quantity":99}`)
	require.NoError(t, err)
	require.Equal(t, "99", text)
}

func TestArgumentCheck_EveryKindOfTool(t *testing.T) {
	const arguments, want = `{"item":"tea"}`, "the arguments do not fit the schema, toolName=order, err=size is required"
	failing := func(_ string, err error) {
		t.Helper()
		require.ErrorContains(t, err, want)
	}
	text := func(context.Context, order) (string, error) { panic("called") }
	stream := func(context.Context, order) (*schema.StreamReader[string], error) { panic("called") }
	result := func(context.Context, order) (*schema.ToolResult, error) { panic("called") }
	results := func(context.Context, order) (*schema.StreamReader[*schema.ToolResult], error) { panic("called") }
	argument := &schema.ToolArgument{Text: arguments}
	a, _ := InferTool("order", "", text, WithArgumentCheck())
	failing(a.InvokableRun(background, arguments))
	b, _ := InferOptionableTool("order", "",
		func(ctx context.Context, o order, _ ...tool.Option) (string, error) { return text(ctx, o) }, WithArgumentCheck())
	failing(b.InvokableRun(background, arguments))
	c, _ := InferStreamTool("order", "", stream, WithArgumentCheck())
	_, err := c.StreamableRun(background, arguments)
	failing("", err)
	d, _ := InferEnhancedTool("order", "", result, WithArgumentCheck())
	_, err = d.InvokableRun(background, argument)
	failing("", err)
	e, _ := InferEnhancedStreamTool("order", "", results, WithArgumentCheck())
	_, err = e.StreamableRun(background, argument)
	failing("", err)
	// A schema made by hand counts as well, in both of its forms; a tool without one is not checked.
	byHand := &schema.ToolInfo{Name: "order", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"item": {Type: schema.String}, "size": {Type: schema.String, Required: true},
	})}
	failing(NewTool(byHand, text, WithArgumentCheck()).InvokableRun(background, arguments))
	free := NewTool(&schema.ToolInfo{Name: "free"},
		func(_ context.Context, in map[string]any) (int, error) { return len(in), nil }, WithArgumentCheck())
	got, err := free.InvokableRun(background, arguments)
	require.NoError(t, err)
	require.Equal(t, "1", got)
}

// What cannot be decoded names the field without the check, too: by the schema, or by the Go type where the schema says
// nothing.
func TestDecode_TypeMismatchNamesTheField(t *testing.T) {
	built, err := InferTool("order", "", func(context.Context, order) (string, error) { return "", nil })
	require.NoError(t, err)
	_, err = built.InvokableRun(background, `{"item":"tea","size":"small","quantity":"two"}`)
	require.EqualError(t, err,
		"[LocalFunc] failed to unmarshal arguments in json, toolName=order, err=quantity must be of type integer, and is string")
	var wrong *tool.ArgumentsError
	require.ErrorAs(t, err, &wrong)
	require.NotNil(t, wrong.Err)

	loose := NewTool(infoOf("loose"), func(context.Context, order) (string, error) { return "", nil })
	_, err = loose.InvokableRun(background, `{"address":{"floor":"top"}}`)
	require.ErrorContains(t, err, "address.floor must be of Go type int, and is string")
	_, err = loose.InvokableRun(background, `no`)
	require.ErrorContains(t, err, "the arguments are not valid JSON: ")
	require.NotContains(t, err.Error(), "\n")
}

type strictHour int

func (h *strictHour) UnmarshalJSON(data []byte) error {
	var n int
	if err := json.Unmarshal(data, &n); err != nil || n > 23 {
		return errors.New("an hour is at most 23")
	}
	if n == 13 {
		panic("thirteen")
	}
	*h = strictHour(n)
	return nil
}

func TestDecode_ErrorsOfTheTypeItself(t *testing.T) {
	built, err := InferTool("alarm", "", func(context.Context, struct {
		Hour strictHour `json:"hour"`
	},
	) (string, error) {
		return "", nil
	}, WithArgumentCheck())
	require.NoError(t, err)
	_, err = built.InvokableRun(background, `{"hour":24}`)
	require.ErrorContains(t, err, "an hour is at most 23")
	require.ErrorAs(t, err, new(*tool.ArgumentsError))
	_, err = built.InvokableRun(background, `{"hour":13}`)
	require.ErrorContains(t, err, "thirteen")
	require.NotErrorAs(t, err, new(*tool.ArgumentsError), "a panic is a fault of the program")
}

func TestWithUnmarshalArguments_DecidesAlone(t *testing.T) {
	refused := errors.New("refused")
	built, err := InferTool("order", "", func(_ context.Context, o order) (string, error) { return o.Item, nil },
		WithArgumentCheck(),
		WithUnmarshalArguments(func(_ context.Context, arguments string) (any, error) {
			if arguments == "no" {
				return nil, refused
			}
			return order{Item: arguments}, nil
		}))
	require.NoError(t, err)
	got, err := built.InvokableRun(background, "x")
	require.NoError(t, err)
	require.Equal(t, "x", got)
	_, err = built.InvokableRun(background, "no")
	require.ErrorIs(t, err, refused)
	require.ErrorAs(t, err, new(*tool.ArgumentsError))
	require.EqualError(t, err, "[LocalFunc] failed to unmarshal arguments, toolName=order, err=refused")
}

// Models write nothing for a tool that requires nothing, also where the arguments are not checked.
func TestArguments_NothingIsAnEmptyObject(t *testing.T) {
	ran := 0
	built, err := InferTool("now", "", func(context.Context, struct {
		Zone string `json:"zone,omitempty"`
	}) (string, error) {
		ran++
		return "noon", nil
	})
	require.NoError(t, err)
	asked := context.WithValue(background, modelmistake.CheckKey{}, true)
	for i, arguments := range []string{"", " \n", "null", "{}"} {
		for j, ctx := range []context.Context{background, asked} {
			got, err := built.InvokableRun(ctx, arguments)
			require.NoError(t, err, "%q", arguments)
			require.Equal(t, "noon", got)
			require.Equal(t, 2*i+j+1, ran)
		}
	}
	in, err := DecodeArguments[order](background, nil, "", false)
	require.NoError(t, err)
	require.Zero(t, in)
}

// 5.0 and 1e2 are integers for a schema, and so for the Go type.
func TestArguments_IntegersWithFractionOrExponent(t *testing.T) {
	type in struct {
		N     int            `json:"n"`
		Small *uint8         `json:"small,omitempty"`
		List  []int64        `json:"list,omitempty"`
		Named map[string]int `json:"named,omitempty"`
		Text  string         `json:"text,omitempty"`
		Ratio float64        `json:"ratio,omitempty"`
	}
	var got in
	twentyFive := uint8(25)
	built, err := InferTool("count", "", func(_ context.Context, i in) (string, error) { got = i; return "", nil })
	require.NoError(t, err)
	asked := context.WithValue(background, modelmistake.CheckKey{}, true)
	for _, ctx := range []context.Context{background, asked} {
		_, err = built.InvokableRun(ctx, `{"n":5.0,"small":2.5e1,"list":[1e2,-3.00],"named":{"5.0":7.0},"text":"8.0 \" 9.0","ratio":1.0}`)
		require.NoError(t, err)
		require.Equal(t, in{N: 5, Small: &twentyFive, List: []int64{100, -3}, Named: map[string]int{"5.0": 7},
			Text: `8.0 " 9.0`, Ratio: 1}, got)
		for _, arguments := range []string{`{"n":5.5}`, `{"n":1e-1}`, `{"n":5.0,"small":256.0}`, `{"n":1e30}`} {
			_, err = built.InvokableRun(ctx, arguments)
			require.ErrorAs(t, err, new(*tool.ArgumentsError), arguments)
		}
	}
}
