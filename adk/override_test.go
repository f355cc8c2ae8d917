package adk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
)

// Middlewares of all shapes that users write. Each has AfterAgent and no other hook, unless its name says so.
type (
	pointerBase                  struct{ *BaseChatModelAgentMiddleware }
	valueBase                    struct{ BaseChatModelAgentMiddleware }
	onlyBase                     struct{ BaseChatModelAgentMiddleware }
	byValue                      struct{ *BaseChatModelAgentMiddleware }
	generic[T any]               struct{ *BaseChatModelAgentMiddleware }
	genericValue[T any]          struct{ *BaseChatModelAgentMiddleware }
	genericOfKind[M MessageType] struct {
		*TypedBaseChatModelAgentMiddleware[M]
	}
	genericNothing[T any] struct{ BaseChatModelAgentMiddleware }
	outer                 struct{ pointerBase }
	outerPointer          struct{ *valueBase }
	outerGeneric          struct{ generic[int] }
	outerGenericPointer   struct{ *generic[string] }
	genericOuter[T any]   struct{ generic[T] }
	outerInterface        struct{ ChatModelAgentMiddleware }
	outerNothing          struct{ onlyBase }
	mixin                 struct{ n int }
	withMixin             struct {
		mixin
		*BaseChatModelAgentMiddleware
	}
	genericMixin[T any] struct{ v T }
	withGenericMixin    struct {
		genericMixin[int]
		*BaseChatModelAgentMiddleware
	}
	funcs      func()
	withFields struct {
		*BaseChatModelAgentMiddleware
		other onlyBase
		f     funcs
	}
)

func hear(ctx context.Context) (context.Context, error) {
	ctx.Value(diaryKey{}).(*diary).add("AfterAgent")
	return ctx, nil
}

type diaryKey struct{}

func (*pointerBase) AfterAgent(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
	return hear(ctx)
}
func (m *valueBase) AfterAgent(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
	return hear(ctx)
}
func (byValue) AfterAgent(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
	return hear(ctx)
}
func (*generic[T]) AfterAgent(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
	return hear(ctx)
}
func (genericValue[T]) AfterAgent(ctx context.Context, _ *ChatModelAgentState) (context.Context, error) {
	return hear(ctx)
}
func (*genericOfKind[M]) AfterAgent(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
	return hear(ctx)
}
func (mixin) helper()            {}
func (*genericMixin[T]) Helper() {}
func (withFields) Unrelated()    {}
func (*withMixin) WrapModel(_ context.Context, m model.BaseModel[Message],
	_ *ModelContext,
) (model.BaseModel[Message], error) {
	return m, nil
}

// TestOverride_FindsWhichHooksAMiddlewareHas: whatever its shape. A hook that is not found would never be called.
// Rule agent/S-11.
func TestOverride_FindsWhichHooksAMiddlewareHas(t *testing.T) {
	local := struct{ *pointerBase }{&pointerBase{}}
	for i, c := range []struct {
		handler ChatModelAgentMiddleware
		has     string
	}{
		{&BaseChatModelAgentMiddleware{}, ""},
		{&pointerBase{}, "AfterAgent"},
		{&valueBase{}, "AfterAgent"},
		{&onlyBase{}, ""},
		{byValue{}, "AfterAgent"},
		{&byValue{}, "AfterAgent"},
		{&generic[int]{}, "AfterAgent"},
		{&generic[string]{}, "AfterAgent"},
		{&generic[map[string]*valueBase]{}, "AfterAgent"},
		{genericValue[int]{}, "AfterAgent"},
		{&genericValue[struct{}]{}, "AfterAgent"},
		{&genericOfKind[Message]{}, "AfterAgent"},
		{&genericNothing[int]{}, ""},
		{&outer{}, "AfterAgent"},
		{&outerPointer{&valueBase{}}, "AfterAgent"},
		{outerPointer{&valueBase{}}, "AfterAgent"},
		{&outerGeneric{}, "AfterAgent"},
		{outerGenericPointer{&generic[string]{}}, "AfterAgent"},
		{&genericOuter[int]{}, "AfterAgent"},
		{&outerInterface{&pointerBase{}}, "AfterAgent"},
		{outerInterface{&pointerBase{}}, "AfterAgent"},
		{&outerNothing{}, ""},
		{&withMixin{mixin: mixin{1}}, "WrapModel"},
		{&withGenericMixin{genericMixin: genericMixin[int]{1}}, ""},
		{&withFields{other: onlyBase{}, f: mixin{1}.helper}, ""},
		{withFields{}, ""},
		{local, "AfterAgent"},
		{&local, "AfterAgent"},
	} {
		name := fmt.Sprintf("%d %T", i, c.handler)
		set, err := newHandlerSet[Message](nil, []ChatModelAgentMiddleware{c.handler})
		require.NoError(t, err)
		has := listed(set)
		switch want := []string(nil); c.handler.(type) {
		case outerInterface, *outerInterface:
			require.Len(t, has, 11, "%s: what is behind an interface may have them all", name)
		default:
			if c.has != "" {
				want = []string{c.has}
			}
			require.Equal(t, want, has, name)
		}
		// and in a run
		var calls diary
		ctx := context.WithValue(t.Context(), diaryKey{}, &calls)
		a := setup(t, says(chatAnswer("done")), nil, with[Message](c.handler))
		require.Len(t, read(t, bare(ctx, a, false)), 1, name)
		require.Equal(t, c.has == "AfterAgent", len(calls.all()) == 1, name)
	}
}

