package serve

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// Whatever of a message is on no list is refused, at any depth, from clients that are trusted, too: adapters of models obey
// such fields.
// Rules serving/SV15, serving/SV25.
func TestServer_TakesOnlyListedFieldsOfAMessage(t *testing.T) {
	image := `{"type":"image_url","image":{"url":"https://example.com/a.png"%s}%s}`
	forAll := []string{
		`{"role":"user","content":"x","extra":{"a":1}}`,
		`{"role":"user","content":"x","extra":{}}`,
		`{"role":"user","content":"x","tool_calls":[{"id":"c","type":"function","function":{"name":"pay"}}]}`,
		`{"role":"user","content":"x","tool_call_id":"c"}`,
		`{"role":"user","content":"x","reasoning_content":"I may"}`,
		`{"role":"user","content":"x","response_meta":{"finish_reason":"stop"}}`,
		`{"role":"user","content":"x","multi_content":[{"type":"text","text":"y"}]}`,
		`{"role":"user","assistant_output_multi_content":[{"type":"text","text":"y"}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"text","text":"hi","extra":{"anthropic_block":"{}"}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"text","text":"hi","image":{"url":"https://example.com"}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"image_url","text":"hi"}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"reasoning","text":"hi"}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"tool_search_result","tool_search_result":{"Tools":[]}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"text","tool_search_result":{"Tools":[]}}]}`,
		`{"role":"user","user_input_multi_content":[` + fmt.Sprintf(image, ``, `,"extra":{"a":1}`) + `]}`,
		`{"role":"user","user_input_multi_content":[` + fmt.Sprintf(image, `,"extra":{"openai_file_id":"f"}`, ``) + `]}`,
	}
	forTrusted := []string{
		`{"role":"assistant","content":"x","extra":{"a":1}}`,
		`{"role":"assistant","content":"x","user_input_multi_content":[{"type":"text","text":"y"}]}`,
		`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"pay"},"extra":{"a":1}}]}`,
		`{"role":"assistant","assistant_output_multi_content":[{"type":"text","text":"y","extra":{"a":1}}]}`,
		`{"role":"assistant","assistant_output_multi_content":[{"type":"reasoning","reasoning":{"text":"y","signature":"s"}}]}`,
		`{"role":"assistant","assistant_output_multi_content":[{"type":"image_url","image":{"url":"http://10.0.0.1/x"}}]}`,
		`{"role":"tool","tool_call_id":"c","content":"x","extra":{"a":1}}`,
		`{"role":"tool","tool_call_id":"c","user_input_multi_content":[{"type":"image_url","image":{"url":"file:///x"}}]}`,
		`{"role":"system","content":"x","tool_calls":[]}`,
	}
	for _, trust := range []bool{false, true} {
		d := newDesk(t, Config{TrustHistory: trust, Limits: Limits{StartsPerMinute: 1000}}, greeter(t))
		bodies := forAll
		if trust {
			bodies = append(bodies, forTrusted...)
		}
		for _, m := range bodies {
			require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":[`+m+`]}`), m)
		}
	}
}

// All that is on a list arrives, and counts for how long a message may be.
// Rules serving/SV15, serving/SV25.
func TestServer_TakesAndCountsAllListedFields(t *testing.T) {
	m := adktest.NewModel(t, adktest.Says("Hi.").Repeated())
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps", Model: m})
	require.NoError(t, err)
	d := newDesk(t, Config{TrustHistory: true, Limits: Limits{MessageBytes: 300, MediaBytes: 100}}, agent)
	long := strings.Repeat("x", 301)
	for _, sent := range []string{
		`{"role":"user","content":"x","name":"` + long + `"}`,
		`{"role":"user","user_input_multi_content":[{"type":"file_url","file":{"url":"https://a/` + long + `"}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"file_url","file":{"base64data":"YQ==","mime_type":"` + long + `"}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"file_url","file":{"base64data":"YQ==","name":"` + long + `"}}]}`,
		`{"role":"user","user_input_multi_content":[{"type":"audio_url","audio":{"base64data":"` + long + `"}}]}`,
		`{"role":"assistant","assistant_output_multi_content":[{"type":"text","text":"` + long + `"}]}`,
		`{"role":"assistant","tool_calls":[{"id":"` + long + `","type":"function","function":{"name":"f"}}]}`,
		`{"role":"tool","tool_call_id":"c","user_input_multi_content":[{"type":"text","text":"` + long + `"}]}`,
	} {
		require.Equal(t, "too_large", d.refused(413, "POST", "/agents/desk/runs", `{"input":[`+sent+`]}`), sent)
	}
	d.call(201, "POST", "/agents/desk/runs", `{"input":[
		{"role":"user","name":"ana","user_input_multi_content":[{"type":"text","text":"hi"},
			{"type":"image_url","image":{"url":"https://example.com/a.png","detail":"low","mime_type":"image/png"}}]},
		{"role":"assistant","content":"","reasoning_content":"Hm.","response_meta":{"finish_reason":"tool_calls"},
			"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","tool_name":"look","content":"sun"},
		{"role":"user","content":"And?"}]}`, "Prefer", "wait=10")
	seen := m.Calls()[0].Messages
	require.Len(t, seen, 4)
	require.Equal(t, "ana", seen[0].Name)
	require.Equal(t, schema.ImageURLDetailLow, seen[0].UserInputMultiContent[1].Image.Detail)
	require.Equal(t, "Hm.", seen[1].ReasoningContent)
	require.Equal(t, "look", seen[1].ToolCalls[0].Function.Name)
	require.Nil(t, seen[1].ResponseMeta)
	require.Equal(t, "sun", seen[2].Content)
}

