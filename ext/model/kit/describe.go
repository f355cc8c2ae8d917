package kit

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/catalogue"
)

// A Describer is a model that can ask its service what it is: how large its context is, what it can do, what it costs.
// Not every service says all of it; what it does not say is zero. The error wraps [errors.ErrUnsupported] where the
// service cannot be asked.
//
// The answer is more certain than any table, and costs a request: ask once, and put what you get into a
// catalogue.Static before other catalogues.
type Describer interface {
	Describe(ctx context.Context) (catalogue.ModelInfo, error)
}

// ErrNoDescription is the error of a service that cannot be asked about its models.
func ErrNoDescription(provider string) error {
	return fmt.Errorf("%s: the service does not describe its models: %w", provider, errors.ErrUnsupported)
}
