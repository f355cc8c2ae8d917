package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// ToolOptions say of a tool what its Info does not.
type ToolOptions struct {
	// Title is for people.
	Title string
	// ReadOnly, Destructive and OpenWorld are hints for clients. Destructive and OpenWorld count as true if they are nil,
	// by the protocol.
	ReadOnly               bool
	Destructive, OpenWorld *bool
	// Output is the schema of results. The text of a result must then be a JSON object that fits it, beside which there may
	// be media, and is structured content as well; clients read about any other result that it is not what was promised.
	Output *schema.ParamsOneOf
}

var (
	goodName   = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)
	errBadName = errors.New("a name has 1 to 128 letters, digits, and any of _ - . /")
)

// AddTool serves a tool of any of the four kinds. Arguments that do not fit its schema, such as without a required one, are
// refused with a result that says so, and those that are left out get the defaults of the schema. Its calls have no run
// around them: a tool that interrupts cannot be served by itself, and its error says so.
func (s *Server) AddTool(ctx context.Context, t tool.BaseTool, o ToolOptions) error {
	if t == nil {
		return fmt.Errorf("mcpserve: server %q: the tool is nil", s.conf.Name)
	}
	info, err := t.Info(ctx)
	if err != nil || info == nil {
		if err == nil {
			err = errors.New("there is no Info")
		}
		return fmt.Errorf("mcpserve: server %q: a tool does not describe itself: %w", s.conf.Name, err)
	}
	run, err := runnerOf(t)
	if err != nil {
		return fmt.Errorf("mcpserve: server %q: tool %q: %w", s.conf.Name, info.Name, err)
	}
	idempotent := false
	if i, ok := t.(adk.IdempotentTool); ok {
		idempotent = i.Idempotent()
	}
	output := &schema.ToolInfo{Name: info.Name, ParamsOneOf: o.Output}
	return s.add(info, o, idempotent, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		checked, err := utils.DecodeArguments[json.RawMessage](ctx, info, string(r.Params.Arguments), true)
		if err != nil {
			return nil, err
		}
		result, err := run(ctx, s, string(checked))
		if err == nil && o.Output != nil {
			result = s.structured(ctx, output, result)
		}
		return result, err
	})
}

// toolRun calls a tool.
type toolRun func(ctx context.Context, s *Server, arguments string) (*mcp.CallToolResult, error)

// runnerOf returns the function that calls a tool: the enhanced way if it has one.
func runnerOf(t tool.BaseTool) (toolRun, error) {
	switch t := t.(type) {
	case tool.EnhancedInvokableTool:
		return func(ctx context.Context, s *Server, arguments string) (*mcp.CallToolResult, error) {
			r, err := t.InvokableRun(ctx, &schema.ToolArgument{Text: arguments})
			if err != nil || r == nil {
				return failed("there is no result"), err
			}
			return s.shown(r.Parts), nil
		}, nil
	case tool.EnhancedStreamableTool:
		return func(ctx context.Context, s *Server, arguments string) (*mcp.CallToolResult, error) {
			stream, err := t.StreamableRun(ctx, &schema.ToolArgument{Text: arguments})
			if err != nil {
				return nil, err
			}
			chunks, err := all(stream)
			if err != nil {
				return nil, err
			}
			r, err := schema.ConcatToolResults(chunks)
			if err != nil || r == nil {
				return failed("there is no result"), err
			}
			return s.shown(r.Parts), nil
		}, nil
	case tool.InvokableTool:
		return func(ctx context.Context, s *Server, arguments string) (*mcp.CallToolResult, error) {
			text, err := t.InvokableRun(ctx, arguments)
			return s.said(text), err
		}, nil
	case tool.StreamableTool:
		return func(ctx context.Context, s *Server, arguments string) (*mcp.CallToolResult, error) {
			stream, err := t.StreamableRun(ctx, arguments)
			if err != nil {
				return nil, err
			}
			chunks, err := all(stream)
			return s.said(strings.Join(chunks, "")), err
		}, nil
	}
	return nil, errors.New("it has none of the four ways to run")
}

