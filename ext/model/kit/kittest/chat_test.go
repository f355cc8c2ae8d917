package kittest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	chatURL  = "https://h/v1/chat/completions"
	chatBase = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	addTool  = `{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{}}}}`
	chatCall = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"add",` +
		`"arguments":"{}"}}]}`
	question = `{"role":"user","content":"hi"}`
	toolSaid = `{"role":"tool","tool_call_id":"c1","content":"1"}`
)

// chatTurns returns a conversation with a tool turn, in which a text is replaced by alternatives.
func chatTurns(old, alternatives string) string {
	turns := `{"messages":[` + question + `,` + chatCall + `,` + toolSaid + `]}`
	if !strings.Contains(turns, old) {
		panic(old)
	}
	return strings.ReplaceAll(turns, old, alternatives)
}

const strictTool = `{"tools":[{"type":"function","function":{"name":"add","strict":true,` +
	`"parameters":{"type":"object",` +
	`"properties":{"a":{"type":"integer"<<,"default":1|>>}},"required":["a"],"additionalProperties":false}}}]}`

// chatBroken breaks the rules that all servers have, which are checked together with OpenAI's.
var chatBroken = []brokenRequest{
	{rule: "HTTP", fields: `{"model":<<null|"m">>}`},
	{rule: "D4", fields: `{<<"top_k"|"seed">>:1}`},
	{rule: "D4", fields: `{"stream":<<1|true>>}`},
	{rule: "D4", fields: `{"stream":<<false|true>>,"stream_options":{"include_usage":true}}`},
	{rule: "D4", fields: `{"max_tokens":<<0|1>>}`},
	{rule: "D4", fields: `{"max_tokens":1<<,"max_completion_tokens":1|>>}`},
	{rule: "D4", fields: `{"temperature":<<3|2>>}`},
	{rule: "D4", fields: `{"stop":["a","b","c","d"<<,"e"|>>]}`},
	{rule: "D4", fields: `{"response_format":{"type":"<<json|json_object>>"}}`},
	{rule: "D4", fields: `{"response_format":{"type":"json_schema","json_schema":{"name":"a<< |_>>b","schema":{}}}}`},
	{rule: "D4", fields: `{"response_format":{"type":"json_schema","json_schema":<<null|{"name":"a"}>>}}`},
	{rule: "D4", fields: `{"tools":[{<<"name":"add",|>>"type":"function","function":{"name":"add"}}]}`},
	{rule: "D4", fields: `{"tools":[{"type":"function","function":{"name":"add"<<,"input_schema":{}|>>}}]}`},
	{rule: "D4", fields: `{"tools":[` + addTool + `],"tool_choice":"<<any|required>>"}`},
	{rule: "D4", fields: `{"messages":[{"role":"<<model|user>>","content":"hi"}]}`},
	{rule: "D4", fields: `{"messages":[{"role":"user","content":<<[]|"hi">>}]}`},
	{rule: "D4", fields: chatTurns(`"type":"function"`, `"type":"<<call|function>>"`)},
	{rule: "D4", fields: `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"<<,` +
		`"tool_calls":[]|>>}]}`},
	{rule: "C1", fields: `{"messages":[` + question + `,{"role":"assistant","content":"a"<<,` +
		`"reasoning_content":"b"|>>}]}`},
	{rule: "C1", fields: chatTurns(`"content":"1"`, `"content":"1"<<,"is_error":true|>>`)},
	{rule: "C2", fields: chatTurns(`"id":"c1",`, `"id":"c1",<<"extra_content":{},|>>`)},
	{rule: "K10", fields: `{"tools":<<[]|[` + addTool + `]>>}`},
	{rule: "K10", fields: `{"parallel_tool_calls":true<<|,"tools":[` + addTool + `]>>}`},
	{rule: "K10", fields: `{"tool_choice":"none"<<|,"tools":[` + addTool + `]>>}`},
	{rule: "K10", fields: `{"tools":[` + addTool + `],"tool_choice":{"type":"function",` +
		`"function":{"name":"<<sub|add>>"}}}`},
	{rule: "K10", fields: `{"tools":[{"type":"function","function":{"name":"add","parameters":{<<|"type":"object",>>` +
		`"properties":{}}}}]}`},
	{rule: "K11", fields: `{"tools":[{"type":"function","function":{"name":"a<<.|_>>b"}}]}`},
	{rule: "K11", fields: `{"tools":[` + addTool + `<<,` + addTool + `|>>]}`},
	{rule: "K12", fields: chatTurns(`c1`, `<<`+strings.Repeat("x", 41)+`|c1>>`)},
	{rule: "K12", fields: chatTurns(`"id":"c1"`, `"id":<<""|"c1">>`)},
	{rule: "K12", fields: chatTurns(toolSaid, toolSaid+`,`+strings.ReplaceAll(chatCall+`,`+toolSaid, "c1", "c<<1|2>>"))},
	{rule: "K13", fields: chatTurns(`"arguments":"{}"`, `"arguments":<<{}|"{">>`)},
	{rule: "K14", fields: chatTurns(`"content":"1"`, `"content":<<null|"">>`)},
	{rule: "K15", fields: `{"model":"<<openai/o3|gpt-4o>>","temperature":0.5}`},
	{rule: "K16", fields: `{"messages":<<[]|[` + question + `]>>}`},
	{rule: "K16", fields: `{"messages":[` + question + `,` + chatCall + `,<<|` + toolSaid + `,>>` + question + `]}`},
	{rule: "K16", fields: `{"messages":[` + question + `,` + chatCall + `<<|,` + toolSaid + `>>]}`},
	{rule: "K16", fields: `{"messages":[` + question + `,` + chatCall + `,` + toolSaid + `<<,` + toolSaid + `|>>]}`},
	{rule: "K16", fields: `{"messages":[` + question + `<<|,` + chatCall + `>>,` + toolSaid + `]}`},
	{rule: "K16", fields: `{"messages":[` + question + `,{"role":"assistant"<<|,"content":"">>}]}`},
	{rule: "K17", fields: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"<<aGk=|` +
		`data:image/png;base64,aGk=>>"}}]}]}`},
	{rule: "K17", fields: `{"messages":[{"role":"<<system|user>>","content":[{"type":"image_url","image_url":` +
		`{"url":"https://h/a.png"}}]}]}`},
	{rule: "R4", fields: strictTool},
	{rule: "R4", fields: strings.ReplaceAll(strings.Replace(strictTool, `["a"]`, `[<<|"a">>]`, 1), `<<,`+
		`"default":1|>>`, "")},
}

