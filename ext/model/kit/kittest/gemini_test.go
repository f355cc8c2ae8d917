package kittest

import (
	"strings"
	"testing"
)

const (
	geminiURL  = "https://h/v1beta/models/gemini-2.5-flash:generateContent"
	thirdURL   = "https://h/v1beta/models/gemini-3-pro-preview:generateContent"
	geminiBase = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`

	says  = `{"role":"user","parts":[{"text":"hi"}]}`
	calls = `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"b",` +
		`"args":{}}}]}`
	responds = `{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}},` +
		`{"functionResponse":{"name":"b","response":{}}}]}`
	functions = `"tools":[{"functionDeclarations":[{"name":"a"}]}]`

	// An answer with two parallel calls, of which the first has a signature, and a signed empty text.
	signedAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"x1","name":"a","args":{}},` +
		`"thoughtSignature":"c2ln"},{"functionCall":{"id":"x2","name":"b","args":{}}},{"text":"",` +
		`"thoughtSignature":"dGV4dA=="}` +
		`]}}]}`
)

// contents returns the fields of a request with the given contents.
func contents(all ...string) string { return `{"contents":[` + strings.Join(all, ",") + `]}` }

// signedTurn returns a turn of parallel calls with these fields on the first and the second one.
func signedTurn(first, second string) string {
	return contents(says, `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}`+first+
		`},{"functionCall":{"name":"b","args":{}}`+second+`}]}`, responds)
}

func declares(schema string) string {
	return `{"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"object","properties":{"p":` +
		schema + `}}}]}]}`
}

