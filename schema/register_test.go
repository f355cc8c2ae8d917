package schema

import (
	"bytes"
	"encoding/gob"
	stdjson "encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema/openai"
)

type registered struct{ N int }

// gobbed is v after a trip through gob, inside an interface.
func gobbed(t *testing.T, v any) any {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(map[string]any{"v": v}))
	var got map[string]any
	require.NoError(t, gob.NewDecoder(&buf).Decode(&got))
	return got["v"]
}

// serialized is v after a trip through the serializer of graph checkpoints.
func serialized(t *testing.T, v any) any {
	t.Helper()
	var s serialization.InternalSerializer
	data, err := s.Marshal(v)
	require.NoError(t, err)
	var got any
	require.NoError(t, s.Unmarshal(data, &got))
	return got
}

func requireBoth(t *testing.T, v any) {
	t.Helper()
	require.Equal(t, v, gobbed(t, v))
	require.Equal(t, v, serialized(t, v))
}

// Rule schema/R1.
func TestRegister_RegistersWithBothEncodings(t *testing.T) {
	type byName struct{ N int }
	type byPointer struct{ N int }
	RegisterName[byName]("both byName")
	RegisterName[*byPointer]("both byPointer")
	Register[registered]()
	requireBoth(t, byName{1})
	requireBoth(t, &byPointer{1})
	requireBoth(t, registered{1})
	require.Equal(t, byPointer{1}, serialized(t, byPointer{1}), "T and *T are one type")
}

// Rules schema/R2, schema/B15.5.2.
func TestRegister_NamesByImportPath(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"github.com/weftgo/weft/schema.registered":  reflect.TypeFor[registered](),
		"*github.com/weftgo/weft/schema.registered": reflect.TypeFor[*registered](),
		"map[string]int":          reflect.TypeFor[map[string]int](),
		"*map[string]int":         reflect.TypeFor[*map[string]int](),
		"int":                     reflect.TypeFor[int](),
		"*int":                    reflect.TypeFor[*int](),
		"bytes.Buffer":            reflect.TypeFor[bytes.Buffer](),
		"*bytes.Buffer":           reflect.TypeFor[*bytes.Buffer](),
		"map[string]interface {}": reflect.TypeFor[map[string]any](),
		"[]github.com/weftgo/weft/schema.registered": reflect.TypeFor[[]registered](),
	} {
		require.Equal(t, want, defaultName(typ))
	}
	require.Equal(t, "map[[2]int][]*github.com/weftgo/weft/schema/openai.Reasoning",
		defaultName(reflect.TypeFor[map[[2]int][]*openai.Reasoning]()))
}

