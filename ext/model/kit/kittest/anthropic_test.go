package kittest

import (
	"strings"
	"testing"
)

const (
	anthropicURL  = "https://api.anthropic.com/v1/messages"
	anthropicBase = `{"model":"claude-sonnet-4","max_tokens":5000,"messages":[{"role":"user","content":"hi"}]}`

	weatherTool = `{"name":"weather","input_schema":{"type":"object","properties":{}}}`
	weatherTurn = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1",` +
		`"name":"weather","input":{}},{"type":"tool_use","id":"t2","name":"weather","input":{}}]}`
	result1 = `{"type":"tool_result","tool_use_id":"t1","content":"1"}`
	result2 = `{"type":"tool_result","tool_use_id":"t2","content":[]}`
	both    = `"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` + result1 + `,` +
		result2 + `]}]`
	issuedThinking = `{"content":[{"type":"thinking","thinking":"","signature":"c2ln"},` +
		`{"type":"redacted_thinking","data":"ZGF0YQ=="}]}`
	thinks5 = `"thinking":{"type":"enabled","budget_tokens":2000}`
)

// after returns messages that end with a user's question after an assistant message of these blocks.
func after(blocks string) string {
	return `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + blocks +
		`,{"type":"text","text":"ok"}]},{"role":"user","content":"and?"}]`
}

func userBlock(block string) string { return `"messages":[{"role":"user","content":[` + block + `]}]` }

var anthropicBroken = []brokenRequest{
	{rule: "A1", fields: `{"model":<<""|"m">>}`},
	{rule: "A1", fields: `{"stream":<<"yes"|true>>}`},
	{rule: "A2", fields: `{"max_tokens":<<null|1>>}`},
	{rule: "A2", fields: `{"max_tokens":<<-1|0>>}`},
	{rule: "A4", fields: `{"system":[{"type":<<"image"|"text">>,"text":"be"}]}`},
	{rule: "A4", fields: `{"system":<<[]|"be">>}`},
	{rule: "A5", fields: `{"messages":[<<{"role":"assistant","content":"a"},|>>{"role":"user","content":"hi"}]}`},
	{rule: "A5", fields: `{"messages":[{"role":"user","content":"hi"},{"role":"<<user|assistant>>","content":"a"},` +
		`{"role":"user","content":"hi"}]}`},
	{rule: "A5", fields: `{` + after(`{"type":"<<image|text>>","text":"a"}`) + `}`},
	{rule: "A5", fields: `{` + userBlock(`{"type":"text","text":"a"<<,"id":1|>>}`) + `}`},
	{rule: "A5", fields: `{` + userBlock(`{"type":"<<sound|text>>","text":"a"}`) + `}`},
	{rule: "A5", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` +
		result1 + `<<|,` + result2 + `>>]}]}`},
	{rule: "A5", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` +
		`<<{"type":"text","text":"a"},|>>` + result1 + `,` + result2 + `<<|,{"type":"text","text":"a"}>>]}]}`},
	{rule: "A5", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` +
		result1 + `<<]},{"role":"assistant","content":"?"},{"role":"user","content":[|,>>` + result2 + `]}]}`},
	{rule: "A6", fields: `{"messages":[{"role":"user","content":"<< |a>>"}]}`},
	{rule: "A6", fields: `{"messages":[{"role":"user","content":<<[]|"a">>}]}`},
	{rule: "A6", fields: `{` + userBlock(`{"type":"text","text":"<<\n|a>>"}`) + `}`},
	{rule: "A6", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` +
		result1 + `,{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"<<|->>"}]}]}]}`},
	{rule: "A6", fields: `{"system":"<<|be>>"}`},
	{rule: "A6", fields: `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so<< |>>"}]}`},
	{rule: "A6", fields: `{"model":"claude-opus-4-<<7|1>>","messages":[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"so"}]}`},
	{rule: "A7", fields: `{"tools":[{"name":"a",<<"parameters":{},|>>"input_schema":{"type":"object","properties":{}}}]}`},
	{rule: "A8", fields: `{` + strings.Replace(both, `"tools":`, `<<"metadata":{},"x-tools"|"tools">>:`, 1) + `}`},
	{rule: "A9", fields: `{"tools":[` + weatherTool + `],"tool_choice":{"type":"tool","name":"<<x|weather>>"}}`},
	{rule: "A9", fields: `{"tools":[` + weatherTool + `],"tool_choice":{"type":"<<required|any>>"}}`},
	{rule: "A9", fields: `{"tools":[` + weatherTool + `],"tool_choice":{"type":"none"<<,` +
		`"disable_parallel_tool_use":true|>>}}`},
	{rule: "A9", fields: `{` + thinks5 + `,"tools":[` + weatherTool + `],"tool_choice":{"type":"<<any|auto>>"}}`},
	{rule: "A10", fields: `{` + strings.Replace(both, `"input":{}`, `"input":<<"{}"|{}>>`, 1) + `}`},
	{rule: "A10", fields: `{` + strings.Replace(both, `"content":"1"`, `"content":<<{}|"">>`, 1) + `}`},
	{rule: "A10", fields: `{` + strings.Replace(both, `"content":"1"`, `"content":[{"type":"<<thinking|text>>",`+
		`"text":"1"}]`,
		1) + `}`},
	{rule: "A10", fields: `{` + strings.Replace(both, `"content":"1"`, `"is_error":<<"yes"|true>>`, 1) + `}`},
	{rule: "A11", fields: `{` + userBlock(`{"type":"image","source":{"type":"base64","media_type":"image/<<bmp|png>>",`+
		`"data":"aGk="}}`) + `}`},
	{rule: "A11", fields: `{` + userBlock(`{"type":"image","source":{"type":"base64","media_type":"image/png",`+
		`"data":"<<data:image/png;base64,|>>aGk="}}`) + `}`},
	{rule: "A11", fields: `{` + userBlock(`{"type":"document","title":"a<<.|>>pdf","source":{"type":"url",`+
		`"url":"https://h/a.pdf"}}`) + `}`},
	{rule: "A11", fields: `{` + userBlock(`{"type":"document","source":{"type":"text","media_type":"text/<<html|plain>>",`+
		`"data":"a"}}`) + `}`},
	{rule: "A11", fields: `{` + userBlock(`{"type":"image","source":{"type":"<<path|url>>","url":"https://h/a"}}`) + `}`},
	{rule: "A12", fields: `{"output_config":{"effort":"<<extreme|low>>"}}`},
	{rule: "A12", fields: `{"output_config":{"format":{"type":"json_schema","schema":<<"{}"|{}>>}}}`},
	{rule: "A13", fields: `{<<"frequency_penalty"|"temperature">>:1}`},
	{rule: "A13", fields: `{"temperature":<<1.5|1>>}`},
	{rule: "A13", fields: `{"model":"claude-sonnet-4-5","temperature":0.5<<,"top_p":0.9|>>}`},
	{rule: "A13", fields: `{"stop_sequences":["<<\n|x>>"]}`},
	{rule: "A13", fields: `{"metadata":{"<<team|user_id>>":"x"}}`},
	{rule: "A13", fields: `{"service_tier":"<<flex|auto>>"}`},
	{rule: "A14", fields: `{"thinking":{"type":"enabled","budget_tokens":<<1000|1024>>}}`},
	{rule: "A14", fields: `{"thinking":{"type":"enabled","budget_tokens":<<5000|4999>>}}`},
	{rule: "A14", fields: `{"thinking":{"type":"<<on|adaptive>>"}}`},
	{rule: "A14", fields: `{"thinking":{"type":"adaptive"<<,"budget_tokens":2000|>>}}`},
	{rule: "A14", fields: `{` + thinks5 + `<<,"temperature":0.5|>>}`},
	{rule: "A14", fields: `{` + thinks5 + `,"top_p":<<0.9|0.95>>}`},
	{rule: "A14", fields: `{` + thinks5 + `<<,"top_k":5|>>}`},
	{rule: "A15", answer: issuedThinking,
		fields: `{` + after(`{"type":"thinking","thinking":"","signature":"<<eA==|c2ln>>"}`) + `}`},
	{rule: "A15", answer: issuedThinking,
		fields: `{` + after(`{"type":"thinking","thinking":"<<x|>>","signature":"c2ln"}`) + `}`},
	{rule: "A15", answer: issuedThinking,
		fields: `{` + after(`{"type":"redacted_thinking","data":"<<eA==|ZGF0YQ==>>"}`) + `}`},
	{rule: "A15", fields: `{` + after(`{"type":"thinking","signature":"c2ln"<<|,"thinking":"">>}`) + `}`},
	{rule: "A15", fields: `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` +
		`{"type":"text","text":"a"}<<,{"type":"thinking","thinking":"a","signature":"c2ln"}|>>]},` +
		`{"role":"user","content":"hi"}]}`},
	{rule: "A16", fields: `{` + after(`{"type":"thinking","thinking":"a"<<|,"signature":"c2ln">>}`) + `}`},
	{rule: "A17", fields: `{` + thinks5 + `,` + strings.Replace(both, `"content":[{"type":"tool_use"`, `"content":[`+
		`<<|{"type":"thinking","thinking":"a","signature":"c2ln"},>>{"type":"tool_use"`, 1) + `}`},
	{rule: "A19", fields: `{"cache_control":{"type":"<<forever|ephemeral>>"}}`},
	{rule: "A19", fields: `{"cache_control":{"type":"ephemeral","ttl":"<<2h|1h>>"}}`},
	{rule: "A19", fields: `{"cache_control":{"type":"ephemeral"},` + userBlock(strings.Repeat(marked+`,`, 3)+
		`{"type":"text","text":"a"<<,"cache_control":{"type":"ephemeral"}|>>}`) + `}`},
	{rule: "A21", fields: `{` + after(`{"type":"redacted_thinking","data":"x"<<,`+
		`"cache_control":{"type":"ephemeral"}|>>}`) + `}`},
	{rule: "A21", fields: `{"messages":[{"role":"user","content":"hi"<<,"cache_control":{"type":"ephemeral"}|>>}]}`},
	{rule: "A21", fields: `{` + userBlock(`<<`+marked+`,|>>{"type":"text","text":"a","cache_control":{"type":"ephemeral",`+
		`"ttl":"1h"}}`) + `}`},
	{rule: "A36", url: "https://h/model/m/invoke",
		fields: `{"model":null,"anthropic_version":"<<2023-06-01|bedrock-2023-05-31>>"}`},
	{rule: "A36", url: "https://h/v1/publishers/anthropic/models/m:rawPredict",
		fields: `{"model":null<<|,"anthropic_version":"vertex-2023-10-16">>}`},
	{rule: "A13", url: "https://h/model/m/invoke",
		fields: `{"anthropic_version":"bedrock-2023-05-31","model":<<"m"|null>>}`},
	{rule: "A13", url: "https://h/model/m/invoke", fields: `{"anthropic_version":"bedrock-2023-05-31",` +
		`"model":null<<,"cache_control":{"type":"ephemeral"}|>>}`},
	{rule: "A37", url: "https://h/model/m/invoke", fields: `{"anthropic_version":"bedrock-2023-05-31","model":null,` +
		`"tools":[{"name":"a",<<"defer_loading":true,|>>"input_schema":{"type":"object","properties":{}}}]}`},
	{rule: "A24", fields: `{` + after(`<<|`+searches+`,>>`+searched) + `}`},
	{rule: "A33", fields: `{` + after(searches+`<<|,`+searched+`>>`) + `}`},
	{rule: "K10", fields: `{"tools":<<[]|[` + weatherTool + `]>>}`},
	{rule: "K10", fields: `{<<"tool_choice":{"type":"none"}|"stream":true>>}`},
	{rule: "K10", fields: `{"tools":[{"name":"a","input_schema":{"type":"object"<<|,"properties":{}>>}}]}`},
	{rule: "K11", fields: `{"tools":[{"name":"a<<.|_>>b","input_schema":{"type":"object","properties":{}}}]}`},
	{rule: "K11", fields: `{"tools":[` + weatherTool + `<<,` + weatherTool + `|>>]}`},
	{rule: "K12", fields: `{` + strings.ReplaceAll(both, `"t1"`, `"t<<:|_>>1"`) + `}`},
	{rule: "K12", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `,{"role":"user","content":[` +
		result1 + `,` + result2 + `]},{"role":"assistant","content":[{"type":"tool_use","id":"t<<1|3>>","name":"weather",` +
		`"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t<<1|3>>","content":"1"}]}]}`},
	{rule: "K16", fields: `{"messages":<<[]|[{"role":"user","content":"a"}]>>}`},
	{rule: "K16", fields: `{"tools":[` + weatherTool + `],"messages":[` + weatherTurn + `<<|,{"role":"user","content":[` +
		result1 + `,` + result2 + `]}>>]}`},
	{rule: "K16", fields: `{` + strings.Replace(both, result1, result1+`<<,`+result1+`|>>`, 1) + `}`},
	{rule: "K16", fields: `{` + strings.Replace(both, result1, result1+`<<,{"type":"tool_result",`+
		`"tool_use_id":"x"}|>>`, 1) +
		`}`},
}

