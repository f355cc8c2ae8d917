package skill

import (
	"context"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
)

// history returns a copy of the messages of the run that ctx belongs to.
func history[M adk.MessageType](ctx context.Context) (messages []M, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *adk.TypedState[M]) error {
		messages = slices.Clone(s.Messages)
		return nil
	})
	return messages, err
}
