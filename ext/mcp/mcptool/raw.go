package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// largestRaw bounds what is kept of an answer, in bytes.
const largestRaw = 4 << 20

// rawAnswer is an answer as it came, for schemas: the SDK reads them into maps, which have neither the order of
// properties nor the digits of large numbers. It is in the context of its request.
type rawAnswer struct {
	// mu guards the fields below.
	mu sync.Mutex
	// message is the message with the answer, if the connection has messages, and else body what HTTP has brought.
	message, body []byte
	events        bool // body is a stream of events
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

// rawTool is what is needed of a tool as it came.
type rawTool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// tools are those of the answer, by their names. What cannot be read is left out.
func (a *rawAnswer) tools() map[string]*rawTool {
	a.mu.Lock()
	defer a.mu.Unlock()
	messages := [][]byte{a.message}
	switch {
	case a.message != nil:
	case a.events:
		messages = dataOf(a.body)
	default:
		messages = [][]byte{a.body}
	}
	found := map[string]*rawTool{}
	for _, message := range messages {
		var answer struct {
			Result struct {
				Tools []*rawTool `json:"tools"`
			} `json:"result"`
		}
		if json.Unmarshal(message, &answer) != nil {
			continue
		}
		for _, t := range answer.Result.Tools {
			if t != nil && found[t.Name] == nil {
				found[t.Name] = t
			}
		}
	}
	return found
}

// dataOf is the data of the events in a stream.
func dataOf(stream []byte) (data [][]byte) {
	var event []byte
	for line := range bytes.Lines(stream) {
		line = bytes.TrimRight(line, "\r\n")
		if text, isData := bytes.CutPrefix(line, []byte("data:")); isData {
			event = append(append(event, bytes.TrimPrefix(text, []byte(" "))...), '\n')
		} else if len(line) == 0 && event != nil {
			data, event = append(data, event), nil
		}
	}
	return data
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
	if !isResponse || len(r.Result) > largestRaw {
		return
	}
	t.mu.Lock()
	a := t.answers[r.ID]
	t.mu.Unlock()
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.message = append(append([]byte(`{"result":`), r.Result...), '}')
}

// keep has the body of an answer of HTTP kept while it is read.
func (a *rawAnswer) keep(r *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body, a.events = nil, strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
	r.Body = &keptBody{r.Body, a}
}

type keptBody struct {
	io.ReadCloser
	answer *rawAnswer
}

func (k *keptBody) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.answer.mu.Lock()
	defer k.answer.mu.Unlock()
	if len(k.answer.body)+n <= largestRaw {
		k.answer.body = append(k.answer.body, p[:n]...)
	}
	return n, err
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