const (
	searches = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"a"}}`
	searched = `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`
)

const marked = `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`

func TestAnthropic_RefusesBrokenRequests(t *testing.T) {
	requireBroken(t, func() Validator { return Anthropic() }, anthropicURL, anthropicBase, anthropicBroken)
	requireEveryRule(t, anthropicBroken, "anthropic.go", "anthropic_messages.go")
}

func TestAnthropic_CompatibleServersTakeUnsignedThinking(t *testing.T) {
	v := Anthropic()
	v.Unsigned = true
	body := request(t, anthropicBase, `{`+after(`{"type":"thinking","thinking":"a"}`)+`}`, 1)
	if faults := v.Validate(post(anthropicURL), body); faults != nil {
		t.Error(faults)
	}
}

func TestAnthropic_LearnsFromStreams(t *testing.T) {
	events := []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"a"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"b"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":1}`,
	}
	for name, stream := range map[string]Stream{"events": NamedSSE(events...), "frames": Frames(events...)} {
		v := Anthropic()
		v.Observe(stream.Bytes())
		for thinking, want := range map[string]int{"ab": 0, "a": 1} {
			fields := `{` + after(`{"type":"thinking","thinking":"`+thinking+`","signature":"c2ln"}`) + `}`
			if faults := v.Validate(post(anthropicURL), request(t, anthropicBase, fields, 1)); len(faults) != want {
				t.Errorf("%s, %s: %v", name, thinking, faults)
			}
		}
	}
}

func TestAnthropic_RequiresHeaders(t *testing.T) {
	for _, header := range []string{"X-Api-Key", "Anthropic-Version"} {
		req := post(anthropicURL)
		req.Header.Del(header)
		faults := Anthropic().Validate(req, []byte(anthropicBase))
		if len(faults) != 1 || faults[0].Path != "header "+header {
			t.Error(faults)
		}
	}
}

func TestAnthropic_APausedTurnGoesBackAsItIs(t *testing.T) {
	fields := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + searches + `]}]}`
	if faults := Anthropic().Validate(post(anthropicURL), request(t, anthropicBase, fields, 1)); faults != nil {
		t.Error(faults)
	}
}