func TestChatCompletions_RefusesBrokenRequests(t *testing.T) {
	requireBroken(t, func() Validator { return ChatCompletions(ChatOpenAI) }, chatURL, chatBase, chatBroken)
}

// dialectsBroken breaks what only some servers refuse, by the server.
var dialectsBroken = map[*ChatRules][]brokenRequest{
	&ChatDeepSeek: {
		{rule: "C3", fields: chatTurns(`"assistant",`, `"assistant",<<|"reasoning_content":"",>>`)},
		{rule: "K17", fields: `{"messages":[{"role":"user","content":[{"type":"<<image_url|text>>","text":"a"}]}]}`},
		{rule: "K16", fields: `{"messages":[` + question + `,{"role":"assistant","content":"a"<<|,"prefix":true>>}]}`},
	},
	&ChatQwen: {
		{rule: "C11", fields: `{"enable_thinking":true<<|,"stream":true>>}`},
		{rule: "D4", fields: `{"tools":[{"type":"function","function":{"name":"a"<<,"strict":false|>>}}]}`},
	},
	&ChatMoonshot: {
		{rule: "D4", fields: `{"thinking":{"type":"enabled"}<<,"reasoning_effort":"low"|>>}`},
		{rule: "K15", fields: `{"thinking":{"type":"<<enabled|disabled>>"},"tools":[` + addTool + `],` +
			`"tool_choice":"required"}`},
		{rule: "C3", fields: `{"thinking":{"type":"<<enabled|disabled>>"},` + chatTurns("hi", "hi")[1:]},
	},
	&ChatMistral: {
		{rule: "D4", fields: `{"stream":true<<,"stream_options":{"include_usage":true}|>>}`},
		{rule: "D4", fields: `{"max_<<completion_|>>tokens":5}`},
		{rule: "K12", fields: chatTurns(`c1`, `<<call_abcde|abcdefgh1>>`)},
		{rule: "K13", fields: strings.ReplaceAll(chatTurns(`"{}"`, `"<<{|{}>>"`), "c1", "abcdefgh1")},
		{rule: "K16", fields: strings.ReplaceAll(chatTurns(toolSaid, toolSaid+`,<<|{"role":"assistant","content":"ok"},>>`+
			question), "c1", "abcdefgh1")},
		{rule: "C1", fields: `{"messages":[` + question + `,{"role":"assistant","content":"a"<<,` +
			`"reasoning_content":"b"|>>},` +
			question + `]}`},
	},
	&ChatGroq: {{rule: "C1", fields: chatTurns(`"assistant",`, `"assistant",<<"reasoning":"a",|>>`)}},
	&ChatXAI:  {{rule: "K15", fields: `{"model":"grok-<<4|2>>","stop":["a"]}`}},
	&ChatOpenRouter: {
		{rule: "C4", fields: chatTurns(`"assistant",`, `"assistant","reasoning_details":[]<<,"reasoning":"a"|>>,`)},
	},
	&ChatVLLM: {{rule: "K16", fields: `{"messages":[` + question + `<<,{"role":"system","content":"be"}|>>]}`}},
	&ChatLlamaCpp: {{rule: "D4", fields: `{"tools":[` + addTool + `],"tool_choice":<<{"type":"function",` +
		`"function":{"name":"add"}}|"auto">>}`}},
	&ChatUnknown: {{rule: "D4", fields: `{<<"parallel_tool_calls":true,|>>"tools":[` + addTool + `]}`}},
	&ChatOpenAI: {{rule: "D4", url: "https://h/openai/deployments/d/chat/completions", fields: `{"model":null<<,` +
		`"x":1|>>}`}},
}

