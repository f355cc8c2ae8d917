package adk

import (
	"context"

	"github.com/weftgo/weft/components/model"
)

// FailoverContext is what [ModelFailoverConfig].GetFailoverModel knows when it chooses.
type FailoverContext[M MessageType] struct {
	// FailoverAttempt counts from 1.
	FailoverAttempt uint
	// InputMessages is the input of the turn.
	InputMessages []M
	// LastOutputMessage is what the last model said before it failed, nil if nothing.
	LastOutputMessage M
	LastErr           error
}

// ModelFailoverConfig lets another model answer where one failed. With a retry configuration each model is retried
// first. The functions must be safe for concurrent use.
type ModelFailoverConfig[M MessageType] struct {
	// MaxRetries is how many other models a turn may try.
	MaxRetries uint
	// ShouldFailover says whether a failure deserves another model. Required. outputMessage is what came before the
	// error, or nil.
	ShouldFailover func(ctx context.Context, outputMessage M, outputErr error) bool
	// GetFailoverModel chooses the model and, if not nil, other input for it. Required. The one that answers stays the
	// first choice for the rest of the run.
	GetFailoverModel func(ctx context.Context, failoverCtx *FailoverContext[M]) (failoverModel model.BaseModel[M], failoverModelInputMessages []M, failoverErr error)
}
