package kittest

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

var embeddingsBroken = []brokenRequest{
	{rule: "E2", fields: `{"model":<<""|"m">>}`},
	{rule: "E2", fields: `{"encoding_format":"<<int8|base64>>"}`},
	{rule: "E2", fields: `{"dimensions":<<0|1>>}`},
	{rule: "E2", fields: `{<<"truncate"|"user">>:"a"}`},
	{rule: "E2", fields: `{"input":["a","b"<<,"c"|>>]}`},
	{rule: "E2", fields: `{"input":<<[]|["a"]>>}`},
	{rule: "E2", fields: `{"input":["` + strings.Repeat("a", maxInput) + `<<a|>>"]}`},
	{rule: "E3", fields: `{"input":["a","<<| >>"]}`},
	{rule: "E3", fields: `{"input":"<<|a>>"}`},
}

const batchURL = "https://h/v1beta/models/e:batchEmbedContents"

func embeds(fields string) string {
	return `{"requests":[{"model":"models/e","content":{"parts":[{"text":"a"}]}` + fields + `}]}`
}

var geminiEmbeddingsBroken = []brokenRequest{
	{rule: "E3", fields: strings.Replace(embeds(``), `"text":"a"`, `"text":"<<|a>>"`, 1)},
	{rule: "E4", fields: strings.Replace(embeds(``), `models/e`, `<<|models/>>e`, 1)},
	{rule: "E4", fields: embeds(`,"taskType":"<<retrieval|CLUSTERING>>"`)},
	{rule: "E4", fields: embeds(`,"title":"a"<<|,"taskType":"RETRIEVAL_DOCUMENT">>`)},
	{rule: "E4", fields: embeds(`<<,"normalize":true|>>`)},
	{rule: "E4", fields: embeds(strings.Repeat(`},{"model":"models/e","content":{"parts":[{"text":"a"}]}`, 99) +
		`<<},{"model":"models/e","content":{"parts":[{"text":"a"}]}|>>`)},
	{rule: "E4", url: strings.Replace(batchURL, "batchEmbedContents", "embedContent", 1), fields: `{"requests":null,` +
		`"content":{"parts":<<[]|[{"text":"a"}]>>}}`},
}

const (
	vertexModels = "https://h/v1/projects/p/locations/l/publishers/google/models/"
	predictURL   = vertexModels + "gemini-embedding-001:predict"
	contentURL   = vertexModels + "gemini-embedding-2:embedContent"
)

var predictBroken = []brokenRequest{
	{rule: "E3", fields: `{"instances":[{"content":"<<|a>>"}]}`},
	{rule: "E4", fields: `{"instances":[{"content":"a"}<<,{"content":"b"}|>>]}`},
	{rule: "E4", fields: `{"instances":[{"content":"a","<<taskType|task_type>>":"CLUSTERING"}]}`},
	{rule: "E4", fields: `{"parameters":{"outputDimensionality":<<0|1>>}}`},
	{rule: "E5", fields: `{"parameters":{"autoTruncate":<<"no"|false>>}}`},
}

var vertexContentBroken = []brokenRequest{
	{rule: "E3", fields: `{"content":{"parts":[{"text":"<<|a>>"}]}}`},
	{rule: "E4", fields: `{"embedContentConfig":{"<<task_type|taskType>>":"CLUSTERING"}}`},
	{rule: "E4", fields: `{<<"taskType":"CLUSTERING"|"content":{"parts":[{"text":"b"}]}>>}`},
	{rule: "E5", fields: `{"embedContentConfig":{"autoTruncate":<<"no"|false>>}}`},
}

func TestEmbeddings_RefuseBrokenRequests(t *testing.T) {
	requireBroken(t, func() Validator { return Embeddings(2) }, "https://h/v1/embeddings", `{"model":"m","input":"a"}`,
		embeddingsBroken)
	requireBroken(t, GeminiEmbeddings, batchURL, embeds(``), geminiEmbeddingsBroken)
	requireBroken(t, GeminiEmbeddings, predictURL, `{"instances":[{"content":"a"}]}`, predictBroken)
	requireBroken(t, GeminiEmbeddings, contentURL, `{"content":{"parts":[{"text":"a"}]}}`, vertexContentBroken)
	requireEveryRule(t, slices.Concat(embeddingsBroken, geminiEmbeddingsBroken, predictBroken), "embeddings.go")
}

