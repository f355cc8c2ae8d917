package kit

import (
	"context"
	"fmt"
	"slices"
)

// Overrides holds changes to a whole request by options of one call. Adapters embed it in the options of their
// calls. The zero value changes nothing. Its methods leave copies of it as they are.
type Overrides struct {
	headers   map[string]string
	modifiers []func(ctx context.Context, body []byte) ([]byte, error)
}

// AddHeaders has headers sent in addition to headers of the configuration and of earlier options, and instead of
// headers of the same name.
func (o *Overrides) AddHeaders(headers map[string]string) { o.headers = Merged(o.headers, headers) }

// ExtraHeaders returns the headers to send.
func (o *Overrides) ExtraHeaders() map[string]string { return o.headers }

// AddModifier has the finished body changed, behind what earlier options do with it.
func (o *Overrides) AddModifier(modify func(ctx context.Context, body []byte) ([]byte, error)) {
	o.modifiers = append(slices.Clip(o.modifiers), modify)
}

// Modifies reports whether the body is changed in a way that the adapter does not know.
func (o *Overrides) Modifies() bool { return len(o.modifiers) > 0 }

// Encode returns the body to send.
func (o *Overrides) Encode(ctx context.Context, req Object) ([]byte, error) {
	body, err := req.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	for _, modify := range o.modifiers {
		if body, err = modify(ctx, body); err != nil {
			return nil, fmt.Errorf("request modifier: %w", err)
		}
	}
	return body, nil
}
