package validhistory

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
)

// Model returns a model that is given valid histories only: what the middleware does before each call, without keeping it
// in the state of the agent. It is cheaper than the middleware, and works without an agent. A nil config stands for one
// without settings.
func Model[M adk.MessageType](inner model.BaseModel[M], config *Config) model.BaseModel[M] {
	m := &middleware[M]{}
	if config != nil {
		m.conf = *config
	}
	return &namedModel[M]{checkedModel[M]{m, inner}}
}

// namedModel is a checked model that callbacks see as the one inside.
type namedModel[M adk.MessageType] struct{ checkedModel[M] }

// GetType implements components.Typer.
func (m *namedModel[M]) GetType() string {
	typ, _ := components.GetType(m.inner)
	return typ
}

// IsCallbacksEnabled implements components.Checker.
func (m *namedModel[M]) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(m.inner) }
