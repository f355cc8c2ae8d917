package tooltimeout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Config configures [New].
type Config struct {
	// Timeout limits the time that a call takes: until its result is there, or until its stream has ended. Required; 0 is
	// only allowed, and means without limit, where Of has a time.
	Timeout time.Duration
	// Of has the times of tools that need others, by the name under which the model calls them. 0 is without limit.
	Of map[string]time.Duration
}

// Error is the error of a call that took too long. It wraps [context.DeadlineExceeded].
type Error struct {
	ToolName, CallID string
	Timeout          time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("the call of tool '%s' took longer than %v and was given up", e.ToolName, e.Timeout)
}

// Unwrap returns [context.DeadlineExceeded].
func (e *Error) Unwrap() error { return context.DeadlineExceeded }

type middleware[M adk.MessageType] struct {
	adk.TypedToolCallHooks[M]
	conf Config
}

// New makes the middleware for agents on ordinary messages.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. It fails if config is nil, has no time or a negative one. One middleware may serve any
// number of agents and runs at once.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	if config == nil {
		return nil, errors.New("tooltimeout: config must not be nil")
	}
	limited := config.Timeout > 0
	for name, timeout := range config.Of {
		if timeout < 0 {
			return nil, fmt.Errorf("tooltimeout: the time of tool '%s' must not be negative; 0 is without limit", name)
		}
		limited = limited || timeout > 0
	}
	if config.Timeout < 0 || !limited {
		return nil, errors.New("tooltimeout: set Timeout to how long a call may take, or Of for some tools")
	}
	m := &middleware[M]{conf: Config{Timeout: config.Timeout, Of: maps.Clone(config.Of)}}
	m.Wrap = m.inTime
	return m, nil
}

// limit returns the error of a call that takes too long, nil if it may take any time.
func (m *middleware[M]) limit(call *compose.ToolInput) *Error {
	timeout, ok := m.conf.Of[call.Name]
	if !ok {
		timeout = m.conf.Timeout
	}
	if timeout == 0 {
		return nil
	}
	return &Error{ToolName: call.Name, CallID: call.CallID, Timeout: timeout}
}