func TestChatCompletions_RefusesWhatTheServerRefuses(t *testing.T) {
	all := chatBroken
	for rules, cases := range dialectsBroken {
		t.Run(rules.Name, func(t *testing.T) {
			requireBroken(t, func() Validator { return ChatCompletions(*rules) }, chatURL, chatBase, cases)
		})
		all = append(all, cases...)
	}
	requireEveryRule(t, all, "chat.go", "node.go")
}

func TestChatProfiles_TakeASimpleConversation(t *testing.T) {
	names := map[string]bool{}
	for _, rules := range ChatProfiles() {
		names[rules.Name] = true
		turns := strings.ReplaceAll(chatTurns(`"assistant",`, `"assistant",`), "c1", "abcdefgh1")
		if rules.ReasoningRequired != "" {
			turns = strings.ReplaceAll(turns, `"assistant",`, `"assistant","`+rules.ReasoningRequired+`":"",`)
		}
		body := request(t, chatBase, strings.TrimSuffix(turns, "}")+`,"stream":true,"temperature":0.5,`+
			`"tools":[`+addTool+`]}`, 1)
		if faults := ChatCompletions(rules).Validate(post(chatURL), body); faults != nil {
			t.Errorf("%s: %v", rules.Name, faults)
		}
	}
	if len(names) != 19 {
		t.Errorf("%d profiles", len(names))
	}
}

func TestChatCompletions_RefusesInItsForm(t *testing.T) {
	for rules, want := range map[*ChatRules]struct {
		code int
		text string
	}{&ChatOpenAI: {400, `"type":"invalid_request_error"`}, &ChatMistral: {422, `"object":"error"`}} {
		w := httptest.NewRecorder()
		ChatCompletions(*rules).Refuse(w, []Fault{{Path: "p", Rule: "D4", Text: "wrong"}})
		body := w.Body.String()
		if w.Code != want.code || !strings.Contains(body, want.text) || !strings.Contains(body, "wrong") {
			t.Error(w.Code, w.Body)
		}
	}
}