// all reads a stream to its end.
func all[T any](r *schema.StreamReader[T]) (chunks []T, err error) {
	defer r.Close()
	for {
		chunk, err := r.Recv()
		switch {
		case err == io.EOF:
			return chunks, nil
		case err != nil:
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
}

// AddGraph serves a graph as a tool whose parameters are the fields of I, which must be a struct or a pointer to one.
func AddGraph[I, O any](
	ctx context.Context, s *Server, name, description string, graph compose.Runnable[I, O], o ToolOptions,
) error {
	if graph == nil {
		return fmt.Errorf("mcpserve: server %q: graph %q is nil", s.conf.Name, name)
	}
	t, err := utils.InferTool(name, description, func(ctx context.Context, input I) (O, error) {
		return graph.Invoke(ctx, input)
	})
	if err != nil {
		return fmt.Errorf("mcpserve: server %q: graph %q: %w", s.conf.Name, name, err)
	}
	return s.AddTool(ctx, t, o)
}

// add serves something as a tool, within the limits of the server.
func (s *Server) add(info *schema.ToolInfo, o ToolOptions, idempotent bool, call mcp.ToolHandler) (err error) {
	fail := func(err error) error {
		return fmt.Errorf("mcpserve: server %q: tool %q: %w", s.conf.Name, info.Name, err)
	}
	if !goodName.MatchString(info.Name) {
		return fail(errBadName)
	}
	input, err := info.SchemaJSON()
	if err != nil {
		return fail(err)
	}
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	input = withDialect(info.ParamsOneOf, input)
	t := &mcp.Tool{Name: info.Name, Title: o.Title, Description: info.Desc, InputSchema: input,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: o.ReadOnly, DestructiveHint: o.Destructive,
			IdempotentHint: idempotent, OpenWorldHint: o.OpenWorld}}
	if o.Output != nil {
		output, err := o.Output.SchemaJSON()
		if err != nil {
			return fail(fmt.Errorf("output schema: %w", err))
		}
		t.OutputSchema = output
	}
	defer func() { // the SDK panics about schemas that the protocol does not allow
		if v := recover(); v != nil {
			err = fail(fmt.Errorf("%v", v))
		}
	}()
	s.mcp.AddTool(t, asking(s.guarded(info.Name, call)))
	return nil
}

// guarded keeps a call within the limits, and makes results of its errors and panics.
func (s *Server) guarded(name string, call mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		if s.slots != nil {
			select {
			case s.slots <- struct{}{}:
				defer func() { <-s.slots }()
			default:
				return busy(r), nil
			}
		}
		if s.conf.MaxTime > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, s.conf.MaxTime, errMaxTime)
			defer cancel()
		}
		defer func() {
			if v := recover(); v != nil {
				result, err = s.explain(ctx, name, fmt.Errorf("panic: %v\n%s", v, debug.Stack())), nil
			}
		}()
		if text := bytes.TrimSpace(r.Params.Arguments); len(text) == 0 || string(text) == "null" {
			r.Params.Arguments = json.RawMessage("{}")
		}
		result, err = call(ctx, r)
		switch {
		case errors.Is(err, errState): // the protocol wants an error of its own
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: errState.Error()}
		case err != nil:
			return s.explain(ctx, name, err), nil
		}
		return result, nil
	}
}

// busy is the answer to a call for which there is no place: call again.
func busy(r *mcp.CallToolRequest) *mcp.CallToolResult {
	if isModern(r) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: r.Params.RequestState}
	}
	return failed("the server is busy: try again later")
}

// withDialect names the dialect of a schema again, if its author has named one: for models it was left out. It is draft
// 2020-12 by now, whatever it was.
func withDialect(p *schema.ParamsOneOf, text json.RawMessage) json.RawMessage {
	var named struct {
		Schema string `json:"$schema"`
	}
	rest, isObject := bytes.CutPrefix(text, []byte("{"))
	if json.Unmarshal(p.RawJSON(), &named) != nil || named.Schema == "" || !isObject {
		return text
	}
	dialect := []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema"`)
	if rest = bytes.TrimSpace(rest); len(rest) > 1 {
		dialect = append(dialect, ',')
	}
	return append(dialect, rest...)
}
