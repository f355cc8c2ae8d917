package kittest

import (
	"strings"
	"testing"
)

const (
	responsesURL  = "https://h/v1/responses"
	responsesBase = `{"model":"gpt-5","store":false,"input":[{"role":"user","content":"hi"}]}`

	flatTool  = `{"type":"function","name":"add","strict":false,"parameters":{"type":"object","properties":{}}}`
	aCall     = `{"type":"function_call","call_id":"c1","name":"add","arguments":"{}"}`
	anOutput  = `{"type":"function_call_output","call_id":"c1","output":"1"}`
	aQuestion = `{"role":"user","content":"hi"}`
	aThought  = `{"type":"reasoning","summary":[],"encrypted_content":"enc"}`

	// An answer with a thought, a call that it led to, and a message.
	twoItems = `{"id":"resp_1","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"enc"},` +
		`{"type":"function_call","id":"fc_1","call_id":"c1","name":"add","arguments":"{}"}]}`
	sentThought = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"enc"}`
	sentCall    = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"add","arguments":"{}"}`
)

func input(items ...string) string { return `{"input":[` + strings.Join(items, ",") + `]}` }

var responsesBroken = []brokenRequest{
	{rule: "R1", fields: `{"<<max_tokens|max_output_tokens>>":100}`},
	{rule: "R1", fields: `{"max_output_tokens":<<1|16>>}`},
	{rule: "R1", fields: `{"prompt_cache_retention":"<<in-memory|in_memory>>"}`},
	{rule: "R1", fields: `{"reasoning":{"effort":"<<huge|high>>"}}`},
	{rule: "R1", fields: `{"model":"gpt-4o","temperature":<<3|1>>}`},
	{rule: "R1", fields: `{"text":{"format":{"type":"json_schema",<<"json_schema":{},|>>"name":"a","schema":{}}}}`},
	{rule: "R1", fields: `{"stream_options":{"include_obfuscation":false}<<|,"stream":true>>}`},
	{rule: "R1", fields: `{"model":<<null|"gpt-5">>}`},
	{rule: "R3", fields: input(`{"role":"<<tool|user>>","content":"hi"}`)},
	{rule: "R3", fields: input(`{"role":"user","content":[{"type":"<<text|input_text>>","text":"hi"}]}`)},
	{rule: "R3", fields: input(aQuestion, `{"role":"assistant","content":[{"type":"<<input|output>>_text","text":"a"}]}`)},
	{rule: "R3", fields: input(`{"role":"user","content":"hi"<<,"name":"a"|>>}`)},
	{rule: "R3", fields: input(`{"type":"<<thought|compaction>>"}`)},
	{rule: "R4", fields: `{"tools":[{"type":"function","name":"add",<<|"strict":false,>>"parameters":{"type":"object",` +
		`"properties":{}}}]}`},
	{rule: "R4", fields: `{"tools":[{"type":"function",<<"function":{},|>>"name":"add","strict":false,"parameters":` +
		`{"type":"object","properties":{}}}]}`},
	{rule: "R4", fields: `{"tools":[{"type":"function","name":"add","strict":<<true|false>>,` +
		`"parameters":{"type":"object",` +
		`"properties":{"a":{"type":"string"}}}}]}`},
	{rule: "R5", fields: input(strings.ReplaceAll(aCall+`,`+anOutput, "c1", "<<"+strings.Repeat("x", 65)+"|c1>>"))},
	{rule: "R5", fields: input(aCall, strings.Replace(anOutput, `"1"`, `[{"type":"<<text|input_text>>","text":"1"}]`, 1))},
	{rule: "R6", fields: `{"tools":[` + flatTool + `],"tool_choice":"<<any|required>>"}`},
	{rule: "R6", fields: `{"tools":[` + flatTool + `],"tool_choice":{"type":"function","name":"<<sub|add>>"}}`},
	{rule: "R6", fields: `{"tools":[` + flatTool + `],"tool_choice":{"type":"allowed_tools","mode":"<<any|auto>>",` +
		`"tools":[{"type":"function","name":"add"}]}}`},
	{rule: "R9", fields: `{"model":"gpt-<<5|4o>>","temperature":0.5}`},
	{rule: "R9", fields: `{"model":"gpt-<<4o|5>>","reasoning":{"effort":"low"}}`},
	{rule: "R10", fields: `{"model":"gpt-<<4o|5>>","include":["reasoning.encrypted_content"]}`},
	{rule: "R11", fields: input(aQuestion, strings.Replace(aThought, `"summary":[],`, `<<|"summary":[],`+
		`>>`, 1), aCall, anOutput)},
	{rule: "R11", answer: twoItems, fields: input(aQuestion, strings.Replace(sentThought, `"enc"`, `"<<x|enc>>"`, 1),
		sentCall, anOutput)},
	{rule: "R11", answer: twoItems, fields: input(aQuestion, strings.Replace(aThought, `"enc"`, `"<<x|enc>>"`, 1), aCall,
		anOutput)},
	{rule: "R12", fields: input(aQuestion, aThought+`<<|,{"role":"assistant","content":"a"}>>`, aQuestion)},
	{rule: "R12", fields: input(aQuestion, aCall, anOutput, aThought+`<<|,{"role":"assistant","content":"a"}>>`)},
	{rule: "R12", answer: twoItems, fields: input(aQuestion, `<<|`+sentThought+`,>>`+sentCall, anOutput)},
	{rule: "R12", answer: twoItems,
		fields: input(aQuestion, sentThought, `<<{"role":"assistant","content":"a"},|>>`+sentCall,
			anOutput)},
	{rule: "R13", fields: input(aQuestion, strings.Replace(aThought, `,"encrypted_content":"enc"`,
		`<<|,"encrypted_content":"enc">>`, 1), aCall, anOutput)},
	{rule: "R13", fields: `{"store":<<false|true>>,` + input(aQuestion, `{"type":"item_reference","id":"rs_1"}`, aCall,
		anOutput)[1:]},
	{rule: "R14", fields: input(aQuestion, `{"role":"assistant","phase":"<<end|final_answer>>","content":"a"}`)},
	{rule: "R15", answer: twoItems,
		fields: input(aQuestion, sentThought, strings.Replace(sentCall, "fc_1", "fc_<<2|1>>", 1),
			anOutput)},
	{rule: "R15", fields: input(aQuestion, strings.Replace(aCall, `{`, `{"id":"fc_1",`, 1),
		`{"type":"function_call","id":"fc_<<1|2>>","call_id":"c2","name":"add","arguments":"{}"}`,
		anOutput, strings.Replace(anOutput, "c1", "c2", 1))},
	{rule: "R15", fields: input(aQuestion, aCall+`<<,`+aCall+`|>>`, anOutput)},
	{rule: "R16", fields: `{"store":true,"previous_response_id":"r"<<,"conversation":"c"|>>}`},
	{rule: "R16", answer: twoItems, fields: `{"store":true,"previous_response_id":"resp_1",` +
		input(`<<` + aCall + `,|>>` + anOutput)[1:]},
	{rule: "R17", answer: twoItems, fields: `{"store":true,"previous_response_id":"resp_<<2|1>>",` + input(anOutput)[1:]},
	{rule: "R18", fields: input(aQuestion, aCall+`<<|,`+anOutput+`>>`)},
	{rule: "R18", answer: twoItems, fields: `{"store":true,"previous_response_id":"resp_1",` +
		input(`<<` + aQuestion + `|` + anOutput + `>>`)[1:]},
	{rule: "R26", fields: `{"background":true,"store":<<false|true>>}`},
	{rule: "K10", fields: `{"tools":<<[]|[` + flatTool + `]>>}`},
	{rule: "K10", fields: `{"tool_choice":"none"<<|,"tools":[` + flatTool + `]>>}`},
	{rule: "K11", fields: `{"tools":[` + strings.Replace(flatTool, "add", "a<<.|_>>b", 1) + `]}`},
	{rule: "K13", fields: input(aQuestion, strings.Replace(aCall, `"{}"`, `<<{}|"{">>`, 1), anOutput)},
	{rule: "K16", fields: input(aQuestion, `<<|`+aCall+`,>>`+anOutput)},
	{rule: "K16", fields: input(aQuestion, aCall, anOutput+`<<,`+anOutput+`|>>`)},
	{rule: "K16", fields: `{"input":<<[]|"hi">>}`},
	{rule: "K17", fields: input(`{"role":"user","content":[{"type":"input_image"<<|,"image_url":"https://h/a.png">>}]}`)},
}

func TestResponses_RefusesBrokenRequests(t *testing.T) {
	requireBroken(t, func() Validator { return Responses() }, responsesURL, responsesBase, responsesBroken)
	requireEveryRule(t, responsesBroken, "responses.go", "responses_input.go")
}

func TestResponses_LearnsFromTheTerminalEventOfAStream(t *testing.T) {
	v := Responses()
	v.Observe(NamedSSE(
		`{"type":"response.output_item.added","item":{"type":"reasoning","id":"rs_1","encrypted_content":"early"}}`,
		`{"type":"response.completed","response":`+twoItems+`}`).Bytes())
	for thought, want := range map[string]int{sentThought: 0, strings.Replace(sentThought, "enc\"", "early\"", 1): 2} {
		body := request(t, responsesBase, input(aQuestion, thought, sentCall, anOutput), 1)
		if faults := v.Validate(post(responsesURL), body); len(faults) != want {
			t.Errorf("%d faults: %v", len(faults), faults)
		}
	}
}
