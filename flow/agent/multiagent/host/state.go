package host

import (
	"context"
	"slices"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func init() { schema.RegisterName[*state]("_eino_host_state") }

// state is the state of a run. Everything in it is in checkpoints.
type state struct {
	// Input is the conversation.
	Input []*schema.Message
	// HandOffs are the calls of the host, in order.
	HandOffs []*HandOffInfo
	// ForSummarizer is the conversation with the answers of the specialists.
	ForSummarizer []*schema.Message
}

// chosen are the specialists that were called, in the order of their first calls.
func (s *state) chosen() []string {
	var names []string
	for _, h := range s.HandOffs {
		if !slices.Contains(names, h.ToAgentName) {
			names = append(names, h.ToAgentName)
		}
	}
	return names
}

// read returns something of the state of the run that ctx belongs to.
func read[T any](ctx context.Context, get func(s *state) T) (v T, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *state) error {
		v = get(s)
		return nil
	})
	return v, err
}

// keepInput stores the conversation and gives it to the host.
func keepInput(prompt string) compose.StatePreHandler[[]*schema.Message, *state] {
	return func(_ context.Context, input []*schema.Message, s *state) ([]*schema.Message, error) {
		if len(input) > 0 { // it is empty when the host resumes after an interrupt
			s.Input = input
		}
		return withPrompt(prompt, s.Input), nil
	}
}

// takeInput gives the conversation to a specialist, also to one that resumes after an interrupt.
func takeInput(prompt string) compose.StatePreHandler[[]*schema.Message, *state] {
	return func(_ context.Context, _ []*schema.Message, s *state) ([]*schema.Message, error) {
		return withPrompt(prompt, s.Input), nil
	}
}

// takeAnswers gives the conversation and the answers to the summarizer.
func takeAnswers(prompt string) compose.StatePreHandler[[]*schema.Message, *state] {
	return func(_ context.Context, answers []*schema.Message, s *state) ([]*schema.Message, error) {
		if len(answers) > 0 {
			s.ForSummarizer = slices.Concat(s.Input, answers)
		}
		return withPrompt(prompt, s.ForSummarizer), nil
	}
}

// withPrompt copies messages behind a system message, if there is a prompt.
func withPrompt(prompt string, messages []*schema.Message) []*schema.Message {
	if prompt == "" {
		return slices.Clone(messages)
	}
	return slices.Concat([]*schema.Message{schema.SystemMessage(prompt)}, messages)
}