func panicText(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// Rules schema/R3, schema/B15.5.2, schema/B15.5.3.
func TestRegister_PanicsOnConflictsAndLeavesNothingBehind(t *testing.T) {
	type a struct{ A int }
	type b struct{ B int }
	RegisterName[a]("conflict a")
	RegisterName[a]("conflict a")
	require.Equal(t, "key[conflict a] already registered to schema.a", panicText(func() { RegisterName[b]("conflict a") }))
	require.Equal(t, "type[schema.a] already registered to conflict a",
		panicText(func() { RegisterName[a]("conflict other") }))
	require.Equal(t, "type[schema.a] already registered to conflict a", panicText(Register[*a]))
	require.Equal(t, "type[schema.Message] already registered to _eino_message",
		panicText(func() { RegisterName[Message]("mine") }))
	requireBoth(t, a{1})

	// What gob knows under another name. Registrations stay, so each run of the test takes a type of its own.
	n := registrations.Add(1)
	known, taken := fmt.Sprint("conflict gob ", n), fmt.Sprint("conflict b ", n)
	fresh := reflect.StructOf([]reflect.StructField{{Name: fmt.Sprint("B", n), Type: reflect.TypeFor[int]()}})
	gob.RegisterName(known, reflect.Zero(fresh).Interface())
	require.ErrorContains(t, register(fresh, taken), "gob: registering duplicate names")
	require.Contains(t, panicText(func() { RegisterName[registered](known) }), "already registered to")
	require.NoError(t, register(fresh, known), "something was left behind by the failures")
	v := reflect.New(fresh).Elem()
	v.Field(0).SetInt(1)
	requireBoth(t, v.Interface())
}

// registrations counts the types that tests have made.
var registrations atomic.Int64

// Rules schema/R4, schema/B15.5.2.
func TestRegister_TakesCompositeTypesAgainAndAgain(t *testing.T) {
	type local struct{ N int }
	type stringer interface{ String() string }
	for range 2 {
		Register[[]int]()
		Register[map[string]any]()
		Register[[]Message]()
		Register[[]*local]()
		Register[[]local]()
		Register[[3]local]()
		Register[stringer]()
		Register[any]()
		Register[int]()
	}
	requireBoth(t, []local{{1}})
	requireBoth(t, []*local{{1}})
	requireBoth(t, [3]local{{1}, {2}, {3}})
	requireBoth(t, []Message{{Role: User}})
	require.Equal(t, []stringer{nil, UserMessage("x")}, serialized(t, []stringer{nil, UserMessage("x")}))
}

// Rule schema/R5.
func TestRegister_MessageTypesKeepTheirNames(t *testing.T) {
	var s serialization.InternalSerializer
	for name, want := range map[string]any{
		"*_eino_message": &Message{}, "_eino_message_slice": []*Message{nil}, "*_eino_agentic_message": &AgenticMessage{},
		"_eino_agentic_message_slice": []*AgenticMessage{nil}, "_eino_document": Document{}, "_eino_role_type": User,
		"_eino_tool_call": ToolCall{}, "_eino_function_call": FunctionCall{}, "_eino_response_meta": ResponseMeta{},
		"_eino_token_usage": TokenUsage{}, "_eino_log_probs": LogProbs{}, "_eino_chat_message_part": ChatMessagePart{},
		"_eino_chat_message_type": ChatMessagePartTypeText, "_eino_chat_message_image_url": ChatMessageImageURL{},
		"_eino_chat_message_audio_url": ChatMessageAudioURL{}, "_eino_chat_message_video_url": ChatMessageVideoURL{},
		"_eino_chat_message_file_url": ChatMessageFileURL{}, "_eino_message_input_part": MessageInputPart{},
		"_eino_message_input_image": MessageInputImage{}, "_eino_message_input_audio": MessageInputAudio{},
		"_eino_message_input_video": MessageInputVideo{}, "_eino_message_input_file": MessageInputFile{},
		"_eino_message_output_part": MessageOutputPart{}, "_eino_message_output_image": MessageOutputImage{},
		"_eino_message_output_audio": MessageOutputAudio{}, "_eino_message_output_video": MessageOutputVideo{},
		"_eino_message_part_common": MessagePartCommon{}, "_eino_image_url_detail": ImageURLDetailHigh,
		"_eino_prompt_token_details": PromptTokenDetails{},
	} {
		data, err := s.Marshal(want)
		require.NoError(t, err)
		require.Contains(t, string(data), `["`+name+`",`)
		require.Equal(t, want, serialized(t, want))
		if reflect.TypeOf(want).Kind() != reflect.Slice { // gob knows no nil elements
			require.Equal(t, want, gobbed(t, want), name)
		}
	}
}

func message() *Message {
	return &Message{
		Role: Assistant, Content: "text", Name: "n", ReasoningContent: "why",
		ToolCalls: []ToolCall{{Index: new(int), ID: "1", Function: FunctionCall{"f", "{}"},
			Extra: map[string]any{"a": []string{"x"}}}},
		AssistantGenMultiContent: []MessageOutputPart{{
			Type: ChatMessagePartTypeImageURL, Image: &MessageOutputImage{MessagePartCommon{URL: new(string)}},
			StreamingMeta: &MessageStreamingMeta{Index: 3},
		}},
		ResponseMeta: &ResponseMeta{FinishReason: "stop", Usage: &TokenUsage{TotalTokens: 7}},
		Extra: map[string]any{"n": 1, "f": 1.5, "s": "x", "list": []any{nil, 1}, "map": map[string]any{"a": nil},
			"when": time.Second},
	}
}

// Rule schema/R22.
func TestSerializer_KeepsMessagesWhole(t *testing.T) {
	require.Equal(t, message(), serialized(t, message()), "with fields that JSON leaves out and pointers to zero")
	var decoded Message
	var s serialization.InternalSerializer
	data, err := s.Marshal(message())
	require.NoError(t, err)
	require.NoError(t, s.Unmarshal(data, &decoded))
	require.Equal(t, *message(), decoded)
	copied, err := serialization.Copy(message())
	require.NoError(t, err)
	require.Equal(t, message(), copied)
}

// What gob alone would lose is kept: pointers to zero, pointers in interfaces, nil elements.
// Rules schema/R22, schema/B15.5.8.
func TestSerializer_KeepsWhatGobLoses(t *testing.T) {
	code := int64(0)
	for _, v := range []any{
		ToolCall{Index: new(int)},
		&AgenticMessage{ContentBlocks: []*ContentBlock{nil,
			NewContentBlock(&MCPToolResult{Error: &MCPToolCallError{Code: &code}})}},
		&AgenticMessage{ContentBlocks: []*ContentBlock{NewContentBlock(&Reasoning{
			OpenAIExtension: &openai.ReasoningExtension{Content: []*openai.ReasoningContent{{Index: new(int), Text: "t"}, nil}},
		})}},
		MessagePartCommon{URL: new(string), Base64Data: new(string)},
		&Document{ID: "d"}, Document{ID: "d"}, []*Document{nil, {ID: "d"}},
		[]*Message{nil, {}}, []*AgenticMessage{{}, nil},
		map[string]any{"document": &Document{ID: "d"}, "none": (*Message)(nil)},
	} {
		require.Equal(t, v, serialized(t, v))
	}
}

// Rule schema/R20.
func TestGob_KeepsMessages(t *testing.T) {
	msg := &Message{Role: User, Content: "x", Extra: map[string]any{"n": 1, "s": "x", "l": []string{"a"}, "nil": nil}}
	require.Equal(t, msg, gobbed(t, msg))
	require.Equal(t, []*Message{msg}, gobbed(t, []*Message{msg}))
	agentic := UserAgenticMessage("hello")
	require.Equal(t, agentic, gobbed(t, agentic))
}

// Rules schema/R21, schema/B15.5.8.
func TestGob_CommonTypesAreRegistered(t *testing.T) {
	for _, v := range []any{
		map[string]any{"a": []any{"x", 1}}, []any{1, "a"}, []map[string]any{{"a": 1}}, map[string]string{"a": "b"},
		map[int]float64{1: 0.5}, []*Document{{ID: "d"}}, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
		ToolInfo{Name: "t"}, ToolResult{Parts: []ToolOutputPart{{Type: ToolPartTypeText, Text: "x"}}},
		TokenUsage{TotalTokens: 1},
	} {
		requireBoth(t, v)
	}
}

// Rules schema/R21, schema/B15.5.8.
func TestGob_CommonTypesMayBeRegisteredAgain(t *testing.T) {
	for range 2 {
		RegisterName[map[string]any]("my map")
		RegisterName[*ToolInfo]("my tool info")
		RegisterName[ToolResult]("my tool result")
		RegisterName[time.Time]("my time")
		RegisterName[[]*Document]("my documents")
		Register[[]*Document]()
		Register[[]any]()
		Register[ToolInfo]()
		Register[map[int]float64]()
		RegisterName[time.Duration]("my duration")
		gob.Register(map[string]any{})
		gob.Register(ToolInfo{})
	}
	requireBoth(t, map[string]any{"a": 1})
	requireBoth(t, []*Document{{ID: "d"}})
	requireBoth(t, time.Minute)
	require.Equal(t, map[string]any{"d": time.Minute}, serialized(t, map[string]any{"d": time.Minute}))
}

func TestRegister_GobDefaultOfTheProgramWins(t *testing.T) {
	type early map[string]int
	gob.RegisterName("early", early{})
	registerDefault(early{}) // must not panic
	require.Equal(t, early{"a": 1}, gobbed(t, early{"a": 1}))
}

// Rule schema/R13.
func TestToolInfo_SurvivesSerializationAndCopy(t *testing.T) {
	tools := []*ToolInfo{
		{Name: "none"},
		{Name: "params", Extra: map[string]any{"k": "v"},
			ParamsOneOf: NewParamsOneOfByParams(map[string]*ParameterInfo{"p": {Type: String, Required: true}})},
		{Name: "schema", ParamsOneOf: NewParamsOneOfByJSONSchema(&jsonschema.Schema{Type: "object", Description: "d"})},
	}
	requireSameTools := func(got any) {
		t.Helper()
		want, err := stdjson.Marshal(tools)
		require.NoError(t, err)
		text, err := stdjson.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(text))
	}
	requireSameTools(serialized(t, tools))
	copied, err := serialization.Copy(tools)
	require.NoError(t, err)
	requireSameTools(copied)
	require.NotSame(t, tools[1].params["p"], copied[1].params["p"])
	require.NotSame(t, tools[2].schema, copied[2].schema)

	withInt := &ToolInfo{Extra: map[string]any{"n": 1}}
	copied2, err := serialization.Copy(withInt)
	require.NoError(t, err)
	require.Equal(t, withInt, copied2, "a copy keeps the types in Extra")
}

