package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/examples/internal/demotest"
	"github.com/weftgo/weft/examples/internal/llm"
	"github.com/weftgo/weft/ext/model/kit/kittest"
)

func TestMain(m *testing.M) {
	if demotest.RunsAs(main) {
		return
	}
	for _, p := range llm.Providers { // the tests choose the model
		for _, name := range []string{"_API_KEY", "_BASE_URL", "_MODEL"} {
			os.Unsetenv(p.Prefix + name)
		}
	}
	goleak.VerifyTestMain(m)
}

// project is a directory with a little Go code, which becomes the current one.
func project(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module example\n",
		"main.go":       "package main\n\nfunc main() {}\n",
		"lib/lib.go":    "package lib\n\n// Answer is the answer.\nconst Answer = 42\n\nvar Other = 1\n",
		".git/config":   "hidden Answer\n",
		"lib/image.bin": "Answer\x00\x01",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Chdir(dir)
}

// ask runs the program and returns what it printed.
func ask(t *testing.T, ctx context.Context, question string) (string, error) {
	t.Helper()
	var out strings.Builder
	if question == "" {
		question = defaultQuestion
	}
	err := run(ctx, question, &out)
	return out.String(), err
}

func TestDemoModel_AnswersWhatItCan(t *testing.T) {
	project(t)
	for question, wants := range map[string][]string{
		"How large is lib?": {"Package lib has 6 lines.", "→ count_lines({})"},
		"": {"The project has 9 lines in 2 Go files of 2 packages",
			"The largest package is lib with 6 lines", "→ count_lines({})", "[2 model calls, "},
		`find "Answer"`: {"There are 2 matches", "lib/lib.go:3: // Answer is the answer.",
			"lib/lib.go:4: const Answer = 42"},
		"where is Answer defined?":      {"Answer is defined in lib/lib.go:4:\n    const Answer = 42"},
		"Where's lib.Answer declared?":  {"Answer is defined in lib/lib.go:4"},
		"where is Missing defined?":     {"I find no definition of Missing here.", "Nothing mentions it, either."},
		"where is 'the answer' defined": {"I find no definition of the answer here.", "It is mentioned, though: there is 1 match"},
		"list the files":                {"There are 4 files", "go.mod"},
		"where is lib.go?":              {"There is 1 file: lib/lib.go."},
		"show me main.go":               {"It begins:\npackage main"},
		"show me nofile.go":             {"I cannot read it: nofile.go: no such file or directory"},
		"show me lib/image.bin":         {"I cannot read it: ", "this is no text file"},
		"find nothingofthiskind":        {`Nothing here contains "nothingofthiskind".`},
		"what is in ../secret.md":       {"path escapes"},
		"describe this project":         {"→ count_lines({})", "→ list_files({})"},
	} {
		t.Run(question, func(t *testing.T) {
			out, err := ask(t, context.Background(), question)
			require.NoError(t, err)
			for _, want := range wants {
				require.Contains(t, out, want)
			}
			require.Contains(t, out, "built-in demo model")
		})
	}
	again, err := ask(t, context.Background(), "")
	require.NoError(t, err)
	once, err := ask(t, context.Background(), "")
	require.NoError(t, err)
	require.Equal(t, once, again, "the demo model is deterministic")
}

// TestDemoModel_AnswersTheQuestionOfTheReadme asks what README.md proposes, about this repository.
func TestDemoModel_AnswersTheQuestionOfTheReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	const question = "where is ErrNoValue defined?"
	require.Contains(t, strings.Join(strings.Fields(string(page)), " "), question)
	t.Chdir("../..")
	out, err := ask(t, context.Background(), question)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^schema/stream_convert.go:\d+: var ErrNoValue = errors.New`, out)
}

func TestDemoModel_SaysWhatItIsAndWhatItDoesNotKnow(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, questions := range map[string][]string{
		"Hello! I am the built-in demo model": {"hello", "Hi there!", "good morning"},
		"You are welcome.":                    {"thanks", "Thank you very much!", "bye"},
		"a few rules instead of":              {"who are you?", "help", "what can you do?"},
		"I do not know that":                  {"what's the weather in Paris?", "tell me a joke", "why?", "what is 2+2?", "ещё"},
	} {
		for _, question := range questions {
			out, err := ask(t, context.Background(), question)
			require.NoError(t, err)
			require.Contains(t, out, want, question)
			require.NotContains(t, out, "→", question)
		}
	}
}

func TestQuickstart_RealModel(t *testing.T) {
	project(t)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w,
				`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)
			return
		}
		requests++
		delta := map[string]any{"role": "assistant", "content": "It has 9 lines."}
		if requests == 1 {
			delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": "count_lines", "arguments": "{}"},
			}}}
		}
		chunk, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{
			map[string]any{"index": 0, "delta": delta, "finish_reason": "stop"},
		}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	defer server.Close()
	t.Setenv("OPENAI_BASE_URL", server.URL)
	t.Setenv("OPENAI_API_KEY", "good")
	out, err := ask(t, context.Background(), "how large?")
	require.NoError(t, err)
	require.Contains(t, out, "← count_lines: 9 lines in 2 Go files")
	require.Contains(t, out, "It has 9 lines.")

	t.Setenv("OPENAI_API_KEY", "bad-secret-key")
	_, err = ask(t, context.Background(), "how large?")
	require.Error(t, err)
	line := oneLine(err)
	require.Contains(t, line, "Incorrect API key provided")
	require.NotContains(t, line, "bad-secret-key")
	require.NotContains(t, line, "\n")
}

func TestQuickstart_TakesTheKeyOfAnyProvider(t *testing.T) {
	for _, p := range llm.Providers {
		t.Run(p.Prefix, func(t *testing.T) {
			project(t)
			answer := kittest.ChatStream("It is ", "small.")
			var rules kittest.Validator
			switch p.Prefix {
			case "ANTHROPIC":
				answer, rules = kittest.AnthropicStream("It is ", "small."), kittest.Anthropic()
			case "GEMINI":
				answer, rules = kittest.GeminiStream("It is ", "small."), kittest.Gemini(kittest.GeminiAPI)
			}
			server := kittest.Server(t, rules, answer)
			t.Setenv(p.Prefix+"_API_KEY", "the-key")
			t.Setenv(p.Prefix+"_BASE_URL", server.URL)
			out, err := ask(t, context.Background(), "how large?")
			require.NoError(t, err)
			require.Contains(t, out, "It is small.")
			require.Contains(t, out, "Using model "+p.Model+" at "+server.URL)
			require.Len(t, server.Requests(), 1)
		})
	}
}

func TestQuickstart_StopsWhenTheContextEnds(t *testing.T) {
	project(t)
	blocked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or else the server does not notice that the client is gone
		close(blocked)
		<-r.Context().Done()
	}))
	defer server.Close()
	t.Setenv("OPENAI_BASE_URL", server.URL)
	t.Setenv("OPENAI_API_KEY", "key")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		<-blocked
		cancel()
	}()
	_, err := ask(t, ctx, "how large?")
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
}
