package summarization

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// ActionType says what an event of a summarization reports.
type ActionType string

// The types of events.
const (
	// ActionTypeBeforeSummarize is the event before a summarization.
	ActionTypeBeforeSummarize ActionType = "before_summarize"
	// ActionTypeAfterSummarize is the event after a summarization.
	ActionTypeAfterSummarize ActionType = "after_summarize"
	// ActionTypeGenerateSummary is the event after an attempt to write a summary.
	ActionTypeGenerateSummary ActionType = "generate_summary"
)

// GenerateSummaryPhase says which model was tried.
type GenerateSummaryPhase string

// The phases.
const (
	// GenerateSummaryPhasePrimary: the configured model.
	GenerateSummaryPhasePrimary GenerateSummaryPhase = "primary"
	// GenerateSummaryPhaseFailover: the model of a failover attempt.
	GenerateSummaryPhaseFailover GenerateSummaryPhase = "failover"
)

// TypedCustomizedAction is the action of an event of a summarization. The field that fits Type is set.
type TypedCustomizedAction[M adk.MessageType] struct {
	Type            ActionType                     `json:"type"`
	Before          *TypedBeforeSummarizeAction[M] `json:"before,omitempty"`
	After           *TypedAfterSummarizeAction[M]  `json:"after,omitempty"`
	GenerateSummary *TypedGenerateSummaryAction[M] `json:"generate_summary,omitempty"`
}

// TypedBeforeSummarizeAction has the history as it was.
type TypedBeforeSummarizeAction[M adk.MessageType] struct {
	Messages []M `json:"messages,omitempty"`
}

// TypedAfterSummarizeAction has the new history.
type TypedAfterSummarizeAction[M adk.MessageType] struct {
	Messages []M `json:"messages,omitempty"`
}

// TypedGenerateSummaryAction is the outcome of an attempt.
type TypedGenerateSummaryAction[M adk.MessageType] struct {
	// Attempt counts the attempts of a phase from 1.
	Attempt int                  `json:"attempt"`
	Phase   GenerateSummaryPhase `json:"phase"`
	// ModelResponse is the answer of the model, nil if it failed.
	ModelResponse M `json:"model_response,omitempty"`

	err error
}

// GetError returns why the attempt failed, nil if it did not. It is not saved with an interrupted run.
func (a *TypedGenerateSummaryAction[M]) GetError() error {
	if a == nil {
		return nil
	}
	return a.err
}

// The names for ordinary messages.
type (
	// CustomizedAction is [TypedCustomizedAction] for ordinary messages.
	//
	// Its fields, which are documented at [TypedCustomizedAction]:
	//
	//   - Type: which of the others is set
	//   - Before: the history before a summarization
	//   - After: the history after it
	//   - GenerateSummary: an attempt to write a summary
	CustomizedAction = TypedCustomizedAction[*schema.Message]
	// BeforeSummarizeAction is [TypedBeforeSummarizeAction] for ordinary messages.
	//
	// Its fields, which are documented at [TypedBeforeSummarizeAction]:
	//
	//   - Messages: the history as it was
	BeforeSummarizeAction = TypedBeforeSummarizeAction[*schema.Message]
	// AfterSummarizeAction is [TypedAfterSummarizeAction] for ordinary messages.
	//
	// Its fields, which are documented at [TypedAfterSummarizeAction]:
	//
	//   - Messages: the new history
	AfterSummarizeAction = TypedAfterSummarizeAction[*schema.Message]
	// GenerateSummaryAction is [TypedGenerateSummaryAction] for ordinary messages.
	//
	// Its fields and methods, which are documented at [TypedGenerateSummaryAction]:
	//
	//   - Attempt: counts the attempts of a phase from 1
	//   - Phase: the first model, or a failover
	//   - ModelResponse: the answer, nil if it failed
	//   - GetError: returns why it failed
	GenerateSummaryAction = TypedGenerateSummaryAction[*schema.Message]
)

func init() {
	schema.RegisterName[*TypedCustomizedAction[*schema.Message]]("_eino_adk_summarization_mw_customized_action")
	schema.RegisterName[*TypedCustomizedAction[*schema.AgenticMessage]]("_eino_adk_summarization_mw_customized_action_agentic")
}

// emit sends an event, if events are wanted.
func (m *TypedMiddleware[M]) emit(ctx context.Context, action *TypedCustomizedAction[M]) error {
	if !m.conf.EmitInternalEvents {
		return nil
	}
	err := adk.TypedSendEvent(ctx, &adk.TypedAgentEvent[M]{Action: &adk.AgentAction{CustomizedAction: action}})
	if err != nil {
		return fmt.Errorf("failed to send internal event: %w", err)
	}
	return nil
}