var geminiBroken = []brokenRequest{
	{rule: "G2", fields: `{<<"labels"|"cachedContent">>:"a"}`},
	{rule: "G10", fields: `{"systemInstruction":{"parts":<<[]|[{"text":"be"}]>>}}`},
	{rule: "G10", fields: contents(`{"role":"<<assistant|user>>","parts":[{"text":"hi"}]}`)},
	{rule: "G10", fields: contents(`<<{"role":"model","parts":[{"text":"hi"}]},|>>` + says)},
	{rule: "G10", fields: contents(says, `<<|{"role":"model","parts":[{"text":"hi"}]},>>`+says)},
	{rule: "G10", fields: contents(`{"role":"user","parts":[{"text":"a"<<,"inlineData":{"mimeType":"a/b",` +
		`"data":"aGk="}|>>}]}`)},
	{rule: "G10", fields: contents(`{"role":"user","parts":<<[]|[{"text":"a"}]>>}`)},
	{rule: "G10", fields: contents(says, strings.Replace(calls, `"model"`, `"<<user|model>>"`, 1), responds)},
	{rule: "G10", fields: contents(says, calls, `<<`+says+`,{"role":"model","parts":[{"text":"so"}]},|>>`+responds)},
	{rule: "G10", fields: contents(says, calls, strings.Replace(responds, `,{"functionResponse":{"name":"b",`+
		`"response":{}}}`,
		`<<|,{"functionResponse":{"name":"b","response":{}}}>>`, 1))},
	{rule: "G10", fields: contents(says, calls, strings.Replace(responds, `[`, `[<<{"text":"see"},|>>`, 1))},
	{rule: "G11", fields: `{"tools":[{"functionDeclarations":[{"name":"a"}]}<<,` +
		`{"functionDeclarations":[{"name":"b"}]}|>>]}`},
	{rule: "G11", fields: `{"tools":[{"googleSearch":{}<<,"urlContext":{}|>>}]}`},
	{rule: "G12", fields: `{"tools":[{"functionDeclarations":[{"name":"a"}]},{"googleSearch":{}}],"toolConfig":` +
		`{"includeServerSideToolInvocations":<<false|true>>}}`},
	{rule: "G13", fields: `{<<|` + functions + `,>>"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`},
	{rule: "G13", fields: `{` + functions + `,"toolConfig":{"functionCallingConfig":{"mode":"<<REQUIRED|ANY>>"}}}`},
	{rule: "G13", fields: `{` + functions + `,"toolConfig":{"functionCallingConfig":{"mode":"<<AUTO|ANY>>",` +
		`"allowedFunctionNames":["a"]}}}`},
	{rule: "G13", fields: `{` + functions + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY",` +
		`"allowedFunctionNames":["<<b|a>>"]}}}`},
	{rule: "G14", fields: contents(says, calls, strings.Replace(responds, `"response":{}`, `"response":<<"a"|{}>>`, 1))},
	{rule: "G14", fields: contents(says, calls, strings.Replace(responds, `"name":"a"`, `"name":"<<c|a>>"`, 1))},
	{rule: "G14", fields: contents(says, calls, strings.Replace(responds, `"name":"a"`, `"name":"<<|a>>"`, 1))},
	{rule: "G15", fields: strings.ReplaceAll(contents(says, calls, responds), `"name":"a"`, `"name":"a",`+
		`"id":"<<call_|>>1"`)},
	{rule: "G15", answer: signedAnswer,
		fields: strings.ReplaceAll(signedTurn(`,"thoughtSignature":"c2ln"`, ``), `"name":"a"`,
			`"name":"a","id":"<<y|x>>1"`)},
	{rule: "G15", fields: contents(says, strings.Replace(calls, `"name":"a"`, `"name":"a"<<,"id":"x1"|>>`, 1), responds)},
	{rule: "G16", answer: signedAnswer, fields: signedTurn(`<<|,"thoughtSignature":"c2ln">>`, ``)},
	{rule: "G16", answer: signedAnswer,
		fields: signedTurn(`,"thoughtSignature":"c2ln"`, `<<,"thoughtSignature":"c2ln"|>>`)},
	{rule: "G16", answer: signedAnswer, fields: signedTurn(`,"thoughtSignature":"<<eA==|c2ln>>"`, ``)},
	{rule: "G16", answer: signedAnswer,
		fields: contents(says, `{"role":"model","parts":[{"text":"<<a|>>","thoughtSignature":`+
			`"dGV4dA=="}]}`, says)},
	{rule: "G16", url: thirdURL, fields: signedTurn(`<<|,"thoughtSignature":"c2ln">>`, ``)},
	{rule: "G16", url: thirdURL,
		fields: contents(says, calls, responds+`<<|,{"role":"model","parts":[{"text":"a"}]},`+says+`>>`)},
	{rule: "G16", fields: signedTurn(`,"thoughtSignature":"<<?|c2ln>>"`, ``)},
	{rule: "G16", fields: contents(`{"role":"user","parts":[{"text":"hi"<<,"thoughtSignature":"c2ln"|>>}]}`)},
	{rule: "G17", url: thirdURL, fields: signedTurn(`,"thoughtSignature":"`+bypassSignature+`"`,
		`<<,"thoughtSignature":"`+bypassSignature+`"|>>`)},
	{rule: "G17", fields: signedTurn(`,"thoughtSignature":"`+bypassSignature+`"`, `<<,"thoughtSignature":"c2ln"|>>`)},
	{rule: "G19", fields: `{"generationConfig":{"thinkingConfig":{"thinkingBudget":1<<,"thinkingLevel":"LOW"|>>}}}`},
	{rule: "G19", url: thirdURL, fields: `{"generationConfig":{"thinkingConfig":{"thinking<<Budget":1|Level":"LOW">>}}}`},
	{rule: "G19", fields: `{"generationConfig":{"thinkingConfig":{"thinking<<Level":"LOW"|Budget":1>>}}}`},
	{rule: "G19", url: strings.Replace(geminiURL, "flash", "pro", 1),
		fields: `{"generationConfig":{"thinkingConfig":{"thinkingBudget":<<0|128>>}}}`},
	{rule: "G20", fields: declares(`{"type":"string"<<,"pattern":"a"|>>}`)},
	{rule: "G20", fields: declares(`{<<"$ref":"#/$defs/p"|"type":"string">>}`)},
	{rule: "G20", fields: declares(`{"type":<<["string","null"]|"string">>}`)},
	{rule: "G20", fields: declares(`{"type":"array"<<|,"items":{"type":"string"}>>}`)},
	{rule: "G20", fields: declares(`{"type":"string","enum":[<<1|"1">>]}`)},
	{rule: "G20", fields: declares(`{"type":"string","format":"<<uri|date-time>>"}`)},
	{rule: "G20", fields: declares(`{"type":"object","properties":{"a":{"type":"string"}},"required":["<<b|a>>"]}`)},
	{rule: "G20", fields: declares(`{"anyOf":[{"type":"string"<<,"not":{}|>>}]}`)},
	{rule: "G20", fields: `{"generationConfig":{"responseJsonSchema":{"type":"object"}<<|,` +
		`"responseMimeType":"application/json">>}}`},
	{rule: "G20", fields: `{"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"object",` +
		`"properties":{}}` +
		`<<,"parameters":{"type":"OBJECT","properties":{}}|>>}]}]}`},
	{rule: "G21", fields: `{<<` + functions + `,|>>"generationConfig":{"responseMimeType":"application/json"}}`},
	{rule: "G22", fields: contents(`{"role":"user","parts":[{"fileData":{"fileUri":"<<|gs://a/b>>"}}]}`)},
	{rule: "G23", fields: `{"cachedContent":"cachedContents/a"<<,"systemInstruction":{"parts":[{"text":"a"}]}|>>}`},
	{rule: "G23", fields: `{"cachedContent":"cachedContents/a"<<,` + functions + `|>>}`},
	{rule: "G24", fields: `{"generationConfig":{"<<maxTokens|maxOutputTokens>>":5}}`},
	{rule: "G24", fields: `{"generationConfig":{"temperature":<<3|2>>}}`},
	{rule: "G25", fields: contents(`{"role":"user","parts":[{"text":"<<|a>>"}]}`)},
	{rule: "K10", fields: `{"tools":[{"functionDeclarations":<<[]|[{"name":"a"}]>>}]}`},
	{rule: "K10", fields: `{"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"<<STRING|OBJECT>>",` +
		`"properties":{}}}]}]}`},
	{rule: "K11", fields: `{"tools":[{"functionDeclarations":[{"name":"<<1|a>>"}]}]}`},
	{rule: "K11", fields: `{"tools":[{"functionDeclarations":[{"name":"a"},{"name":"<<a|b>>"}]}]}`},
	{rule: "K13", fields: contents(says, strings.Replace(calls, `"args":{}`, `"args":<<"{}"|{}>>`, 1), responds)},
	{rule: "K16", fields: contents(says, calls+`<<|,`+responds+`>>`)},
	{rule: "K16", fields: `{"contents":<<[]|[` + says + `]>>}`},
	{rule: "K17", fields: contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"<<|image/png>>",` +
		`"data":"aGk="}}]}`)},
}

var vertexBroken = []brokenRequest{
	{rule: "G15", fields: strings.ReplaceAll(contents(says, calls, responds), `"name":"a"`, `"name":"a"<<,"id":"1"|>>`)},
	{rule: "G12", fields: `{"tools":[{"functionDeclarations":[{"name":"a"}]}<<,{"googleSearch":{}}|>>]}`},
	{rule: "G2", fields: `{"label<<|s>>":{"a":"b"}}`},
}

func TestGemini_RefusesBrokenRequests(t *testing.T) {
	requireBroken(t, func() Validator { return Gemini(GeminiAPI) }, geminiURL, geminiBase, geminiBroken)
	requireBroken(t, func() Validator { return Gemini(GeminiVertex) }, geminiURL, geminiBase, vertexBroken)
	requireEveryRule(t, geminiBroken, "gemini.go", "gemini_contents.go")
}

func TestGemini_ChecksTheURL(t *testing.T) {
	for url, want := range map[string]int{
		"https://h/v1beta/models/m:streamGenerateContent?alt=sse": 0,
		"https://h/v1beta/models/m:streamGenerateContent":         1,
		"https://h/v1beta/chat/completions":                       1,
	} {
		if faults := Gemini(GeminiAPI).Validate(post(url), []byte(geminiBase)); len(faults) != want {
			t.Error(url, faults)
		}
	}
}