func TestGeminiEmbeddings_KnowTheMethodOfEachModel(t *testing.T) {
	for method, want := range map[string]bool{
		"gemini-embedding-001:predict": true, "text-embedding-005:predict": true, "gemini-embedding-2:embedContent": true,
		"gemini-embedding-001:embedContent": false, "gemini-embedding-2:predict": false,
		"gemini-embedding-2:batchEmbedContents": false, "e5-maas:predict": false,
	} {
		body := `{"content":{"parts":[{"text":"a"}]}}`
		if strings.HasSuffix(method, "predict") {
			body = `{"instances":[{"content":"a"}]}`
		}
		faults := GeminiEmbeddings().Validate(post(vertexModels+method), []byte(body))
		if (len(faults) == 0) != want {
			t.Error(method, faults)
		}
	}
}

func TestEmbeddings_LimitOfOpenAI(t *testing.T) {
	for n, want := range map[int]int{2048: 0, 2049: 1} {
		body := `{"model":"m","input":["a"` + strings.Repeat(`,"a"`, n-1) + `]}`
		if faults := Embeddings(0).Validate(post("https://h/v1/embeddings"), []byte(body)); len(faults) != want {
			t.Error(n, faults)
		}
	}
}

const ollamaSays = `{"messages":[{"role":"user","content":"hi"},{"role":"assistant",` +
	`"tool_calls":[{"function":{"name":"a",` +
	`"arguments":{}}}]},{"role":"tool","tool_name":"a","content":"1"}]}`

var ollamaBroken = []brokenRequest{
	{rule: "O2", fields: `{"model":<<""|"m">>}`},
	{rule: "O2", fields: `{"options":{"<<max_tokens|num_predict>>":5}}`},
	{rule: "O2", fields: `{<<"temperature":1|"options":{"temperature":1}>>}`},
	{rule: "O2", fields: `{"think":"<<on|low>>"}`},
	{rule: "O2", fields: `{"format":<<"json_object"|{"type":"object"}>>}`},
	{rule: "O2", fields: `{"keep_alive":<<true|"5m">>}`},
	{rule: "O2", fields: `{"messages":[{"role":"<<developer|system>>","content":"hi"}]}`},
	{rule: "O2", fields: `{"messages":[{"role":"user","content":<<[{"type":"text","text":"hi"}]|"hi">>}]}`},
	{rule: "O2", fields: strings.Replace(ollamaSays, `"tool_name":"a",`, `<<|"tool_name":"a",>>`, 1)},
	{rule: "O2", fields: `{"tools":[{<<|"type":"function",>>"function":{"name":"a","parameters":{"type":"object",` +
		`"properties":{}}}}]}`},
	{rule: "K10", fields: `{"tools":<<[]|null>>}`},
	{rule: "K11", fields: `{"tools":[{"type":"function","function":{"name":"<<|a>>","parameters":{"type":"object",` +
		`"properties":{}}}}]}`},
	{rule: "K13", fields: strings.Replace(ollamaSays, `"arguments":{}`, `"arguments":<<"{}"|{}>>`, 1)},
	{rule: "K16", fields: strings.Replace(ollamaSays, `"tool_name":"a"`, `"tool_name":"<<b|a>>"`, 1)},
	{rule: "K16", fields: strings.Replace(ollamaSays, `,{"role":"tool"`, `<<,{"role":"user","content":"?"}|>>,`+
		`{"role":"tool"`, 1)},
	{rule: "K16", fields: `{"messages":<<[]|[{"role":"user","content":"a"}]>>}`},
	{rule: "K17", fields: `{"messages":[{"role":"user","content":"hi","images":["<<data:image/png;base64,|>>aGk="]}]}`},
	{rule: "E3", url: "http://h/api/embed", fields: `{"messages":null,"input":"<<|a>>"}`},
}

func TestOllama_RefusesBrokenRequests(t *testing.T) {
	requireBroken(t, Ollama, "http://h/api/chat", `{"model":"m","messages":[{"role":"user",`+
		`"content":"hi"}]}`, ollamaBroken)
	requireEveryRule(t, ollamaBroken, "ollama.go")
}

func TestValidators_RefuseWithTheirFaults(t *testing.T) {
	for _, v := range allValidators() {
		w := httptest.NewRecorder()
		v.Refuse(w, []Fault{{Path: "some.path", Rule: "X1", Text: "is wrong"}})
		if w.Code != 400 || !strings.Contains(w.Body.String(), "some.path: is wrong (X1)") {
			t.Errorf("%T: %d %s", v, w.Code, w.Body)
		}
	}
}
