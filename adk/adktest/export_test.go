package adktest

import (
	"context"

	"github.com/weftgo/weft/adk"
)

// KeepingSteps is an exploration whose runs keep their steps. afterwards looks at the store of each run that has ended.
func KeepingSteps[M adk.MessageType](
	e Exploration[M], afterwards func(ctx context.Context, store adk.CheckPointStore) error,
) Exploration[M] {
	e.afterwards = afterwards
	return e
}
