// Package page is what the protocols of pages have in common: which messages of a page count, the runs they start, and
// answers that a run has been given before.
package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

// Messages reads the messages of a request.
type Messages interface {
	// Fresh are the messages of the user that the list ends with, and their IDs in the page.
	Fresh() (messages []*schema.Message, ids []string, err error)
	// History returns all messages, messages of the system only if they are allowed.
	History(allowSystem bool) ([]*schema.Message, error)
	// HasMore reports whether something was said before the messages of Fresh.
	HasMore() bool
}

// Trust controls which fields of a page's request are accepted in addition to new messages of the user.
type Trust struct{ History, System bool }

// Start starts the run that a request asks for, in a thread of the server, or with the history of a page that is trusted.
// The same request again, by start.IdempotencyKey, is given the same run; another one with that key is one of its own.
func Start(
	ctx context.Context, server *serve.Server, c *serve.Caller, start serve.Start, in Messages, trust Trust,
) (run serve.Run, err error) {
	start.TrustHistory = trust.History
	start.Stateless = trust.History || !server.KeepsThreads()
	if trust.History {
		start.Messages, err = in.History(trust.System)
	} else {
		start.Messages, start.MessageIDs, err = in.Fresh()
	}
	switch {
	case err != nil:
		return run, err
	case start.Stateless && !trust.History && in.HasMore():
		return run, serve.NewProblem(serve.BadRequest,
			"this server keeps no threads, and does not take the history of a page: its operator sets TrustHistory to take it")
	}
	run, err = c.Start(ctx, start)
	if start.IdempotencyKey != "" && HasCode(err, serve.Conflict) {
		start.IdempotencyKey = ""
		run, err = c.Start(ctx, start)
	}
	return run, err
}

// Key is an idempotency key made of what names a request.
func Key(protocol string, names ...string) string {
	data, _ := json.Marshal(names)
	sum := sha256.Sum256(data)
	return protocol + ":" + hex.EncodeToString(sum[:])
}

// HasCode reports whether an error is a problem with one of some codes.
func HasCode(err error, codes ...serve.Code) bool {
	var p *serve.Problem
	if !errors.As(err, &p) {
		return false
	}
	for _, code := range codes {
		if p.Code == code {
			return true
		}
	}
	return false
}

// Fresh are the messages that a list ends with and that are of the user, as messages for a model, and their IDs.
func Fresh[T any](
	all []T, isUser func(*T) bool, convert func(*T) (m *schema.Message, id string, err error),
) (messages []*schema.Message, ids []string, err error) {
	at := Trailing(all, isUser)
	if at == len(all) {
		return nil, nil, serve.NewProblem(serve.BadRequest, "there is no new message: the last one must be of role user")
	}
	for i := at; i < len(all); i++ {
		m, id, err := convert(&all[i])
		if err != nil {
			return nil, nil, err
		}
		messages, ids = append(messages, m), append(ids, id)
	}
	return messages, ids, nil
}

// Trailing returns the index from which all items of a list are of a kind.
func Trailing[T any](all []T, is func(*T) bool) int {
	at := len(all)
	for at > 0 && is(&all[at-1]) {
		at--
	}
	return at
}

// Send answers a request with server-sent events that belong to no run.
func Send(w http.ResponseWriter, header http.Header, events ...any) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for name, values := range header {
		h[name] = values
	}
	w.WriteHeader(http.StatusOK)
	for _, e := range events {
		data, isText := e.(string)
		if !isText {
			encoded, err := json.Marshal(e)
			if err != nil {
				continue
			}
			data = string(encoded)
		}
		_, _ = w.Write([]byte("data: " + data + "\n\n"))
	}
}
