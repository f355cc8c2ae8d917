package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/flow/agent/internal/live"
	"github.com/weftgo/weft/schema"
)

// The keys of the nodes that are not specialists.
const (
	hostKey = "host"
	// handOffKey notes whom the host calls.
	handOffKey = "host.hand_off"
	// oneAnswerKey passes the answer of the only specialist on.
	oneAnswerKey = "host.one_answer"
	// allAnswersKey brings the answers of several specialists together.
	allAnswersKey = "host.all_answers"
	summarizerKey = "host.summarizer"
)

var reservedKeys = []string{hostKey, handOffKey, oneAnswerKey, allAnswersKey, summarizerKey, compose.START, compose.END}

type graph = compose.Graph[[]*schema.Message, *schema.Message]

// graph builds
//
//	START → host → (tool calls?) → hand_off → (whom?) → specialists → (how many?) → one_answer  → END
//	             → END                                                            → all_answers → [summarizer →] END
func (c *MultiAgentConfig) graph(text *live.Text) (*graph, error) {
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(
		func(context.Context) *state { return &state{} }))
	// From the end to the start: a branch needs the nodes it leads to.
	addHost := func(g *graph) error { return c.addHost(g, text) }
	for _, add := range []func(*graph) error{c.addAnswers, c.addSpecialists, c.addHandOff, addHost} {
		if err := add(g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (c *MultiAgentConfig) addHost(g *graph, text *live.Text) error {
	infos := make([]*schema.ToolInfo, len(c.Specialists))
	for i, s := range c.Specialists {
		infos[i] = s.toolInfo()
	}
	chatModel, err := agent.ChatModelWithTools(c.Host.ChatModel, c.Host.ToolCallingModel, infos)
	if err != nil {
		return err
	}
	err = g.AddChatModelNode(hostKey, chatModel, compose.WithNodeName(c.HostNodeName),
		compose.WithStatePreHandler(keepInput(c.Host.SystemPrompt)))
	if err != nil {
		return err
	}
	if err := g.AddEdge(compose.START, hostKey); err != nil {
		return err
	}
	return g.AddBranch(hostKey,
		compose.NewStreamGraphBranch(func(ctx context.Context, answer *schema.StreamReader[*schema.Message]) (string, error) {
			handOff, err := text.HasToolCalls(ctx, answer)
			if err != nil || !handOff {
				return compose.END, err
			}
			return handOffKey, nil
		}, map[string]bool{handOffKey: true, compose.END: true}))
}

func (c *MultiAgentConfig) addHandOff(g *graph) error {
	if err := g.AddLambdaNode(handOffKey, compose.InvokableLambda(noteHandOffs)); err != nil {
		return err
	}
	specialists := make(map[string]bool, len(c.Specialists))
	for _, s := range c.Specialists {
		specialists[s.Name] = true
	}
	return g.AddBranch(handOffKey,
		compose.NewGraphMultiBranch(func(ctx context.Context, _ []*schema.Message) (map[string]bool, error) {
			names, err := read(ctx, (*state).chosen)
			chosen := make(map[string]bool, len(names))
			for _, name := range names {
				chosen[name] = true
			}
			return chosen, err
		}, specialists))
}

// noteHandOffs stores the calls of the host. What the specialists get is in the state, too.
func noteHandOffs(ctx context.Context, answer *schema.Message) ([]*schema.Message, error) {
	handOffs := handOffsOf(answer)
	if len(handOffs) == 0 {
		return nil, errors.New("the host calls no specialist though StreamToolCallChecker said that it calls tools")
	}
	return read(ctx, func(s *state) []*schema.Message {
		s.HandOffs = handOffs
		return s.Input
	})
}

func (c *MultiAgentConfig) addSpecialists(g *graph) error {
	howMany := map[string]bool{oneAnswerKey: true, allAnswersKey: true}
	for _, s := range c.Specialists {
		err := s.addTo(g)
		if err == nil {
			err = g.AddBranch(s.Name, compose.NewStreamGraphBranch(countAnswers, howMany))
		}
		if err != nil {
			return fmt.Errorf("specialist %s: %w", s.Name, err)
		}
	}
	return nil
}

func (s *Specialist) addTo(g *graph) error {
	common := []compose.GraphAddNodeOpt{compose.WithNodeName(s.Name), compose.WithOutputKey(s.Name)}
	if s.Invokable == nil && s.Streamable == nil {
		return g.AddChatModelNode(s.Name, s.ChatModel,
			append(common, compose.WithStatePreHandler(takeInput(s.SystemPrompt)))...)
	}
	lambda, err := compose.AnyLambda(s.Invokable, s.Streamable, nil, nil, compose.WithLambdaType("Specialist"))
	if err != nil {
		return err
	}
	return g.AddLambdaNode(s.Name, lambda, append(common, compose.WithStatePreHandler(takeInput("")))...)
}

// addAnswers adds what comes after the specialists.
func (c *MultiAgentConfig) addAnswers(g *graph) error {
	if err := g.AddLambdaNode(oneAnswerKey, compose.TransformableLambda(oneAnswer)); err != nil {
		return err
	}
	if err := g.AddEdge(oneAnswerKey, compose.END); err != nil {
		return err
	}
	if c.Summarizer != nil {
		return c.addSummarizer(g)
	}
	if err := g.AddLambdaNode(allAnswersKey, compose.InvokableLambda(listAnswers)); err != nil {
		return err
	}
	return g.AddEdge(allAnswersKey, compose.END)
}

func (c *MultiAgentConfig) addSummarizer(g *graph) error {
	if err := g.AddLambdaNode(allAnswersKey, compose.InvokableLambda(sortAnswers)); err != nil {
		return err
	}
	err := g.AddChatModelNode(summarizerKey, c.Summarizer.ChatModel, compose.WithNodeName("summarizer"),
		compose.WithStatePreHandler(takeAnswers(c.Summarizer.SystemPrompt)))
	if err != nil {
		return err
	}
	if err := g.AddEdge(allAnswersKey, summarizerKey); err != nil {
		return err
	}
	return g.AddEdge(summarizerKey, compose.END)
}

// countAnswers decides what happens to the answer of a specialist. It does not look at it.
func countAnswers(ctx context.Context, answer *schema.StreamReader[map[string]any]) (string, error) {
	answer.Close()
	chosen, err := read(ctx, (*state).chosen)
	if err != nil || len(chosen) > 1 {
		return allAnswersKey, err
	}
	return oneAnswerKey, nil
}

// oneAnswer unwraps an answer chunk by chunk.
func oneAnswer(
	_ context.Context, answer *schema.StreamReader[map[string]any],
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderWithConvert(answer, func(chunk map[string]any) (*schema.Message, error) {
		for name, v := range chunk { // there is one
			return messageOf(name, v)
		}
		return nil, schema.ErrNoValue
	}), nil
}

// messageOf is the answer of a specialist, which may have given none.
func messageOf(specialist string, answer any) (*schema.Message, error) {
	m, _ := answer.(*schema.Message)
	if m == nil {
		return nil, fmt.Errorf("specialist %s gave no answer", specialist)
	}
	return m, nil
}

// sortAnswers returns the answers in the order in which the host called the specialists.
func sortAnswers(ctx context.Context, answers map[string]any) ([]*schema.Message, error) {
	names, err := read(ctx, (*state).chosen)
	if err != nil {
		return nil, err
	}
	sorted := make([]*schema.Message, len(names))
	for i, name := range names {
		if sorted[i], err = messageOf(name, answers[name]); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// listAnswers writes the answers one below the other.
func listAnswers(ctx context.Context, answers map[string]any) (*schema.Message, error) {
	sorted, err := sortAnswers(ctx, answers)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, m := range sorted {
		text.WriteString(m.Content)
		text.WriteByte('\n')
	}
	return schema.AssistantMessage(text.String(), nil), nil
}
