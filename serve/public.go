package serve

import (
	"strings"

	"github.com/weftgo/weft/adk/runlog"
)

// errorTexts are what clients read about errors, by the type (see adk.ErrorType).
var errorTexts = map[string]string{
	"canceled":          "the run was stopped",
	"abandoned":         "the run was stopped",
	"interrupted":       "the run waits for an answer",
	"timeout":           "it took too long",
	"max_iterations":    "the agent has not come to an answer",
	"retries_exhausted": "the model does not answer",
	"budget_exceeded":   "the budget is used up",
	"unknown_tool":      "the model has asked for a tool that there is not",
	"invalid_arguments": "the model has called a tool wrongly",
	"unknown_agent":     "the model has handed over to an agent that there is not",
	"connection":        "a service that the agent needs does not answer",
	"429":               "the model has too many requests: try again later",
}

// publicError is an error for clients: its type, and a text that holds nothing of the error's own.
func (s *Server) publicError(err *runlog.Err) *runlog.Err {
	if err == nil {
		return nil
	}
	public := runlog.Err{Type: err.Type}
	if s.settings.errorText != nil {
		public.Message = s.settings.errorText(*err)
		return &public
	}
	if public.Message = errorTexts[err.Type]; public.Message != "" {
		return &public
	}
	switch {
	case len(err.Type) == 3 && strings.HasPrefix(err.Type, "5"):
		public.Message = "the model has a fault: try again later"
	default: // the name of a Go type is nothing for clients
		public = runlog.Err{Type: "error", Message: "something went wrong"}
	}
	return &public
}

// publicEvent is an event for clients: without texts of errors, and without what models are asked unless that is wanted.
func (s *Server) publicEvent(e runlog.Event) runlog.Event {
	switch d := e.Data.(type) {
	case *runlog.ModelStartData:
		if !s.settings.detail {
			public := *d
			public.Messages.Add = nil
			e.Data = &public
		}
	case *runlog.ModelEndData:
		public := *d
		public.Error = s.publicError(d.Error)
		public.Message = publicMessage(d.Message)
		e.Data = &public
	case *runlog.MessageData:
		public := *d
		public.Error = s.publicError(d.Error)
		public.Message = *publicMessage(&d.Message)
		e.Data = &public
	case *runlog.AgentEndData:
		if d.Error != nil {
			e.Data = &runlog.AgentEndData{Error: s.publicError(d.Error)}
		}
	case *runlog.NodeEndData:
		if d.Error != nil {
			e.Data = &runlog.NodeEndData{Error: s.publicError(d.Error)}
		}
	case *runlog.ToolEndData:
		if d.Error != nil {
			public := *d
			public.Error = s.publicError(d.Error)
			e.Data = &public
		}
	case *runlog.RunEndData:
		if d.Error != nil {
			public := *d
			public.Error = s.publicError(d.Error)
			e.Data = &public
		}
	}
	return e
}

// publicMessage is a message without what providers and middlewares attach to it.
func publicMessage(m *runlog.Message) *runlog.Message {
	if m == nil || m.Chat == nil || m.Chat.Extra == nil {
		return m
	}
	chat := *m.Chat
	chat.Extra = nil
	return &runlog.Message{Chat: &chat}
}
