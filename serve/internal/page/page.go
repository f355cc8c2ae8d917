// Package page is what the protocols of pages have in common: which messages of a page count, and the runs they start.
package page

import (
	"context"
	"net/http"

	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// Handler makes the handler of a protocol in which a POST is a message or an answer, and a GET watches a run again.
func Handler(server *serve.Server, post, get func(w http.ResponseWriter, r *http.Request, c *serve.Caller) error) http.Handler {
	posts, gets := server.Handle(post, nil), server.Handle(get, nil)
	return server.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			posts.ServeHTTP(w, r)
		case http.MethodGet:
			gets.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", "GET, POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}), nil)
}

// Messages are those of a request.
type Messages interface {
	// Fresh are the messages of the user that are new.
	Fresh() ([]*schema.Message, error)
	// History are all messages, those of the system only if they are allowed.
	History(allowSystem bool) ([]*schema.Message, error)
}

// Trust says what is taken from a page besides new messages of the user.
type Trust struct{ History, System bool }

// Start starts the run that a request asks for, in a thread if the server keeps the history.
func Start(ctx context.Context, server *serve.Server, c *serve.Caller, start serve.Start, in Messages, trust Trust) (run serve.Run, err error) {
	start.TrustHistory = trust.History
	if trust.History || !server.KeepsThreads() {
		start.Thread = ""
	}
	if trust.History {
		start.Messages, err = in.History(trust.System)
	} else {
		start.Messages, err = in.Fresh()
	}
	if err != nil {
		return run, err
	}
	return c.Start(ctx, start)
}

// Fresh are the messages that a list ends with and that are of the user, as messages for a model.
func Fresh[T any](all []T, isUser func(*T) bool, convert func(*T) (*schema.Message, error)) ([]*schema.Message, error) {
	at := len(all)
	for at > 0 && isUser(&all[at-1]) {
		at--
	}
	if at == len(all) {
		return nil, serve.NewProblem(serve.BadRequest, "there is no new message: the last one must be of role user")
	}
	messages := make([]*schema.Message, 0, len(all)-at)
	for i := at; i < len(all); i++ {
		m, err := convert(&all[i])
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}
