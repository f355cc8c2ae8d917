package openaiapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/serve"
)

// Config configures a Handler. The zero value works.
type Config struct {
	// AllowSystem takes system and developer messages, and instructions, of clients: the model gets them behind the
	// instruction of the agent. The default drops them.
	AllowSystem bool
	// ShowWork sends what the model thinks, and which tools it calls, as reasoning_content of chat completions.
	ShowWork bool
	// AnswerByText takes a message "yes" or "no" in a thread of the server (metadata.thread) for the answer to the approvals
	// that the run there waits for.
	AnswerByText bool
}

// Handler serves GET /v1/models, POST /v1/chat/completions, POST /v1/responses and GET /v1/responses/{id}. A run is stopped
// when its client goes away.
func Handler(server *serve.Server, conf Config) http.Handler {
	h := &handler{server, conf, time.Now()}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/models", server.Handle(h.models, refuse))
	mux.Handle("GET /v1/models/{model}", server.Handle(h.model, refuse))
	mux.Handle("POST /v1/chat/completions", server.Handle(h.chat, refuse))
	mux.Handle("POST /v1/responses", server.Handle(h.responses, refuse))
	mux.Handle("GET /v1/responses/{response}", server.Handle(h.getResponse, refuse))
	mux.HandleFunc("/", refusePath)
	return server.Protect(mux, refuse)
}

type handler struct {
	server *serve.Server
	conf   Config
	began  time.Time
}

// errorBody is an error as clients of the API know it.
type errorBody struct {
	Error apiError `json:"error"`
}

type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Param   *string `json:"param"`
}

// errorOf is a problem as an error of the API.
func errorOf(p *serve.Problem) errorBody {
	kind, code := "invalid_request_error", string(p.Code)
	switch p.Code {
	case serve.Unauthorized:
		code = "invalid_api_key"
	case serve.NotFound:
		code = "model_not_found"
	case serve.TooMany:
		kind, code = "rate_limit_exceeded", "rate_limit_exceeded"
	case serve.Internal, serve.ShuttingDown:
		kind = "server_error"
	}
	return errorBody{apiError{Message: p.Title, Type: kind, Code: &code}}
}

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, p *serve.Problem) {
	p.SetHeader(w.Header())
	w.Header().Set("X-Should-Retry", strconv.FormatBool(isForLater(p.Code)))
	serve.SendJSON(w, p.Status(), errorOf(p))
}

// isForLater reports whether a request that was refused is to be sent again by itself: only if nothing was begun for it, and
// later it may be taken. Clients of the API decide by the status unless they are told, and would send a run that has failed,
// or waits, again and again, with all that its tools do.
func isForLater(code serve.Code) bool {
	return code == serve.TooMany || code == serve.ShuttingDown || code == serve.NotReady
}

// refusePath answers a request for a path that there is not.
func refusePath(w http.ResponseWriter, r *http.Request) {
	code := "unknown_url"
	serve.SendJSON(w, http.StatusNotFound,
		errorBody{apiError{Message: "there is no such path: " + r.URL.Path, Type: "invalid_request_error", Code: &code}})
}

// modelObject is an agent as a model.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (h *handler) modelOf(a serve.AgentInfo) modelObject {
	return modelObject{ID: a.Name, Object: "model", Created: h.began.Unix(), OwnedBy: "weft"}
}

func (h *handler) models(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	list := []modelObject{}
	for _, a := range c.Agents(r.Context()) {
		list = append(list, h.modelOf(a))
	}
	serve.SendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

func (h *handler) model(w http.ResponseWriter, r *http.Request, c *serve.Caller) error {
	for _, a := range c.Agents(r.Context()) {
		if a.Name == r.PathValue("model") {
			serve.SendJSON(w, http.StatusOK, h.modelOf(a))
			return nil
		}
	}
	return serve.NewProblem(serve.NotFound, "there is no model of that name")
}

// decode reads the body of a request, whatever its type is said to be.
func (h *handler) decode(r *http.Request, into any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return h.server.DecodeJSON(data, into)
}

// toolCallID names a call that the client carries out: the run that waits for it, and the question.
func toolCallID(run, point string) string { return "weft:" + run + ":" + point }

// ourCall is the opposite of toolCallID.
func ourCall(id string) (run, point string, ok bool) {
	rest, found := strings.CutPrefix(id, "weft:")
	run, point, found2 := strings.Cut(rest, ":")
	return run, point, found && found2
}

// isGone reports whether a run cannot be answered any more, so that the history of the client has to do.
func isGone(err error) bool {
	var p *serve.Problem
	return errors.As(err, &p) && (p.Code == serve.NotFound || p.Code == serve.AlreadyAnswered || p.Code == serve.Expired)
}
