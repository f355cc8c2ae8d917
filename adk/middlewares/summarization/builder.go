package summarization

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// TypedFinalizerBuilder builds a [TypedFinalizeFunc] that keeps more than the summary. It is not safe for concurrent
// use; what it builds is.
type TypedFinalizerBuilder[M adk.MessageType] struct {
	handlers []finalizerHandler[M]
	errs     []error
}

// FinalizerBuilder is [TypedFinalizerBuilder] for ordinary messages.
//
// Its methods, which are documented at [TypedFinalizerBuilder]:
//
//   - PreserveSkills: keeps what skills said that were loaded
//   - Build: returns the finalizer
type FinalizerBuilder = TypedFinalizerBuilder[*schema.Message]

// finalizerHandler returns the messages that it adds, given the summarized ones.
type finalizerHandler[M adk.MessageType] func(ctx context.Context, original []M) ([]M, error)

// NewFinalizer begins a finalizer for ordinary messages.
func NewFinalizer() *FinalizerBuilder { return NewTypedFinalizer[*schema.Message]() }

// NewTypedFinalizer begins a finalizer.
func NewTypedFinalizer[M adk.MessageType]() *TypedFinalizerBuilder[M] {
	return &TypedFinalizerBuilder[M]{}
}

// PreserveSkills keeps what skills said that were loaded. config must not be nil: Build reports it.
func (b *TypedFinalizerBuilder[M]) PreserveSkills(config *PreserveSkillsConfig) *TypedFinalizerBuilder[M] {
	limits, err := config.withDefaults()
	if err != nil {
		b.errs = append(b.errs, fmt.Errorf("PreserveSkills: %w", err))
		return b
	}
	b.handlers = append(b.handlers, func(ctx context.Context, original []M) ([]M, error) {
		return preservedSkills(ctx, limits, original)
	})
	return b
}

// Build returns the finalizer: the leading system messages, what the handlers add, in their order, and the summary as
// in [DefaultFinalize]. It fails if there is no handler, or one is configured badly.
func (b *TypedFinalizerBuilder[M]) Build() (TypedFinalizeFunc[M], error) {
	if len(b.errs) > 0 {
		return nil, fmt.Errorf("failed to build finalizer:\n%w", errors.Join(b.errs...))
	}
	if len(b.handlers) == 0 {
		return nil, errors.New("at least one handler is required")
	}
	handlers := append([]finalizerHandler[M]{}, b.handlers...)
	return func(ctx context.Context, original []M, summary M) ([]M, error) {
		var extra []M
		for _, handle := range handlers {
			more, err := handle(ctx, original)
			if err != nil {
				return nil, err
			}
			extra = append(extra, more...)
		}
		messages, err := finalize(ctx, original, summary, extra, "")
		if err == nil && len(messages) == 0 {
			err = errors.New("finalizer handler returned no messages")
		}
		return messages, err
	}, nil
}
