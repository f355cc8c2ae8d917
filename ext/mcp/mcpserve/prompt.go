package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/ext/mcp/internal/bound"
	"github.com/weftgo/weft/schema"
)

// PromptOptions describe a prompt to clients. Name is required.
type PromptOptions struct {
	Name, Title, Description string
	// Arguments are the variables of the template, all of them texts. One that is not required and not given is "".
	Arguments []*mcp.PromptArgument
}

// AddPrompt serves a template as a prompt. The protocol has messages of users and assistants only: what the template
// says as the system is served as the user's. A part of a message is a message of its own.
func (s *Server) AddPrompt(t prompt.ChatTemplate, o PromptOptions) error {
	if t == nil {
		return fmt.Errorf("mcpserve: server %q: prompt %q: the template is nil", s.conf.Name, o.Name)
	}
	if !goodName.MatchString(o.Name) {
		return fmt.Errorf("mcpserve: server %q: prompt %q: %w", s.conf.Name, o.Name, errBadName)
	}
	if slices.ContainsFunc(o.Arguments, func(a *mcp.PromptArgument) bool { return a == nil || a.Name == "" }) {
		return fmt.Errorf("mcpserve: server %q: prompt %q: an argument has no name", s.conf.Name, o.Name)
	}
	p := &mcp.Prompt{Name: o.Name, Title: o.Title, Description: o.Description, Arguments: slices.Clone(o.Arguments)}
	s.mcp.AddPrompt(p, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		variables := map[string]any{}
		for _, a := range p.Arguments {
			v, given := r.Params.Arguments[a.Name]
			if !given && a.Required {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
					Message: fmt.Sprintf("argument %q is missing", a.Name)}
			}
			variables[a.Name] = v
		}
		messages, err := s.filled(ctx, t, variables)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.publicText(ctx, "prompt", p.Name, err)}
		}
		return &mcp.GetPromptResult{Description: p.Description, Messages: messages}, nil
	})
	return nil
}

// filled fills a template in.
func (s *Server) filled(
	ctx context.Context, t prompt.ChatTemplate, variables map[string]any,
) (messages []*mcp.PromptMessage, err error) {
	defer recovered(&err)
	filled, err := t.Format(ctx, variables)
	if err != nil {
		return nil, err
	}
	messages = []*mcp.PromptMessage{}
	room := s.room()
	for _, m := range filled {
		if m == nil {
			continue
		}
		role := mcp.Role("user")
		switch m.Role {
		case schema.Assistant:
			role = "assistant"
		case schema.User, schema.System:
		default:
			return nil, fmt.Errorf("a prompt cannot have a message of the role %q", m.Role)
		}
		blocks, err := blocks(room, m)
		if err != nil {
			return nil, err
		}
		for _, block := range blocks {
			messages = append(messages, &mcp.PromptMessage{Role: role, Content: block})
		}
	}
	return messages, nil
}

// blocks are the parts of a message.
func blocks(room *bound.Room, m *schema.Message) (blocks []mcp.Content, err error) {
	if len(m.ToolCalls) > 0 {
		return nil, errors.New("a prompt cannot have a message that calls tools")
	}
	if m.Content != "" {
		blocks = append(blocks, block(room, 0, &schema.ToolOutputPart{Text: m.Content}))
	}
	var parts []schema.ToolOutputPart
	for _, p := range m.UserInputMultiContent {
		part := schema.ToolOutputPart{Text: p.Text}
		switch {
		case p.Image != nil:
			part.Image = &schema.ToolOutputImage{MessagePartCommon: p.Image.MessagePartCommon}
		case p.Audio != nil:
			part.Audio = &schema.ToolOutputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
		case p.Video != nil:
			part.Video = &schema.ToolOutputVideo{MessagePartCommon: p.Video.MessagePartCommon}
		case p.File != nil:
			part.File = &schema.ToolOutputFile{MessagePartCommon: p.File.MessagePartCommon}
		}
		parts = append(parts, part)
	}
	for _, p := range m.AssistantGenMultiContent {
		part := schema.ToolOutputPart{Text: p.Text}
		switch {
		case p.Reasoning != nil:
			continue // not for clients
		case p.Image != nil:
			part.Image = &schema.ToolOutputImage{MessagePartCommon: p.Image.MessagePartCommon}
		case p.Audio != nil:
			part.Audio = &schema.ToolOutputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
		case p.Video != nil:
			part.Video = &schema.ToolOutputVideo{MessagePartCommon: p.Video.MessagePartCommon}
		}
		parts = append(parts, part)
	}
	for i := range parts {
		blocks = append(blocks, block(room, i, &parts[i]))
	}
	return blocks, nil
}