// What is kept with a tool has its types when it is read again, as what is kept with a message has. What releases wrote that
// did not write them is read with the types of JSON, and what they cannot read they ignore.
//
// Rule schema/R13.
func TestToolInfo_KeepsTheTypesInExtra(t *testing.T) {
	kept := &ToolInfo{Name: "n", Extra: map[string]any{"id": int64(math.MaxInt64), "at": time.Unix(1, 0).UTC(),
		"list": []any{1, "x"}, "map": map[string]any{"n": 1}, "f": 1.5, "nil": nil}}
	require.Equal(t, kept, serialized(t, kept))
	message := &Message{Role: User, UserInputMultiContent: []MessageInputPart{{Type: ChatMessagePartTypeToolSearchResult,
		ToolSearchResult: &ToolSearchResult{Tools: []*ToolInfo{kept}}}}}
	require.Equal(t, message, serialized(t, message))

	plain := &ToolInfo{Name: "n", Extra: map[string]any{"k": "v", "f": 1.5, "list": []any{true, nil}}}
	data, err := (&serialization.InternalSerializer{}).Marshal(plain)
	require.NoError(t, err)
	require.NotContains(t, string(data), "_weft_typed", "nothing is written twice that JSON has right")
	require.Equal(t, plain, serialized(t, plain))
	type unknown struct{ N int }
	require.Equal(t, map[string]any{"k": map[string]any{"N": 1.0}},
		serialized(t, &ToolInfo{Extra: map[string]any{"k": unknown{1}}}).(*ToolInfo).Extra, "a type that is not registered is JSON, as ever")

	const old = `{"weft":1,"value":["*github.com/weftgo/weft/schema.ToolInfo",[{"name":"n","extra":{"id":7}}]]}`
	var read *ToolInfo
	require.NoError(t, (&serialization.InternalSerializer{}).Unmarshal([]byte(old), &read))
	require.Equal(t, map[string]any{"id": 7.0}, read.Extra)
	data, err = (&serialization.InternalSerializer{}).Marshal(kept)
	require.NoError(t, err)
	require.NoError(t, stdjson.Unmarshal(data[bytes.Index(data, []byte(`{"name"`)):len(data)-3], &read))
	require.Equal(t, "n", read.Name, "the JSON of the tool is what older releases read")
}

