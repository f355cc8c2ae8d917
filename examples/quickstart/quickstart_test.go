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

	"github.com/weftgo/weft/ext/model/kit/kittest"
)

func TestMain(m *testing.M) {
	for _, p := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "GROQ", "XAI", "DEEPSEEK", "MISTRAL"} { // the tests choose the model
		os.Unsetenv(p + "_API_KEY")
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
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	printed := make(chan string)
	go func() {
		var sb strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			sb.Write(buf[:n])
			if err != nil {
				printed <- sb.String()
				return
			}
		}
	}()
	err = run(ctx, question)
	os.Stdout = stdout
	w.Close()
	return <-printed, err
}

func TestQuickstart_DemoModel(t *testing.T) {
	project(t)
	for question, wants := range map[string][]string{
		"How large is lib?": {"Package lib has 6 lines.", "→ count_lines({})"},
		"": {"The project has 9 lines in 2 Go files of 2 packages",
			"The largest package is lib with 6 lines", "→ count_lines({})", "[2 model calls, "},
		`where is "Answer"?`: {"There are 2 matches", "lib/lib.go:3: // Answer is the answer.",
			"lib/lib.go:4: const Answer = 42"},
		"list the files":          {"There are 4 files", "go.mod"},
		"show me main.go":         {"It begins:\npackage main"},
		"tell me something":       {"→ count_lines({})", "→ list_files({})"},
		"find nothingofthiskind":  {"Nothing matches."},
		"what is in ../secret.md": {"path escapes"},
	} {
		t.Run(question, func(t *testing.T) {
			out, err := ask(t, context.Background(), question)
			if err != nil {
				out += err.Error()
			}
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
	for _, p := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "GROQ", "XAI", "DEEPSEEK", "MISTRAL"} {
		t.Run(p, func(t *testing.T) {
			project(t)
			answer := kittest.ChatStream("It is ", "small.")
			var rules kittest.Validator
			switch p {
			case "ANTHROPIC":
				answer, rules = kittest.AnthropicStream("It is ", "small."), kittest.Anthropic()
			case "GEMINI":
				answer, rules = kittest.GeminiStream("It is ", "small."), kittest.Gemini(kittest.GeminiAPI)
			}
			server := kittest.Server(t, rules, answer)
			t.Setenv(p+"_API_KEY", "the-key")
			t.Setenv(p+"_BASE_URL", server.URL)
			out, err := ask(t, context.Background(), "how large?")
			require.NoError(t, err)
			require.Contains(t, out, "It is small.")
			require.Contains(t, out, "Using model ")
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
