package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// polite is a model that always says the same.
type polite struct{}

func (polite) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("You are welcome.", nil), nil
}

func (p polite) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (
	*schema.StreamReader[*schema.Message], error,
) {
	m, err := p.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

// An agent behind HTTP: a client starts a run, and waits for its result.
func ExampleNew() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "desk", Description: "Answers.", Model: polite{}})
	if err != nil {
		panic(err)
	}
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(srv)
	defer web.Close()
	defer func() { _ = srv.Shutdown(ctx) }()

	r, _ := http.NewRequest(http.MethodPost, web.URL+"/agents/desk/runs", strings.NewReader(`{"input": "Thank you!"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=10")
	answer, err := web.Client().Do(r)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, strings.Contains(string(body), "You are welcome."))
	// Output: 201 true
}

// A protocol of one's own: the text of the agent as it comes, each piece an event.
func ExampleServer_Stream() {
	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "desk", Description: "Answers.", Model: polite{}})
	if err != nil {
		panic(err)
	}
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = srv.Shutdown(ctx) }()
	handler := srv.Protect(srv.Handle(func(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
		run, err := c.Start(r.Context(), serve.Start{Agent: "desk",
			Messages: []*schema.Message{schema.UserMessage(r.URL.Query().Get("q"))}})
		if err != nil {
			return err
		}
		return srv.Stream(w, r, c, serve.StreamConfig{Run: run.ID, OnDisconnect: serve.CancelAfter(0), Translate: texts})
	}, nil), nil)

	r := httptest.NewRequest(http.MethodGet, "http://localhost/?q=Thanks", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	_, frames, _ := strings.Cut(w.Body.String(), "\n\n")
	fmt.Print(strings.TrimSpace(frames))
	// Output: data: {"text":"You are welcome."}
}

// texts writes the text of models.
func texts(e *runlog.Event, out *serve.Frames) {
	if d, ok := e.Data.(*runlog.ModelDeltaData); ok && d.Kind == runlog.Text {
		out.SendJSON("", "", map[string]string{"text": d.Text})
	}
}
