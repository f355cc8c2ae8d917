// Approval serves an agent whose refunds a person has to approve, over HTTP. A question may wait as long as it likes:
// stop the server, start it again, and answer then.
//
//	go run ./examples/approval -addr 127.0.0.1:8080 -data ./chats
//	curl -d chat=ana -d 'q=I want my 40 euros back.' 127.0.0.1:8080/ask
//	curl '127.0.0.1:8080/pending?chat=ana'
//	curl -d chat=ana -d id=… -d approve=yes 127.0.0.1:8080/reply
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/examples/internal/llm"
)

type refund struct {
	Euros int `json:"euros" jsonschema:"minimum=1"`
}

func pay(_ context.Context, in refund) (string, error) {
	log.Printf("paying %d euros", in.Euros)
	return fmt.Sprintf("%d euros are on their way", in.Euros), nil
}

// server has the agent, and the store that its conversations are in.
type server struct {
	agent *weft.Agent
	store weft.Store
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	data := flag.String("data", "chats", "the directory that the conversations are in")
	flag.Parse()
	store, err := checkpoint.NewFileStore(*data)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := weft.New(weft.Config{
		Model:   llm.Model(demo.Calls(demo.Call("refund", `{"euros":40}`)), demo.Says("Done: {results}.")),
		Tools:   []weft.Tool{weft.Func("refund", "Pays money back to the customer.", pay)},
		Approve: []string{"refund"},
	})
	if err != nil {
		log.Fatal(err)
	}
	s := &server{agent, store}
	http.HandleFunc("POST /ask", s.ask)
	http.HandleFunc("GET /pending", s.pending)
	http.HandleFunc("POST /reply", s.reply)
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	context.AfterFunc(ctx, func() { _ = web.Shutdown(context.Background()); close(done) }) // waits for answers
	if err := web.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	<-done
}

// chat is the conversation that a request is about. In a product its ID comes from the login, not from the client.
func (s *server) chat(r *http.Request) *weft.Conversation {
	return s.agent.Conversation(s.store, r.FormValue("chat"))
}

func (s *server) ask(w http.ResponseWriter, r *http.Request) {
	answer, err := s.chat(r).Ask(r.Context(), r.FormValue("q"))
	respond(w, answer, err)
}

func (s *server) pending(w http.ResponseWriter, r *http.Request) {
	questions, err := s.chat(r).Pending(r.Context())
	respond(w, &weft.Answer{Pending: questions}, err)
}

func (s *server) reply(w http.ResponseWriter, r *http.Request) {
	questions, err := s.chat(r).Pending(r.Context())
	at := slices.IndexFunc(questions, func(q weft.Question) bool { return q.ID == r.FormValue("id") })
	if err != nil || at < 0 {
		respond(w, nil, errors.Join(err, conversation.ErrNotWaiting))
		return
	}
	reply := questions[at].Reject("The manager said no.")
	if r.FormValue("approve") == "yes" {
		reply = questions[at].Approve()
	}
	answer, err := s.chat(r).Reply(r.Context(), reply)
	respond(w, answer, err)
}

// respond writes an answer, or what is wrong.
func respond(w http.ResponseWriter, answer *weft.Answer, err error) {
	var open *conversation.OpenError
	switch {
	case errors.As(err, &open), errors.Is(err, conversation.ErrNotWaiting):
		http.Error(w, err.Error(), http.StatusConflict)
		return
	case err != nil:
		log.Print(err)
		http.Error(w, "something went wrong", http.StatusInternalServerError)
		return
	}
	type question struct{ ID, Text string }
	out := struct {
		Text    string
		Pending []question
	}{Text: answer.Text}
	for _, q := range answer.Pending {
		out.Pending = append(out.Pending, question{q.ID, q.Text})
	}
	_ = json.NewEncoder(w).Encode(out)
}
