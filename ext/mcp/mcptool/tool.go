package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// Keys of ToolInfo.Extra. All values are texts.
const (
	// ServerKey has the name of the [Server], and NameKey the name that the server gives the tool.
	ServerKey, NameKey = "mcp.server", "mcp.name"
	// TitleKey has the title for people, if there is one.
	TitleKey = "mcp.title"
	// AnnotationsKey has the annotations as JSON, if there are any: see [Annotations].
	AnnotationsKey = "mcp.annotations"
	// OutputSchemaKey has the output schema as JSON, if there is one.
	OutputSchemaKey = "mcp.output_schema"
)

// remoteTool is a tool of a server. It does not change.
type remoteTool struct {
	server *Server
	// raw is the server's name.
	raw        string
	info       *schema.ToolInfo
	repeatable bool
	// inHeaders: arguments of it are sent in headers, too.
	inHeaders bool
	// output is a tool whose parameters are the output schema, nil if results are not checked.
	output *schema.ToolInfo
}

var (
	_ tool.EnhancedInvokableTool = (*remoteTool)(nil)
	_ adk.IdempotentTool         = (*remoteTool)(nil)
)

// newTool makes a tool of what a server lists.
func (s *Server) newTool(t *listedTool) (made *remoteTool, err error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	params, err := paramsOf(cleanSchema(t.input))
	if err != nil {
		return nil, err
	}
	made = &remoteTool{server: s, raw: t.Name, inHeaders: bytes.Contains(t.input, []byte(`"x-mcp-header"`))}
	made.info = &schema.ToolInfo{Name: toolName(s.conf.Prefix + t.Name),
		Desc: cutText(clean(t.Description), s.conf.MaxDescription), ParamsOneOf: params,
		Extra: map[string]any{ServerKey: s.conf.Name, NameKey: t.Name, tool.OriginKey: "mcp:" + s.conf.Name}}
	title := t.Title
	if a := t.Annotations; a != nil {
		made.info.Extra[AnnotationsKey] = jsonText(a)
		made.repeatable = s.conf.TrustAnnotations && (a.ReadOnlyHint || a.IdempotentHint)
		if title == "" {
			title = a.Title
		}
	}
	if title != "" {
		made.info.Extra[TitleKey] = clean(title)
	}
	if t.output != nil {
		made.info.Extra[OutputSchemaKey] = string(t.output)
		if s.conf.CheckOutput {
			made.output = &schema.ToolInfo{Name: made.info.Name, ParamsOneOf: schema.NewParamsOneOfByRawJSON(t.output)}
		}
	}
	if s.conf.Idempotent != nil {
		defer recovered("Idempotent", &err)
		made.repeatable = s.conf.Idempotent(t.Name)
	}
	return made, nil
}

// Annotations returns what a server says of its tool, or nil if info is not of such a tool or the server says nothing.
// A server can lie.
func Annotations(info *schema.ToolInfo) *mcp.ToolAnnotations {
	if info == nil {
		return nil
	}
	text, _ := info.Extra[AnnotationsKey].(string)
	var a mcp.ToolAnnotations
	if text == "" || json.Unmarshal([]byte(text), &a) != nil {
		return nil
	}
	return &a
}

// AskDestructive returns what approval.Config takes as Ask: it has calls approved of all tools of the servers, or of all
// servers if none is given, that may destroy something, which are all that do not say otherwise. It goes by what the
// tool said when the run began, whatever the server lists by now, also where the model calls it by an alias. Tools that
// belong to no server are not asked for; a call of a tool that the run does not have is, and so is every call outside of
// a run. It asks no server, and does not fail.
func AskDestructive(servers ...*Server) func(context.Context, *adk.ToolContext, string) (bool, error) {
	names := map[string]bool{}
	for _, s := range servers {
		names[s.conf.Name] = true
	}
	return func(ctx context.Context, call *adk.ToolContext, _ string) (bool, error) {
		info := adk.ToolInfoOf(ctx, call.Name)
		if info == nil {
			return true, nil
		}
		server, isRemote := info.Extra[ServerKey].(string)
		if !isRemote || len(names) > 0 && !names[server] {
			return false, nil
		}
		a := Annotations(info)
		return a == nil || !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint), nil
	}
}

// Info returns the description for the model.
func (t *remoteTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// GetType returns "MCP".
func (t *remoteTool) GetType() string { return "MCP" }

// Idempotent reports whether a call may be repeated: as the configuration says, and not the server.
func (t *remoteTool) Idempotent() bool { return t.repeatable }

// InvokableRun calls the tool of the server. What the model can do something about is a result that says so.
func (t *remoteTool) InvokableRun(
	ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	arguments, problem := checkArguments(argument)
	if problem != "" {
		return mistake(problem), nil
	}
	result, err := t.call(ctx, arguments)
	var refused *CallError
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams && !t.server.conf.ErrorsFail {
		return mistake(cutText(clean(refused.Err.Error()), t.server.conf.MaxText)), nil
	}
	if err != nil {
		return nil, err
	}
	if result.IsError && t.server.conf.ErrorsFail {
		return nil, &CallError{Server: t.server.conf.Name, Tool: t.raw, Kind: Protocol,
			Err: errors.New(cutText(oneLine(joinedText(result)), longestMessage))}
	}
	if t.output != nil && !result.IsError {
		if err := t.checkOutput(ctx, result); err != nil {
			return mistake(fmt.Sprintf("the result of the tool does not fit its schema: %v", err)), nil
		}
	}
	return convert(&t.server.conf, result), nil
}

// checkArguments returns what the model wrote as an object, or what is wrong with it.
func checkArguments(argument *schema.ToolArgument) (json.RawMessage, string) {
	text := ""
	if argument != nil {
		text = strings.TrimSpace(argument.Text)
	}
	if text == "" || text == "null" {
		return json.RawMessage("{}"), ""
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &members)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Sprintf("the arguments are no JSON: %v, at byte %d", err, syntax.Offset)
	case err != nil, members == nil:
		return nil, "the arguments must be a JSON object"
	}
	return json.RawMessage(text), ""
}

// checkOutput holds a structured result against the output schema.
func (t *remoteTool) checkOutput(ctx context.Context, r *mcp.CallToolResult) error {
	if r.StructuredContent == nil {
		return errors.New("it has no structured content")
	}
	_, err := utils.DecodeArguments[any](ctx, t.output, jsonText(r.StructuredContent), true)
	return err
}

// jsonText is the JSON of a value that came as JSON.
func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(data)
}
