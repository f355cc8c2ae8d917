// Webchat is a chat in the browser: answers as they are written, calls of tools, approvals, a stop button. The server is
// this file, the page is page.html: no build, no dependencies. They speak AG-UI, and the native API for what that has
// not: threads, and stopping a run.
//
//	go run ./examples/webchat -addr 127.0.0.1:8080 -data ./webchat
//
// Conversations are kept in -data: stop the server while it waits for an approval, start it again, and approve then.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/agui"
)

//go:embed page.html
var page []byte

type city struct {
	Name string `json:"name" jsonschema:"description=name of the city"`
}

func weather(_ context.Context, in city) (string, error) {
	return "23 degrees and sunny in " + in.Name, nil
}

type refund struct {
	Euros int `json:"euros" jsonschema:"minimum=1"`
}

func pay(_ context.Context, in refund) (string, error) {
	log.Printf("paying %d euros", in.Euros)
	return fmt.Sprintf("%d euros are on their way", in.Euros), nil
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	data := flag.String("data", "webchat-data", "the directory that the conversations are in")
	flag.Parse()
	m, which, err := llm.Open(context.Background(), &demo.Model{Answer: answer, Pace: 30 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(which)
	desk, err := newDesk(m)
	if err != nil {
		log.Fatal(err)
	}
	srv, err := newServer(desk, *data)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	web := &http.Server{Handler: handler(srv), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(done)
		within, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := srv.Shutdown(within); err != nil { // runs stop where nothing is lost, and continue after the next start
			log.Print(err)
		}
		_ = web.Shutdown(within)
	})
	if err := web.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	<-done
}

// newDesk makes the agent.
func newDesk(m weft.Model) (*weft.Agent, error) {
	return weft.New(weft.Config{
		Name:        "desk",
		Description: "Answers questions of customers.",
		Instruction: "You are the support desk of a shop. Be brief.",
		Model:       m,
		Tools: []weft.Tool{
			weft.Func("weather", "Tells the weather in a city.", weather),
			weft.Func("refund", "Pays money back to the customer.", pay),
		},
		Approve: []string{"refund"},
	})
}

// newServer serves the agent. Runs, threads and events are in a directory.
func newServer(desk adk.Agent, dir string) (*serve.Server, error) {
	runs, err := checkpoint.NewFileStore(dir + "/runs")
	if err != nil {
		return nil, err
	}
	events, err := runlog.NewFileStore(dir + "/events")
	if err != nil {
		return nil, err
	}
	return serve.New(serve.Config{Agents: []adk.Agent{desk}, Store: runs, Events: events})
}

// handler has the page, the protocol that it speaks, and the native API.
func handler(srv *serve.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'")
		_, _ = w.Write(page)
	})
	mux.Handle("/agui/{agent}", agui.Handler(srv, agui.Config{}))
	mux.Handle("/api/", http.StripPrefix("/api", srv))
	return mux
}

// answer returns the answer of the demo model.
func answer(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
	question := ""
	for _, m := range history {
		if m.Role == schema.User {
			question = strings.ToLower(m.Content)
		}
	}
	switch {
	case strings.Contains(question, "back") || strings.Contains(question, "refund"):
		return demo.Script(demo.SaysAndCalls("I will see to it.", demo.Call("refund", `{"euros":40}`)), demo.Says("Done: {results}."))(ctx, history)
	case strings.Contains(question, "weather"):
		return demo.Script(demo.Calls(demo.Call("weather", `{"name":"Lisbon"}`)), demo.Says("It is {results}."))(ctx, history)
	case strings.Contains(question, "story"):
		return demo.Says("Once upon a time there was a loom. "+strings.Repeat("It wove a thread, and another thread, and it did not stop. ", 40))("", nil), nil
	}
	return demo.Says("I am the demo model of this example. Ask me about the weather, say that you want your money back, or have me tell a story and stop me.")("", nil), nil
}
