package mcptool

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/mcp/internal/bound"
	"github.com/weftgo/weft/schema"
)

// Sampling lets a server ask a model, at the cost of the model's owner.
type Sampling struct {
	// Model answers. Required.
	Model model.BaseChatModel
	// MaxTokens bounds an answer; the server may ask for less. Default: 4,096.
	MaxTokens int
	// MaxCalls is the number of times that the server may ask within one call of a tool. Default: 3.
	MaxCalls int
	// Approve, if set, must allow each request. It sees what the server wants to send.
	Approve func(ctx context.Context, request *mcp.CreateMessageWithToolsParams) (bool, error)
}

func (s *Sampling) check() error {
	switch {
	case s.Model == nil:
		return errors.New("Sampling.Model is nil")
	case s.MaxTokens < 0 || s.MaxCalls < 0:
		return errors.New("limits in Sampling must not be negative")
	}
	return nil
}

func (s *Sampling) mostCalls() int {
	if s.MaxCalls == 0 {
		return 3
	}
	return s.MaxCalls
}

// ask has the model answer. Errors of ours are unanswered, others are the server's.
func (s *Sampling) ask(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageResult, error) {
	messages, err := samplingMessages(p)
	if err != nil {
		return nil, fmt.Errorf("it asks a model: %w", err)
	}
	if err := s.approve(ctx, p); err != nil {
		return nil, unanswered{err}
	}
	options := []model.Option{model.WithMaxTokens(s.tokensFor(p))}
	if len(p.StopSequences) > 0 {
		options = append(options, model.WithStop(p.StopSequences))
	}
	answer, err := s.generate(ctx, messages, options)
	if err != nil {
		return nil, unanswered{fmt.Errorf("Sampling.Model: %w", err)}
	}
	result := &mcp.CreateMessageResult{Role: "assistant", Model: "model", StopReason: "endTurn",
		Content: &mcp.TextContent{Text: answer.Content}}
	if answer.ResponseMeta != nil && answer.ResponseMeta.FinishReason == "length" {
		result.StopReason = "maxTokens"
	}
	return result, nil
}

// samplingMessages returns the messages for the model.
func samplingMessages(p *mcp.CreateMessageWithToolsParams) (messages []*schema.Message, err error) {
	switch {
	case p == nil || len(p.Messages) == 0:
		return nil, errors.New("there is no message")
	case len(p.Tools) > 0:
		return nil, errors.New("it may not call tools")
	}
	if p.SystemPrompt != "" {
		messages = append(messages, schema.SystemMessage(p.SystemPrompt))
	}
	c := &converter{room: bound.Room{Text: defaultMaxText, Media: defaultMaxMedia}}
	for _, m := range p.Messages {
		if m == nil {
			return nil, errors.New("a message is null")
		}
		made, err := c.message(m.Role, m.Content...)
		if err != nil {
			return nil, err
		}
		messages = append(messages, made)
	}
	return messages, nil
}

// approve asks whether the model may be asked.
func (s *Sampling) approve(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (err error) {
	if s.Approve == nil {
		return nil
	}
	defer recovered("Sampling.Approve", &err)
	allowed, err := s.Approve(ctx, p)
	switch {
	case err != nil:
		return fmt.Errorf("Sampling.Approve: %w", err)
	case !allowed:
		return errors.New("Sampling.Approve refused")
	}
	return nil
}

// tokensFor is the number of tokens that an answer may have.
func (s *Sampling) tokensFor(p *mcp.CreateMessageWithToolsParams) int {
	most := s.MaxTokens
	if most == 0 {
		most = 4_096
	}
	if p.MaxTokens > 0 && p.MaxTokens < int64(most) {
		most = int(p.MaxTokens)
	}
	return most
}

func (s *Sampling) generate(
	ctx context.Context, messages []*schema.Message, options []model.Option,
) (answer *schema.Message, err error) {
	defer recovered("Sampling.Model", &err)
	answer, err = s.Model.Generate(ctx, messages, options...)
	if err == nil && answer == nil {
		err = errors.New("there is no answer")
	}
	return answer, err
}

// capabilities returns what servers since 2026-07-28 may ask in a result.
func (s *Server) capabilities() *mcp.ClientCapabilities {
	c := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
		Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}
	if s.conf.Roots != nil {
		c.RootsV2 = &mcp.RootCapabilities{}
	}
	if s.conf.Sampling != nil {
		c.Sampling = &mcp.SamplingCapabilities{}
	}
	return c
}

// addHandlers adds what answers servers that ask in the middle of a call, as protocols before 2026-07-28 do.
func (s *Server) addHandlers(opts *mcp.ClientOptions) {
	if s.conf.Elicit != nil {
		opts.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			in, err := inputOf("", r.Params)
			if err != nil {
				return nil, err
			}
			response, err := s.elicit(ctx, in)
			if err != nil {
				return nil, err
			}
			return response.(*mcp.ElicitResult), nil
		}
	}
	if s.conf.Sampling != nil {
		opts.CreateMessageHandler = func(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			p := &mcp.CreateMessageWithToolsParams{MaxTokens: r.Params.MaxTokens, SystemPrompt: r.Params.SystemPrompt,
				StopSequences: r.Params.StopSequences}
			for _, m := range r.Params.Messages {
				if m != nil {
					p.Messages = append(p.Messages, &mcp.SamplingMessageV2{Role: m.Role, Content: []mcp.Content{m.Content}})
				}
			}
			return s.conf.Sampling.ask(ctx, p)
		}
	}
}