// conversation is 50 messages as an agent with tools has them.
func conversation() []*Message {
	var messages []*Message
	for i := range 50 {
		msg := &Message{Role: Assistant, Content: fmt.Sprintf("message %d says \"something\"\nin two lines of text", i)}
		if i%2 == 0 {
			msg.ToolCalls = []ToolCall{{Index: &i, ID: fmt.Sprint("call", i), Type: "function",
				Function: FunctionCall{"search", `{"query":"weather"}`}}}
			msg.ResponseMeta = &ResponseMeta{FinishReason: "tool_calls",
				Usage: &TokenUsage{PromptTokens: 10 * i, CompletionTokens: 5, TotalTokens: 10*i + 5}}
			msg.Extra = map[string]any{"id": fmt.Sprint("m", i), "n": i}
		}
		messages = append(messages, msg)
	}
	return messages
}

func BenchmarkSerialize50Messages(b *testing.B) {
	messages := conversation()
	var s serialization.InternalSerializer
	data, err := s.Marshal(messages)
	require.NoError(b, err)
	text, err := stdjson.Marshal(messages)
	require.NoError(b, err)
	b.Run("encode/serializer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = s.Marshal(messages)
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("encode/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = stdjson.Marshal(messages)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
	b.Run("decode/serializer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got []*Message
			if err := s.Unmarshal(data, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got []*Message
			if err := stdjson.Unmarshal(text, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := serialization.DeepCopy(messages); err != nil {
				b.Fatal(err)
			}
		}
	})
}
