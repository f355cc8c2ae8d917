package serve

import (
	"reflect"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
)

// errorTexts has the texts that clients read about errors, by the type (see adk.ErrorType).
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

// publicEvent is an event for clients: without texts of errors, without what is the server's own, and without what models
// are asked unless that is wanted.
func (s *Server) publicEvent(e runlog.Event) runlog.Event {
	switch d := e.Data.(type) {
	case *runlog.ModelDeltaData: // most events, which have nothing of the kind
		return e
	case *runlog.RunStartData:
		public := *d
		public.Thread, public.Conversation, public.Labels = d.Labels[tagThread], "", publicLabels(d.Labels)
		e.Data = &public
	case *runlog.ModelStartData:
		if !s.settings.detail {
			public := *d
			public.Messages.Add = nil
			e.Data = &public
		}
	case *runlog.ModelEndData:
		public := *d
		public.Error = s.publicError(d.Error)
		e.Data = &public
	case *runlog.MessageData:
		public := *d
		public.Error = s.publicError(d.Error)
		e.Data = &public
	case *runlog.AgentEndData:
		e.Data = &runlog.AgentEndData{Error: s.publicError(d.Error)}
	case *runlog.NodeEndData:
		e.Data = &runlog.NodeEndData{Error: s.publicError(d.Error)}
	case *runlog.ToolEndData:
		public := *d
		public.Error = s.publicError(d.Error)
		e.Data = &public
	case *runlog.RunEndData:
		public := *d
		public.Error = s.publicError(d.Error)
		e.Data = &public
	}
	e.Data = withoutExtra(e.Data)
	return e
}

// publicLabels are the labels of a run without the tags of the server, nil if there are none.
func publicLabels(tags map[string]string) map[string]string {
	var labels map[string]string
	for key, value := range tags {
		if strings.HasPrefix(key, tagPrefix) {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	return labels
}

// publicMessage is a message without what providers and middlewares attach to it.
func publicMessage(m *runlog.Message) *runlog.Message { return withoutExtra(m) }

// withoutExtra returns a value without what providers and middlewares attach to messages and their parts: the fields
// named Extra, however deep. It changes nothing in place; a value that has none is returned as it is.
func withoutExtra[T any](value T) T {
	if v, changed := stripExtra(reflect.ValueOf(value)); changed {
		return v.Interface().(T)
	}
	return value
}

// stripExtra is withoutExtra of any value. Maps and interfaces are left as they are: they hold what applications send.
func stripExtra(v reflect.Value) (stripped reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		if elem, changed := stripExtra(v.Elem()); changed {
			stripped = reflect.New(v.Type().Elem())
			stripped.Elem().Set(elem)
			return stripped, true
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind == reflect.Struct || kind == reflect.Pointer {
			return stripItems(v)
		}
	case reflect.Struct:
		return stripFields(v)
	}
	return v, false
}

// stripItems is stripExtra of a slice.
func stripItems(v reflect.Value) (stripped reflect.Value, changed bool) {
	stripped = v
	for i := range v.Len() {
		item, differs := stripExtra(v.Index(i))
		if !differs {
			continue
		}
		if !changed {
			stripped, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
			reflect.Copy(stripped, v)
		}
		stripped.Index(i).Set(item)
	}
	return stripped, changed
}

// stripFields is stripExtra of a struct.
func stripFields(v reflect.Value) (stripped reflect.Value, changed bool) {
	stripped = v
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if !t.IsExported() {
			continue
		}
		field, differs := stripExtra(v.Field(i))
		if t.Name == "Extra" && field.Kind() == reflect.Map && !field.IsNil() {
			field, differs = reflect.Zero(t.Type), true
		}
		if !differs {
			continue
		}
		if !changed {
			stripped, changed = reflect.New(v.Type()).Elem(), true
			stripped.Set(v)
		}
		stripped.Field(i).Set(field)
	}
	return stripped, changed
}
