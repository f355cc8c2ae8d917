package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
)

// servedModel is a model that says who serves it.
type servedModel[M MessageType] struct {
	model.BaseModel[M]
	provider string
}

func (m servedModel[M]) Provider() string { return m.provider }

func TestWrapModel_SeesWhoServesTheModel(t *testing.T) {
	bubbled(t, testSeesProvider[ordinary], testSeesProvider[agentic])
}

func testSeesProvider[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for want, m := range map[string]model.BaseModel[M]{
		"":  says(d.answer("done")),
		"p": servedModel[M]{says(d.answer("done")), "p"},
	} {
		saw := "not asked"
		look := &hooked[M]{wrapModel: func(
			_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
		) (model.BaseModel[M], error) {
			saw = m.(model.HasProvider).Provider()
			return m, nil
		}}
		read(t, ask(t.Context(), TypedAgent[M](setup[M](t, m, nil, with[M](look))), streaming))
		require.Equal(t, want, saw)
	}
}
