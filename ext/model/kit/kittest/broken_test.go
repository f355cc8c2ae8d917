package kittest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A brokenRequest is a request that breaks one rule, and its mended twin. Both are a base with other fields; a null
// deletes one. What differs between the two is written <<broken|mended>>.
type brokenRequest struct {
	rule, fields string
	url          string // instead of the base's; may differ between the two
	answer       string // that the validator observes before
}

var alternatives = regexp.MustCompile(`(?s)<<(.*?)\|(.*?)>>`)

func request(t *testing.T, base, fields string, alternative int) []byte {
	t.Helper()
	body := map[string]json.RawMessage{}
	for _, text := range []string{base, alternatives.ReplaceAllString(fields, []string{"", "$1", "$2"}[alternative])} {
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	for key, value := range body {
		if string(value) == "null" {
			delete(body, key)
		}
	}
	data, _ := json.Marshal(body)
	return data
}

// requireBroken checks that each request breaks its rule and that its twin breaks none.
func requireBroken(t *testing.T, newValidator func() Validator, url, base string, cases []brokenRequest) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.rule+" "+strings.Join(alternatives.FindStringSubmatch(c.fields)[1:2], ""), func(t *testing.T) {
			for alternative := 1; alternative <= 2; alternative++ {
				v := newValidator()
				if c.answer != "" {
					v.(Observer).Observe([]byte(c.answer))
				}
				target := url
				if c.url != "" {
					target = c.url
				}
				body := request(t, base, c.fields, alternative)
				faults := v.Validate(post(target), body)
				if alternative == 2 && len(faults) > 0 {
					t.Errorf("the mended request is refused: %v\n%s", faults, body)
				}
				broken := slices.ContainsFunc(faults, func(f Fault) bool { return f.Rule == c.rule })
				if alternative == 1 && !broken {
					t.Errorf("the broken request does not break %s: %v\n%s", c.rule, faults, body)
				}
			}
		})
	}
}

func post(url string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, url, nil)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	return req
}

var ruleInSource = regexp.MustCompile(`\("([A-Z]{1,3}[0-9]+)"`)

// requireEveryRule checks that each rule in the files has a broken request.
func requireEveryRule(t *testing.T, cases []brokenRequest, files ...string) {
	t.Helper()
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ruleInSource.FindAllStringSubmatch(string(source), -1) {
			if !slices.ContainsFunc(cases, func(c brokenRequest) bool { return c.rule == m[1] }) {
				t.Errorf("%s: no request breaks %s", file, m[1])
			}
		}
	}
}

func TestValidate_RefusesWhatIsNoRequest(t *testing.T) {
	for name, c := range map[string]struct {
		method, kind, body, rule string
	}{
		"method": {http.MethodGet, "application/json", `{}`, "HTTP"},
		"type":   {http.MethodPost, "text/plain", `{}`, "HTTP"},
		"empty":  {http.MethodPost, "application/json", ``, "JSON"},
		"null":   {http.MethodPost, "application/json", `null`, "JSON"},
		"list":   {http.MethodPost, "application/json", `[]`, "JSON"},
		"two":    {http.MethodPost, "application/json", `{} {}`, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range allValidators() {
				req := httptest.NewRequest(c.method, "/v1/x", nil)
				req.Header.Set("Content-Type", c.kind)
				faults := v.Validate(req, []byte(c.body))
				if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Rule == c.rule }) {
					t.Errorf("%T: %v", v, faults)
				}
			}
		})
	}
}

// allValidators returns one of each kind.
func allValidators() []Validator {
	return []Validator{ChatCompletions(ChatOpenAI), Responses(), Anthropic(), Gemini(GeminiAPI), Gemini(GeminiVertex),
		Ollama(), Embeddings(0), GeminiEmbeddings()}
}

// TestValidate_TakesAnything checks that no request makes a validator panic.
func TestValidate_TakesAnything(t *testing.T) {
	odd := []string{`null`, `1`, `"x"`, `[]`, `[null]`, `[1]`, `{}`, `[{}]`, `[{"role":"user","content":[null]}]`,
		`[{"role":"assistant","tool_calls":[null],"content":[{"type":"tool_use"}],"parts":[{"functionCall":1}]}]`,
		`[{"type":"function_call"},{"type":"reasoning"}]`, `[{"role":"model","parts":[null,{"functionResponse":{}}]}]`}
	fields := []string{"messages", "tools", "tool_choice", "contents", "input", "system", "thinking", "generationConfig",
		"toolConfig", "text", "reasoning", "include", "systemInstruction", "response_format", "requests", "options"}
	urls := []string{geminiURL, batchURL, chatURL, anthropicURL, "http://h/api/chat", "http://h/api/embed"}
	for _, v := range allValidators() {
		for _, field := range fields {
			for n, value := range odd {
				body := `{"model":"gpt-5","contents":[],"` + field + `":` + value + `}`
				for _, url := range urls {
					v.Validate(post(url), []byte(body))
				}
				v.Validate(post(urls[n%len(urls)]), []byte(`{"requests":[`+body+`],"input":[`+value+`],"content":`+value+`}`))
			}
		}
		if o, ok := v.(Observer); ok {
			for _, value := range odd {
				o.Observe([]byte(`{"content":` + value + `,"output":` + value + `,"candidates":` + value + `}`))
			}
		}
	}
}

// TestObserve_NothingRefusesValuesOfOthers sends values of another service to one that has issued none.
func TestObserve_NothingRefusesValuesOfOthers(t *testing.T) {
	thought := after(`{"type":"thinking","thinking":"","signature":"c2ln"}`)
	for rule, c := range map[string]struct {
		v                 Observer
		url, base, fields string
	}{
		"A15": {Anthropic(), anthropicURL, anthropicBase, `{` + thought + `}`},
		"R15": {Responses(), responsesURL, responsesBase, input(aQuestion, sentCall, anOutput)},
		"G16": {Gemini(GeminiAPI), geminiURL, geminiBase, signedTurn(`,"thoughtSignature":"c2ln"`, ``)},
	} {
		body := request(t, c.base, c.fields, 1)
		if faults := c.v.Validate(post(c.url), body); faults != nil {
			t.Errorf("%s, before: %v", rule, faults)
		}
		c.v.Observe(nil)
		if faults := c.v.Validate(post(c.url), body); len(faults) != 1 || faults[0].Rule != rule {
			t.Errorf("%s: %v", rule, faults)
		}
	}
}
