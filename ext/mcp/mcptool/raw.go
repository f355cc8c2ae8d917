package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rawAnswer is an answer as it came: the SDK reads schemas into maps, which have neither the order of properties nor the
// digits of large numbers, and drops the whole of an answer of which it cannot read a part. It is in the context of its
// request.
type rawAnswer struct {
	mu      sync.Mutex        // guards results
	results []json.RawMessage // of the answers that came within the request
}

type rawKey struct{}

// withRaw has the answer to a request kept.
func withRaw(ctx context.Context) (context.Context, *rawAnswer) {
	a := &rawAnswer{}
	return context.WithValue(ctx, rawKey{}, a), a
}

func rawOf(ctx context.Context) *rawAnswer {
	a, _ := ctx.Value(rawKey{}).(*rawAnswer)
	return a
}

// keep keeps the result of a message, if it is an answer and a caller wants it. The result is not copied.
func (a *rawAnswer) keep(m jsonrpc.Message) {
	r, isResponse := m.(*jsonrpc.Response)
	if a == nil || !isResponse || r.Result == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results = append(a.results, r.Result)
}

// result returns the result that was kept last, nil for none.
func (a *rawAnswer) result() json.RawMessage {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.results) == 0 {
		return nil
	}
	return a.results[len(a.results)-1]
}

// rawTool has the fields that are needed of a tool as it came.
type rawTool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// tools are the tools of the answer, by their names. What cannot be read is left out.
func (a *rawAnswer) tools() map[string]*rawTool {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := map[string]*rawTool{}
	for _, result := range a.results {
		var page struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(result, &page) != nil {
			continue
		}
		for _, one := range page.Tools {
			t := &rawTool{}
			if json.Unmarshal(one, t) == nil && found[t.Name] == nil {
				found[t.Name] = t
			}
		}
	}
	return found
}

// rawTable has the requests of a connection whose answers are to be kept.
type rawTable struct {
	mu      sync.Mutex // guards answers
	answers map[jsonrpc.ID]*rawAnswer
}

// asked notes a request that is on its way, until its context ends.
func (t *rawTable) asked(ctx context.Context, m jsonrpc.Message) {
	r, isRequest := m.(*jsonrpc.Request)
	a := rawOf(ctx)
	if !isRequest || a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers == nil {
		t.answers = map[jsonrpc.ID]*rawAnswer{}
	}
	t.answers[r.ID] = a
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.answers, r.ID)
	})
}

// answered keeps an answer, if it is to be kept.
func (t *rawTable) answered(m jsonrpc.Message) {
	r, isResponse := m.(*jsonrpc.Response)
	if !isResponse {
		return
	}
	t.mu.Lock()
	a := t.answers[r.ID]
	t.mu.Unlock()
	a.keep(m)
}

// listedTool is a tool of a list. Its schemas are as they came, nil if it has none.
type listedTool struct {
	*mcp.Tool
	input, output json.RawMessage
}

// listedOf makes the tools of one page.
func listedOf(tools []*mcp.Tool, a *rawAnswer) []*listedTool {
	raw := a.tools()
	all := make([]*listedTool, len(tools))
	for i, t := range tools {
		came := raw[t.Name]
		if came == nil {
			came = &rawTool{}
		}
		all[i] = &listedTool{Tool: t, input: schemaText(came.InputSchema, t.InputSchema),
			output: schemaText(came.OutputSchema, t.OutputSchema)}
	}
	return all
}

// schemaText is a schema as it came, or else the JSON of what it was read into.
func schemaText(came json.RawMessage, read any) json.RawMessage {
	if read == nil {
		return nil
	}
	var text bytes.Buffer
	if came == nil || json.Compact(&text, came) != nil {
		return json.RawMessage(jsonText(read))
	}
	return text.Bytes()
}