// listed are the hooks that a set has a middleware for.
func listed(s *handlerSet[Message]) (hooks []string) {
	for name, list := range map[string][]handler[Message]{
		"BeforeAgent": s.beforeAgent, "BeforeModelRewriteState": s.beforeModel, "WrapModel": s.wrapModel,
		"AfterModelRewriteState": s.afterModel, "AfterToolCallsRewriteState": s.afterToolCalls,
		"BeforeFinalAnswer": s.finalAnswer, "AfterAgent": s.afterAgent,
		"WrapInvokableToolCall": s.wrapInvokable, "WrapStreamableToolCall": s.wrapStreamable,
		"WrapEnhancedInvokableToolCall": s.wrapEnhancedInvokable, "WrapEnhancedStreamableToolCall": s.wrapEnhancedStreamable,
	} {
		if len(list) > 0 {
			hooks = append(hooks, name)
		}
	}
	return slices.Sorted(slices.Values(hooks))
}

// TestOverride_EveryHook: each method by itself is seen, on middlewares of both kinds of message.
func TestOverride_EveryHook(t *testing.T) {
	hooks := map[string]ChatModelAgentMiddleware{
		"BeforeAgent": &onlyBeforeAgent{}, "BeforeModelRewriteState": &onlyBeforeModel{},
		"AfterModelRewriteState":     &onlyAfterModel{},
		"AfterToolCallsRewriteState": &onlyAfterTools{}, "BeforeFinalAnswer": &onlyGate{}, "AfterAgent": &pointerBase{},
		"WrapModel": &onlyWrapModel{}, "WrapInvokableToolCall": &nilEndpoints[Message]{},
		"WrapStreamableToolCall": &onlyStreamable{}, "WrapEnhancedInvokableToolCall": &onlyEnhanced{},
		"WrapEnhancedStreamableToolCall": &onlyEnhancedStreamable{},
	}
	require.Len(t, hooks, 11)
	for name, h := range hooks {
		set, err := newHandlerSet[Message](nil, []ChatModelAgentMiddleware{h})
		require.NoError(t, err)
		require.Equal(t, []string{name}, listed(set))
	}
}

type (
	onlyBeforeAgent        struct{ BaseChatModelAgentMiddleware }
	onlyBeforeModel        struct{ BaseChatModelAgentMiddleware }
	onlyAfterModel         struct{ BaseChatModelAgentMiddleware }
	onlyAfterTools         struct{ BaseChatModelAgentMiddleware }
	onlyGate               struct{ BaseChatModelAgentMiddleware }
	onlyWrapModel          struct{ BaseChatModelAgentMiddleware }
	onlyStreamable         struct{ BaseChatModelAgentMiddleware }
	onlyEnhanced           struct{ BaseChatModelAgentMiddleware }
	onlyEnhancedStreamable struct{ BaseChatModelAgentMiddleware }
)

func (*onlyBeforeAgent) BeforeAgent(
	ctx context.Context, rc *ChatModelAgentContext,
) (context.Context, *ChatModelAgentContext, error) {
	return ctx, rc, nil
}
func (*onlyBeforeModel) BeforeModelRewriteState(
	ctx context.Context, s *ChatModelAgentState, _ *ModelContext,
) (context.Context, *ChatModelAgentState, error) {
	return ctx, s, nil
}
func (*onlyAfterModel) AfterModelRewriteState(
	ctx context.Context, s *ChatModelAgentState, _ *ModelContext,
) (context.Context, *ChatModelAgentState, error) {
	return ctx, s, nil
}
func (*onlyAfterTools) AfterToolCallsRewriteState(
	ctx context.Context, s *ChatModelAgentState, _ *ToolCallsContext,
) (context.Context, *ChatModelAgentState, error) {
	return ctx, s, nil
}
func (*onlyGate) BeforeFinalAnswer(
	ctx context.Context, s *ChatModelAgentState,
) (context.Context, FinalAnswerDecision, *ChatModelAgentState, error) {
	return ctx, AcceptFinalAnswer, s, nil
}
func (*onlyWrapModel) WrapModel(
	_ context.Context, m model.BaseModel[Message], _ *ModelContext,
) (model.BaseModel[Message], error) {
	return m, nil
}
func (*onlyStreamable) WrapStreamableToolCall(
	_ context.Context, e StreamableToolCallEndpoint, _ *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return e, nil
}
func (*onlyEnhanced) WrapEnhancedInvokableToolCall(
	_ context.Context, e EnhancedInvokableToolCallEndpoint, _ *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return e, nil
}
func (*onlyEnhancedStreamable) WrapEnhancedStreamableToolCall(
	_ context.Context, e EnhancedStreamableToolCallEndpoint, _ *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return e, nil
}

// TestOverride_NilBaseWorksAndNilMiddlewareIsRefused: base methods work on a nil receiver, and a nil middleware is
// refused.
// Rule agent/S-12.
func TestOverride_NilBaseWorksAndNilMiddlewareIsRefused(t *testing.T) {
	var base *BaseChatModelAgentMiddleware
	ctx, rc, err := base.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, rc)
	require.NotNil(t, ctx)
	_, decision, _, err := base.BeforeFinalAnswer(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, AcceptFinalAnswer, decision)

	for _, none := range []ChatModelAgentMiddleware{nil, base, (*pointerBase)(nil)} {
		_, err := NewChatModelAgent(t.Context(),
			&ChatModelAgentConfig{Model: says(chatAnswer("x")), Handlers: []ChatModelAgentMiddleware{&pointerBase{}, none}})
		require.ErrorContains(t, err, "nil at index 1")
	}
}
