// Sse serves an agent over HTTP as server-sent events. When a client goes away, its run ends: the model's request is
// cancelled, tools are stopped, and nothing is left behind.
//
//	go run ./examples/sse -addr 127.0.0.1:8080
//	curl -N '127.0.0.1:8080/ask?q=How+is+the+weather+in+Lisbon?'
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

type city struct {
	Name string `json:"name" jsonschema:"description=name of the city"`
}

func weather(_ context.Context, in city) (string, error) {
	return "23 degrees and sunny in " + in.Name, nil
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	agent, err := weft.New(weft.Config{
		Model: llm.Model(demo.Calls(demo.Call("weather", `{"name":"Lisbon"}`)), demo.Says("It is {results}.")),
		Tools: []weft.Tool{weft.Func("weather", "Tells the weather in a city.", weather)},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	http.Handle("GET /ask", ask(agent))
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

// ask answers the question q.
func ask(agent *weft.Agent) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(kind string, value any) {
			data, _ := json.Marshal(value)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			_ = http.NewResponseController(w).Flush()
		}
		for event, err := range agent.Stream(r.Context(), r.FormValue("q")) { // its context ends with the request
			switch {
			case r.Context().Err() != nil:
				log.Print("the client has gone")
				return
			case err != nil:
				log.Print(err) // the text is for the operator, not for the client
				send("error", "something went wrong")
			case event.Text != "":
				send("text", event.Text)
			case event.Call != nil:
				send("call", event.Call.Function)
			case event.Result != nil:
				send("result", event.Result.Content)
			case event.Again:
				send("again", nil) // what was shown of this answer does not count
			case event.Answer != nil:
				send("end", event.Answer.Usage)
			}
		}
	}
}
