package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weftgo/weft/adk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A library of the Gemini client has a goroutine for as long as the process lives.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// A service answers request after request with the texts it was given, and keeps the requests.
type service struct {
	URL    string
	client *http.Client

	mu       sync.Mutex // mu guards answers and requests
	answers  []string
	requests []string
}

func newService(t *testing.T, contentType string, answers ...string) *service {
	t.Helper()
	s := &service{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.URL.String()+" "+string(body))
		if err != nil || len(s.answers) == 0 {
			http.Error(w, "no more answers", http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, s.answers[0])
		s.answers = s.answers[1:]
	}))
	s.URL, s.client = server.URL, server.Client()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		server.Close()
	})
	return s
}

// request returns what the service was asked the n-th time.
func (s *service) request(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.requests) {
		return ""
	}
	return s.requests[n]
}

// completion is an answer of a chat model as a stream of Chat Completions.
func completion(deltas ...map[string]any) string {
	var b strings.Builder
	for i, delta := range deltas {
		reason := any(nil)
		if i == len(deltas)-1 {
			reason = "stop"
		}
		chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "m",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
		fmt.Fprintf(&b, "data: %s\n\n", chunk)
	}
	return b.String() + "data: [DONE]\n\n"
}

// said is a piece of text, called a call of a tool.
func said(text string) map[string]any { return map[string]any{"role": "assistant", "content": text} }

func called(name, arguments string) map[string]any {
	return map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": "call_" + name,
		"type": "function", "function": map[string]any{"name": name, "arguments": arguments}}}}
}

// drain reads a run to its end, and returns the texts of its messages.
func drain(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (texts []string) {
	t.Helper()
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			t.Fatal(event.Err)
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			t.Fatal(err)
		}
		if message != nil {
			texts = append(texts, string(message.Role)+": "+message.Content)
		}
	}
	return texts
}
