package hookrules_test

//lint:file-ignore SA1019 the deprecated constructors keep the rules, too

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/agentsmd"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/dynamictool/toolsearch"
	mwfilesystem "github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/patchtoolcalls"
	"github.com/weftgo/weft/adk/middlewares/plantask"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/adk/middlewares/skill"
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/adk/middlewares/validhistory"
	"github.com/weftgo/weft/adk/prebuilt/deep"
	"github.com/weftgo/weft/adk/prebuilt/planexecute"
	"github.com/weftgo/weft/adk/prebuilt/supervisor"
	"github.com/weftgo/weft/schema"
)

// Rule batteries/G-1.
func TestMiddlewares_HaveTheBase(t *testing.T) {
	messagetest.Both(t, testHasBase[*schema.Message], testHasBase[*schema.AgenticMessage])
}

// testHasBase: a hook that comes later is a no-op in each of them.
func testHasBase[M adk.MessageType](t *testing.T) {
	base, hooks := reflect.TypeFor[*adk.TypedBaseChatModelAgentMiddleware[M]](), reflect.TypeFor[adk.TypedToolCallHooks[M]]()
	for name, m := range every[M](t) {
		typ := reflect.TypeOf(m).Elem()
		embedded := false
		for i := range typ.NumField() {
			f := typ.Field(i)
			embedded = embedded || f.Anonymous && (f.Type == base || f.Type == hooks) // which has the base
		}
		require.True(t, embedded, name)
	}
}

// made reports whether an error came with a result that is not nil, or with a nil pointer in an interface.
func made[R any](result R, err error) func() (any, bool, error) {
	return func() (any, bool, error) {
		v := reflect.ValueOf(&result).Elem()
		return result, v.IsZero(), err
	}
}

// Rule batteries/G-3.
func TestConstructors_FailWithNothing(t *testing.T) {
	ctx := t.Context()
	for name, result := range map[string]func() (any, bool, error){
		"agentsmd":                  made(agentsmd.New(ctx, nil)),
		"agentsmd typed":            made(agentsmd.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"approval":                  made(approval.New(ctx, nil)),
		"approval typed":            made(approval.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"budget":                    made(budget.New(ctx, nil)),
		"budget typed":              made(budget.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"filesystem":                made(mwfilesystem.New(ctx, nil)),
		"filesystem typed":          made(mwfilesystem.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"filesystem, struct":        made(mwfilesystem.NewMiddleware(ctx, nil)),
		"plantask":                  made(plantask.New(ctx, nil)),
		"plantask typed":            made(plantask.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"reduction":                 made(reduction.New(ctx, nil)),
		"reduction typed":           made(reduction.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"reduction, struct":         made(reduction.NewToolResultMiddleware(ctx, nil)),
		"skill":                     made(skill.NewMiddleware(ctx, nil)),
		"skill typed":               made(skill.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"skill, struct":             made(skill.New(ctx, nil)),
		"skill, files":              made(skill.NewBackendFromFilesystem(ctx, nil)),
		"summarization":             made(summarization.New(ctx, nil)),
		"summarization typed":       made(summarization.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"summarization, finalizer":  made(summarization.NewFinalizer().Build()),
		"summarization, finalizer²": made(summarization.NewTypedFinalizer[*schema.AgenticMessage]().Build()),
		"toolsearch":                made(toolsearch.New(ctx, nil)),
		"toolsearch typed":          made(toolsearch.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"tooltimeout":               made(tooltimeout.New(ctx, nil)),
		"tooltimeout typed":         made(tooltimeout.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"deep":                      made(deep.New(ctx, nil)),
		"deep typed":                made(deep.NewTyped[*schema.AgenticMessage](ctx, nil)),
		"planexecute":               made(planexecute.New(ctx, nil)),
		"planexecute, planner":      made(planexecute.NewPlanner(ctx, nil)),
		"planexecute, executor":     made(planexecute.NewExecutor(ctx, nil)),
		"planexecute, no model":     made(planexecute.NewExecutor(ctx, &planexecute.ExecutorConfig{})),
		"planexecute, replanner":    made(planexecute.NewReplanner(ctx, nil)),
		"supervisor":                made(supervisor.New(ctx, nil)),
	} {
		got, nothing, err := result()
		require.Error(t, err, name)
		require.True(t, nothing, "%s: %T with the error %v", name, got, err)
	}
	for name, result := range map[string]func() (any, bool, error){
		"patchtoolcalls": made(patchtoolcalls.New(ctx, nil)),
		"validhistory":   made(validhistory.New(ctx, nil)),
	} {
		_, nothing, err := result()
		require.NoError(t, err, "%s: a nil config is one", name)
		require.False(t, nothing, name)
	}
}

// The plain config is the typed one for ordinary messages (rule batteries/G-3).
var (
	_ *reduction.Config     = (*reduction.TypedConfig[*schema.Message])(nil)
	_ *skill.Config         = (*skill.TypedConfig[*schema.Message])(nil)
	_ *summarization.Config = (*summarization.TypedConfig[*schema.Message])(nil)
	_ *deep.Config          = (*deep.TypedConfig[*schema.Message])(nil)
)
