package openaiapi

import (
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/serve"
)

// jsonFormat is a format that a client wants of an answer. In chat completions what describes it is in a member of its
// own.
type jsonFormat struct {
	Type string `json:"type"`
	formatSchema
	JSONSchema *formatSchema `json:"json_schema"`
}

// formatSchema describes a format. Whether it is strict does not matter: all are kept.
type formatSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// format returns the format of the answer, nil for a text.
func (f *jsonFormat) format(member string) (*serve.Format, error) {
	if f == nil {
		return nil, nil
	}
	described := &f.formatSchema
	if f.JSONSchema != nil {
		described = f.JSONSchema
	}
	switch f.Type {
	case "", "text":
		return nil, nil
	case "json_object":
		return &serve.Format{}, nil
	case "json_schema":
		if len(described.Schema) == 0 || string(described.Schema) == "null" {
			return nil, serve.NewProblem(serve.BadRequest, "%s of type json_schema has no schema", member)
		}
		return &serve.Format{Description: described.Description, Schema: described.Schema}, nil
	}
	return nil, serve.NewProblem(serve.BadRequest, "%s is of type text, json_schema or json_object", member)
}

// formatted is an answer that has a format: of what the agent says, the JSON of its last message is the answer. Those
// before it were said on the way, or did not fit.
type formatted struct {
	writer
	format *serve.Format
	last   strings.Builder
}

// formattedAs is a writer of an answer that has a format, nil for none.
func formattedAs(f *serve.Format, w writer) writer {
	if f == nil {
		return w
	}
	return &formatted{writer: w, format: f}
}

func (f *formatted) message() { f.last.Reset() }

func (f *formatted) text(piece string) { f.last.WriteString(piece) }

func (f *formatted) end(e ending) {
	answer := f.last.String()
	if e.status == runs.Done && e.err == nil {
		value, err := f.format.Value(answer)
		if err != nil { // a tool has ended the run, for example
			e.status = runs.Failed
			e.err = &runlog.Err{Type: "error", Message: "the answer is not of the format that was asked for"}
		}
		answer = string(value)
	}
	if answer != "" && e.err == nil {
		f.writer.message()
		f.writer.text(answer)
	}
	f.writer.end(e)
}
