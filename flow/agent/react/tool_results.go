package react

import (
	"context"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// withCollector returns the configuration with a middleware around all others that gives the results of the tools to
// the records of the run. conf is not changed: it may be used for more agents.
func withCollector(conf compose.ToolsNodeConfig) compose.ToolsNodeConfig {
	conf.ToolCallMiddlewares = append([]compose.ToolMiddleware{collector()}, conf.ToolCallMiddlewares...)
	if answer := conf.UnknownToolsHandler; answer != nil { // middlewares do not see these calls
		conf.UnknownToolsHandler = func(ctx context.Context, name, input string) (string, error) {
			result, err := answer(ctx, name, input)
			if err == nil {
				calledTool{name: name, id: compose.GetToolCallID(ctx)}.record(ctx, result)
			}
			return result, err
		}
	}
	return conf
}

func collector() compose.ToolMiddleware {
	return compose.ToolMiddleware{Every: func(next compose.ToolCallEndpoint) compose.ToolCallEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolCallOutput, error) {
			call := callOf(in)
			out, err := next(ctx, in)
			if err != nil {
				return nil, err
			}
			switch {
			case out.ResultStream != nil:
				out.ResultStream = recordStream(ctx, out.ResultStream, call.resultMessage)
			case out.Result != nil:
				call.recordResult(ctx, out.Result)
			case out.TextStream != nil:
				out.TextStream = recordStream(ctx, out.TextStream, func(chunk string) (*schema.Message, error) {
					return call.message(chunk), nil
				})
			default:
				call.record(ctx, out.Text)
			}
			return out, nil
		}
	}}
}

// calledTool holds what a tool message says about the call. It is taken before the call: middlewares may change the
// input.
type calledTool struct{ name, id string }

func callOf(in *compose.ToolInput) calledTool { return calledTool{name: in.Name, id: in.CallID} }

func (c calledTool) message(content string) *schema.Message {
	return schema.ToolMessage(content, c.id, schema.WithToolName(c.name))
}

// resultMessage is the message of a result with parts, which must be valid.
func (c calledTool) resultMessage(result *schema.ToolResult) (*schema.Message, error) {
	parts, err := result.ToMessageInputParts()
	if err != nil {
		return nil, err
	}
	m := c.message("")
	m.UserInputMultiContent = parts
	return m, nil
}

func (c calledTool) record(ctx context.Context, content string) {
	for _, r := range recordsOf(ctx) {
		r.add(recorded{message: c.message(content)})
	}
}

// recordResult leaves an invalid result to the tools node, which fails for it.
func (c calledTool) recordResult(ctx context.Context, result *schema.ToolResult) {
	for _, r := range recordsOf(ctx) {
		if m, err := c.resultMessage(result); err == nil {
			r.add(recorded{message: m})
		}
	}
}

// recordStream gives a copy of a result to every record and returns one more.
func recordStream[T any](
	ctx context.Context, result *schema.StreamReader[T], message func(T) (*schema.Message, error),
) *schema.StreamReader[T] {
	records := recordsOf(ctx)
	if len(records) == 0 || result == nil {
		return result
	}
	copies := result.Copy(len(records) + 1)
	for i, r := range records {
		copies[i].SetAutomaticClose() // it may stay unread
		r.add(recorded{stream: schema.StreamReaderWithConvert(copies[i], message)})
	}
	return copies[len(records)]
}