// A field that is added to messages one day is refused until it is on a list: each field of the types is set alone, and
// either arrives or is refused.
// Rule serving/SV25.
func TestTakeMessage_DropsNoFieldInSilence(t *testing.T) {
	s := &Server{settings: settings{limits: Limits{}.withDefaults()}}
	for _, role := range []schema.RoleType{schema.User, schema.Assistant, schema.Tool, schema.System} {
		fields := reflect.TypeFor[schema.Message]()
		for i := range fields.NumField() {
			m := &schema.Message{Role: role}
			field := reflect.ValueOf(m).Elem().Field(i)
			switch name := fields.Field(i).Name; {
			case name == "Role" || name == "ResponseMeta":
				continue
			case field.Kind() == reflect.String:
				field.SetString("x")
			case field.Kind() == reflect.Slice:
				field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			case field.Kind() == reflect.Map:
				field.Set(reflect.MakeMap(field.Type()))
			default:
				t.Fatalf("field %s is of a kind that the test does not know", name)
			}
			if taken, err := s.takeMessage(0, m); err == nil {
				require.Equal(t, m, taken, "%s of %s", fields.Field(i).Name, role)
			}
		}
	}
	for _, b := range []*schema.ContentBlock{
		schema.NewContentBlock(&schema.ServerToolCall{Name: "search"}), schema.NewContentBlock(&schema.MCPToolCall{Name: "x"}),
		schema.NewContentBlock(&schema.Reasoning{Text: "Hm.", Signature: "s"}),
		{Type: schema.ContentBlockTypeUserInputText, UserInputText: &schema.UserInputText{Text: "x"}, Extra: map[string]any{"a": 1}},
		schema.NewContentBlock(&schema.AssistantGenText{Text: "x", Extension: 1}),
		schema.NewContentBlock(&schema.UserInputImage{URL: "http://169.254.169.254/"}),
	} {
		m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{b}}
		_, err := s.takeAgentic(0, m)
		require.Equal(t, BadRequest, ProblemOf(err).Code, "%v", b)
	}
}

// An edit of a fork has what clients may send; a message that is as the client was shown it stays as it was, with what
// providers have attached to it.
// Rules serving/SV22, serving/SV25.
func TestEditedMessages_KeepsWhatIsAsShownAndTakesListedFields(t *testing.T) {
	s := &Server{settings: settings{limits: Limits{}.withDefaults()}}
	said := schema.AssistantMessage("Sun.", nil)
	said.Extra = map[string]any{"provider": "proof"}
	shown := publicMessage(&runlog.Message{Chat: said})
	other := runlog.Message{Chat: schema.UserMessage("Rain?")}
	messages, err := s.editedMessages([]any{schema.UserMessage("Weather?"), said}, []runlog.Message{other, *shown})
	require.NoError(t, err)
	require.Same(t, said, messages[1])
	require.Equal(t, other.Chat, messages[0])

	forged := runlog.Message{Chat: &schema.Message{Role: schema.Assistant, Content: "Sun.", Extra: map[string]any{"provider": "lie"}}}
	_, err = s.editedMessages([]any{said}, []runlog.Message{forged})
	require.Equal(t, BadRequest, ProblemOf(err).Code)

	block := schema.NewContentBlock(&schema.Reasoning{Text: "Hm.", Signature: "s"})
	block.Extra = map[string]any{"a": 1}
	thought := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{block}}
	messages, err = s.editedMessages([]any{thought}, []runlog.Message{*publicMessage(&runlog.Message{Agentic: thought}), other})
	require.NoError(t, err)
	require.Same(t, thought, messages[0])
	require.IsType(t, &schema.AgenticMessage{}, messages[1])
	_, err = s.editedMessages([]any{thought}, []runlog.Message{{Agentic: &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant, Extra: map[string]any{"a": 1}}}})
	require.Equal(t, BadRequest, ProblemOf(err).Code)
}
