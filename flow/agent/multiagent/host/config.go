package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

const (
	defaultGraphName = "host multi agent"

	defaultHostPrompt = `You lead a team of specialists. Each tool stands for one of them; its description says what that specialist is for.
Read the conversation and decide who should deal with the user's last request:
- If specialists are suited, call their tools. Call several when the request has parts for each of them.
- If no specialist is suited, or the request is simple talk, answer it yourself and call no tool.
Do not answer for a specialist, and say nothing besides the tool calls when you hand over.`

	defaultSummarizerPrompt = `Several specialists have answered the user's last request; their answers follow the conversation.
Write one answer of them for the user: keep every fact that matters, say each thing once, settle what belongs together,
and point out where the specialists contradict each other. Do not mention the specialists, and add nothing of your own.`
)

// MultiAgentConfig configures a [MultiAgent].
type MultiAgentConfig struct {
	Host Host
	// Specialists are whom the host may hand over to. There must be one at least.
	Specialists []*Specialist

	// Name is the name of the graph, as callback handlers see it. The default is "host multi agent".
	Name string
	// HostNodeName is the name of the host for callback handlers. The default is "host". The key of the host's
	// node is not changed by it.
	HostNodeName string
	// StreamToolCallChecker reports whether a streamed answer of the host calls tools. It should close the stream.
	// The default reads until the first tool call, wherever in the answer that is, or to the end, and Stream passes on
	// what it reads while that is only text: see [MultiAgent.Stream]. A graph of ExportGraph does not. A checker that
	// decides on the first chunk is right only with models that never say anything before they call a tool.
	StreamToolCallChecker func(ctx context.Context, modelOutput *schema.StreamReader[*schema.Message]) (bool, error)

	// Summarizer puts the answers of several specialists together. Without one they are written one below the other,
	// in the order of the host's calls.
	Summarizer *Summarizer
}

// AgentMeta describes a specialist to the host. Both fields must be set.
type AgentMeta struct {
	// Name is the name of the specialist's tool and the key of its node. It must be unique.
	Name string
	// IntendedUse says to the host what the specialist is for.
	IntendedUse string
}

// Host is the model that decides. One of the models must be set.
type Host struct {
	ToolCallingModel model.ToolCallingChatModel
	// ChatModel is the model, if there is no ToolCallingModel. NewMultiAgent binds the specialists to it as tools.
	//
	// Deprecated: use ToolCallingModel.
	//lint:ignore SA1019 the API still has it
	ChatModel model.ChatModel
	// SystemPrompt says to the host how to decide. There is a default.
	SystemPrompt string
}

// Specialist is an agent that the host may hand over to: a model or a function.
type Specialist struct {
	AgentMeta

	// ChatModel answers, if there is no function.
	ChatModel model.BaseChatModel
	// SystemPrompt is put in front of what ChatModel gets. Functions do not get it.
	SystemPrompt string

	// Invokable and Streamable answer instead of ChatModel. If there is one of them only it does both.
	Invokable  compose.Invoke[[]*schema.Message, *schema.Message, agent.AgentOption]
	Streamable compose.Stream[[]*schema.Message, *schema.Message, agent.AgentOption]
}

// Summarizer makes one answer from the answers of several specialists.
type Summarizer struct {
	// ChatModel gets the system prompt, the conversation and all answers in the order of the host's calls. It must be
	// set.
	ChatModel model.BaseChatModel
	// SystemPrompt has a default.
	SystemPrompt string
}

// completed returns a checked copy of the configuration that has all defaults.
func (c *MultiAgentConfig) completed() (*MultiAgentConfig, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	full := *c
	full.Specialists = slices.Clone(c.Specialists)
	full.Name = cmp.Or(c.Name, defaultGraphName)
	full.HostNodeName = cmp.Or(c.HostNodeName, hostKey)
	full.Host.SystemPrompt = cmp.Or(c.Host.SystemPrompt, defaultHostPrompt)
	if c.Summarizer != nil {
		s := *c.Summarizer
		s.SystemPrompt = cmp.Or(s.SystemPrompt, defaultSummarizerPrompt)
		full.Summarizer = &s
	}
	return &full, nil
}

func (c *MultiAgentConfig) validate() error {
	switch {
	case c == nil:
		return errors.New("host multi agent config is nil")
	case c.Host.ChatModel == nil && c.Host.ToolCallingModel == nil:
		return errors.New("host multi agent host ChatModel is nil")
	case len(c.Specialists) == 0:
		return errors.New("host multi agent specialists are empty")
	}
	for i, s := range c.Specialists {
		if s == nil {
			return fmt.Errorf("host multi agent specialist at index %d is nil", i)
		}
		if err := s.validate(); err != nil {
			return err
		}
	}
	if c.Summarizer != nil && c.Summarizer.ChatModel == nil {
		return errors.New("host multi agent summarizer has no ChatModel: set it, or leave the summarizer out")
	}
	return nil
}

func (s *Specialist) validate() error {
	if s.ChatModel == nil && s.Invokable == nil && s.Streamable == nil {
		return fmt.Errorf("specialist %s has no chat model or Invokable or Streamable", s.Name)
	}
	if err := s.AgentMeta.validate(); err != nil {
		return err
	}
	if slices.Contains(reservedKeys, s.Name) {
		return fmt.Errorf("the name of specialist %s is reserved, choose another one: node '%s' already present", s.Name,
			s.Name)
	}
	return nil
}

func (m AgentMeta) validate() error {
	if m.Name == "" {
		return errors.New("agent meta name is empty")
	}
	if m.IntendedUse == "" {
		return errors.New("agent meta intended use is empty")
	}
	return nil
}

// toolInfo is the specialist as a tool of the host.
func (m AgentMeta) toolInfo() *schema.ToolInfo {
	return &schema.ToolInfo{
		Name: m.Name,
		Desc: m.IntendedUse,
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"reason": {Type: schema.String, Desc: "why this specialist should deal with the request"},
		}),
	}
}
